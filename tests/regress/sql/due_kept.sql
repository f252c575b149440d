-- A due date belongs to the entry into the state: new material and changes of seats keep it.
SELECT t.panel('kept', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}], "due": "PT48H"}');
SELECT t.open_panel('kept', 'kept');
SELECT min(k.due_at) AS due FROM workflow.tasks k WHERE k.instance_id = t.i('kept') \gset
SELECT o.revision FROM wf_seat_add(t.i('kept'), '{"name": "c", "roles": []}', 1) o;
SELECT k.seat, k.due_at = :'due' AS kept FROM workflow.tasks k WHERE k.instance_id = t.i('kept') AND k.status = 'OPEN' ORDER BY k.id;
SELECT u.tasks FROM wf_supersede_material(t.a('kept'), 1, '{"v": 2}', actor => 'sue') u;
SELECT k.seat, k.due_at = :'due' AS kept FROM workflow.tasks k WHERE k.instance_id = t.i('kept') AND k.status = 'OPEN' ORDER BY k.id;
-- an entry into the state begins anew
SELECT o.revision FROM wf_send(t.i('kept'), 'NOTE') o;
SELECT k.seat, k.due_at > :'due' AS later FROM workflow.tasks k WHERE k.instance_id = t.i('kept') AND k.status = 'OPEN' ORDER BY k.id;
SELECT * FROM wf_verify();
