-- New material replaces the tasks of the round and leaves the round as it is: a seat that was added still
-- must speak, one that was removed does not come back. The definition's own seats return with the next round.
SELECT t.panel('again', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT t.open_panel('again', 'again');
SELECT o.revision FROM wf_seat_add(t.i('again'), '{"name": "c", "roles": ["law"], "veto": true}', 1) o;
SELECT o.revision FROM wf_seat_remove(t.i('again'), 'b', 2) o;
SELECT u.tasks FROM wf_supersede_material(t.a('again'), 1, '{"v": 2}', actor => 'sue') u;
SELECT k.seat, k.roles, k.veto, k.round, k.material_version FROM workflow.tasks k WHERE k.instance_id = t.i('again') AND k.status = 'OPEN' ORDER BY k.seat;
SELECT o.revision FROM wf_send(t.i('again'), 'NOTE') o;
SELECT k.seat, k.roles, k.veto, k.round, k.material_version FROM workflow.tasks k WHERE k.instance_id = t.i('again') AND k.status = 'OPEN' ORDER BY k.seat;
SELECT * FROM wf_verify();
