-- D8: a spec that is not sound is refused with the place (WF014, JSON pointer), by wf_define exactly when
-- wf_validate has an error for it; nothing of it is written.
CREATE TEMP TABLE given (n serial, what text, spec jsonb);
INSERT INTO given (what, spec) VALUES
    ('no object', '[]'),
    ('a text', '"machine"'),
    ('null', 'null'),
    ('nothing in it', '{}'),
    ('no id', '{"initial": "A", "states": {"A": {"type": "final"}}}'),
    ('empty id', '{"id": "", "initial": "A", "states": {"A": {"type": "final"}}}'),
    ('id too long', jsonb_build_object('id', repeat('x', 201), 'initial', 'A', 'states', '{"A": {"type": "final"}}'::jsonb)),
    ('control character', '{"id": "a\tb", "initial": "A", "states": {"A": {"type": "final"}}}'),
    ('no initial', '{"id": "bad", "states": {"A": {"type": "final"}}}'),
    ('unknown initial', '{"id": "bad", "initial": "Z", "states": {"A": {"type": "final"}}}'),
    ('no states', '{"id": "bad", "initial": "A", "states": {}}'),
    ('unknown target', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"GO": "Z", "OK": "B"}}, "B": {"type": "final"}}}'),
    ('look-alike target', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"GO": "В", "OK": "B"}}, "B": {"type": "final"}}}'),
    ('unreachable', '{"id": "bad", "initial": "A", "states": {"A": {"type": "final"}, "B": {"on": {"GO": "A"}}}}'),
    ('dead end', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"GO": "B"}}, "B": {}}}'),
    ('edge out of final', '{"id": "bad", "initial": "A", "states": {"A": {"type": "final", "on": {"GO": "B"}}, "B": {"type": "final"}}}'),
    ('task in final', '{"id": "bad", "initial": "A", "states": {"A": {"type": "final", "meta": {"task": {"seats": [{"name": "s"}]}}}}}'),
    ('nested', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"GO": "B"}, "initial": "X", "states": {"X": {}}}, "B": {"type": "final"}}}'),
    ('parallel machine', '{"id": "bad", "type": "parallel", "initial": "A", "states": {"A": {"type": "final"}}}'),
    ('parallel state', '{"id": "bad", "initial": "A", "states": {"A": {"type": "parallel", "on": {"GO": "B"}}, "B": {"type": "final"}}}'),
    ('unknown key', '{"id": "bad", "initial": "A", "wheels": 4, "states": {"A": {"colour": "red", "on": {"GO": {"target": "B", "fast": true}}}, "B": {"type": "final"}}}'),
    ('unknown meta', '{"id": "bad", "initial": "A", "meta": {"x": 1}, "states": {"A": {"meta": {"y": 1}, "on": {"GO": {"target": "B", "meta": {"z": 1}}}}, "B": {"type": "final"}}}'),
    ('slash and tilde', '{"id": "bad", "initial": "a/b~c", "states": {"a/b~c": {"on": {"x/y": "Z"}}}}'),
    ('always cycle', '{"id": "bad", "initial": "A", "states": {"A": {"always": "B"}, "B": {"always": "A", "on": {"GO": "C"}}, "C": {"type": "final"}}}'),
    ('always to itself', '{"id": "bad", "initial": "A", "states": {"A": {"always": {"target": "A", "guard": "$.material.x == 1"}, "on": {"GO": "C"}}, "C": {"type": "final"}}}'),
    ('always decides', '{"id": "bad", "initial": "A", "states": {"A": {"always": {"target": "C", "meta": {"decision": "approve"}}}, "C": {"type": "final"}}}'),
    ('no on_supersede', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"YES": {"target": "B", "meta": {"decision": "approve"}}}}, "B": {"on": {"END": "C"}}, "C": {"type": "final"}}}'),
    ('on_supersede nowhere', '{"id": "bad", "initial": "A", "states": {"A": {"meta": {"on_supersede": "Z"}, "on": {"END": "C"}}, "C": {"type": "final"}}}'),
    ('on_supersede to an end', '{"id": "bad", "initial": "A", "states": {"A": {"meta": {"on_supersede": "C"}, "on": {"END": "C"}}, "C": {"type": "final"}}}'),
    ('unknown decision', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"END": {"target": "C", "meta": {"decision": "maybe"}}}}, "C": {"type": "final"}}}'),
    ('no seat', '{"id": "bad", "initial": "A", "states": {"A": {"meta": {"task": {"seats": []}}, "on": {"END": "C"}}, "C": {"type": "final"}}}'),
    ('empty roles', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"END": {"target": "C", "meta": {"roles": []}}}}, "C": {"type": "final"}}}'),
    ('guard of another kind', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"END": {"target": "C", "guard": 5}}}, "C": {"type": "final"}}}'),
    ('no jsonpath', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"END": {"target": "C", "guard": "$.material.("}}}, "C": {"type": "final"}}}'),
    ('no jsonpath among branches', '{"id": "bad", "initial": "A", "states": {"A": {"always": [{"target": "C", "guard": "$.a == 1"}, {"target": "C", "guard": "and or"}], "on": {"GO": "C"}}, "C": {"type": "final"}}}'),
    ('lax', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"END": {"target": "C", "guard": "lax $.material.x == 1"}}}, "C": {"type": "final"}}}'),
    ('never reached branch', '{"id": "bad", "initial": "A", "states": {"A": {"on": {"END": ["C", {"target": "C", "guard": "$.material.x == 1"}]}}, "C": {"type": "final"}}}'),
    ('lock_mode', '{"id": "bad", "initial": "A", "meta": {"lock_mode": "hopeful"}, "states": {"A": {"type": "final"}}}'),
    ('concurrent', '{"id": "bad", "initial": "A", "meta": {"concurrent": "yes"}, "states": {"A": {"type": "final"}}}'),
    ('ambiguous pair, a warning', '{"id": "good-1", "initial": "A", "states": {"A": {"on": {"X": "C", "Y": "C"}}, "C": {"type": "final"}}}'),
    ('no end, a warning', '{"id": "good-2", "initial": "A", "states": {"A": {"on": {"X": "A"}}}}'),
    ('nothing to say', '{"id": "good-3", "initial": "A", "states": {"A": {"on": {"X": "C"}}, "C": {"type": "final"}}}');
SELECT what, v.severity, v.path, length(v.message) > 0 AS says_why FROM given LEFT JOIN LATERAL wf_validate(spec) v ON true ORDER BY n, v.severity, v.path COLLATE "C", v.message COLLATE "C";
-- wf_define agrees, and names the place
CREATE FUNCTION pg_temp.define(spec jsonb) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    d text; m text; n text;
BEGIN
    RETURN (SELECT 'version ' || version FROM wf_define(spec));
EXCEPTION WHEN SQLSTATE 'WF014' THEN
    GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL, m = MESSAGE_TEXT, n = CONSTRAINT_NAME;
    RETURN concat_ws(' ', SQLSTATE, n, CASE WHEN starts_with(m, 'invalid_definition: ') THEN 'at' END, d::jsonb -> 'path');
END
$$;
SELECT t.world() AS before \gset
SELECT what, x.answer, x.answer LIKE 'WF014 %' = EXISTS (SELECT FROM wf_validate(spec) v WHERE v.severity = 'error') AS agrees
  FROM given CROSS JOIN LATERAL (SELECT pg_temp.define(spec)) x(answer) WHERE what NOT IN ('nothing to say') AND what NOT LIKE '%a warning' ORDER BY n;
SELECT t.world() = :'before' AS nothing_happened;
SELECT what, pg_temp.define(spec) FROM given WHERE what = 'nothing to say' OR what LIKE '%a warning' ORDER BY n;
SELECT d.name, d.version, d.active FROM workflow.definitions d WHERE d.name ~ '^(bad|good)' ORDER BY 1;
-- a definition that is sound stays in force when its next version is not
SELECT pg_temp.define('{"id": "good-3", "initial": "Z", "states": {"A": {"type": "final"}}}');
SELECT t.see(o) FROM wf_start('good-3', 'good', '{}') o;
-- all places at once
SELECT t.refusal($$SELECT wf_define('{"id": "bad", "initial": "Z", "states": {"A": {"on": {"GO": "Y", "STOP": "X"}}}}')$$) ~ '"findings".*"/initial".*"/states/A/on/GO".*"/states/A/on/STOP"' AS all_of_them;
SELECT * FROM wf_verify();
