-- A start that is refused and returned leaves nothing (section 8: a refusal is known before the first write).
SELECT * FROM wf_define('{"id": "leaves", "initial": "GATE", "states": {
    "GATE": {"always": {"target": "OUT", "guard": "$.material.amount > 100"}, "on": {"END": "OUT"}}, "OUT": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('leaves', 'leaves', '{"amount": "500"}', on_refusal => 'return') o;
SELECT t.a('leaves') IS NULL AS nothing_happened;
-- and can be repeated with what is right
SELECT t.see(o) FROM wf_start('leaves', 'leaves', '{"amount": 500}', on_refusal => 'return') o;
