-- Office Ltd buys things. A purchase needs finance, purchasing and the head of the department; from 10,000
-- on the board signs as well. Whoever asked does not approve, and new figures mean that everybody looks
-- again. This is the whole story of one purchase, as a client would call it: each SELECT is one round trip.
--
-- The extension is there (CREATE EXTENSION workflow). For brevity one session speaks for everybody, naming
-- the person in each call as a backend does; \gset is psql's way to keep an answer for the next call.

-- The machine. Three seats must all agree; finance may stop it alone. What the approval leads to depends
-- on the amount, which is looked up in the material: no amount, no approval.
SELECT * FROM wf_define('{
  "id": "purchase", "initial": "REVIEW",
  "states": {
    "REVIEW": {
      "meta": {
        "task": {
          "seats": [
            {"name": "finance", "roles": ["finance"], "veto": true},
            {"name": "purchasing", "roles": ["purchasing"]},
            {"name": "head", "roles": ["head"]}],
          "rule": "all", "self_approval": false, "due": "PT48H"},
        "on_supersede": "stay"},
      "on": {
        "APPROVE": [
          {"target": "BOARD", "guard": "$.material.amount >= 10000", "meta": {"decision": "approve"}},
          {"target": "ORDERED", "meta": {"decision": "approve"}}],
        "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
        "SEND_BACK": {"target": "REWORK", "meta": {"decision": "return"}}}},
    "REWORK": {
      "meta": {"on_supersede": "stay"},
      "on": {"RESUBMIT": "REVIEW"}},
    "BOARD": {
      "meta": {
        "task": {"seats": [{"name": "board", "roles": ["board"]}], "due": "P1W"},
        "on_supersede": "REVIEW"},
      "on": {
        "SIGN": {"target": "ORDERED", "meta": {"decision": "approve"}},
        "REJECT": {"target": "REJECTED", "meta": {"decision": "reject"}},
        "SEND_BACK": {"target": "REWORK", "meta": {"decision": "return"}}}},
    "ORDERED": {"type": "final"},
    "REJECTED": {"type": "final"}}}', tenant => 'office');

-- Who works here.
SELECT m.name, o.applied
  FROM (VALUES ('Fiona', '{finance}'::text[]), ('Frank', '{finance}'), ('Paula', '{purchasing}'), ('Hugo', '{head}'), ('Heidi', '{}'), ('Bea', '{board}'), ('Sam', '{}')) m(name, roles)
 CROSS JOIN LATERAL wf_member_set(m.name, m.roles, tenant => 'office') o;

-- Monday. Sam asks for a laser cutter.
SELECT o.state, o.revision, cardinality(o.task_ids) AS tasks
  FROM wf_start('purchase', 'PO-4711', '{"what": "laser cutter", "amount": 8900}', tenant => 'office', actor => 'Sam') o;
SELECT o.instance_id AS po, o.application_id AS application FROM wf_get(definition => 'purchase', business_key => 'PO-4711', tenant => 'office') o \gset

-- Fiona looks at what there is to do for finance, and takes it, so that Frank does not do it as well.
SELECT w.seat, w.business_key, w.state, w.due_at - w.opened_at AS time_left
  FROM wf_worklist(role => 'finance', tenant => 'office') w;
SELECT w.task_id AS finance FROM wf_worklist(role => 'finance', tenant => 'office') w \gset
SELECT o.applied FROM wf_task_claim(:'finance', tenant => 'office', actor => 'Fiona') o;
SELECT o.applied, o.reason FROM wf_task_claim(:'finance', on_refusal => 'return', tenant => 'office', actor => 'Frank') o;

-- She approves revision 1 about material 1: that is what she saw. Two more are needed.
SELECT o.applied, o.state, o.detail
  FROM wf_decide(:'finance', 'APPROVE', 1, 1, 'within budget', tenant => 'office', actor => 'Fiona') o;

-- Sam would speed it up, and may not: the submitter does not decide. The answer says why.
SELECT w.task_id AS head FROM wf_worklist(role => 'head', tenant => 'office') w \gset
SELECT o.applied, o.code, o.reason
  FROM wf_decide(:'head', 'APPROVE', 1, 1, on_refusal => 'return', tenant => 'office', actor => 'Sam', roles => '{head}') o;

-- Paula knows that the price is out of date, and sends it back: that moves at once, whoever has approved.
SELECT w.task_id AS purchasing FROM wf_worklist(role => 'purchasing', tenant => 'office') w \gset
SELECT o.applied, o.state, o.revision
  FROM wf_decide(:'purchasing', 'SEND_BACK', 1, 1, 'the offer has expired', tenant => 'office', actor => 'Paula') o;

-- Hugo has the page of this morning before him, and is told what has become of it.
SELECT o.applied, o.code, o.reason, o.detail ->> 'task_status' AS task, o.detail ->> 'task_reason' AS because, o.detail #>> '{winner,event}' AS winner
  FROM wf_decide(:'head', 'APPROVE', 1, 1, on_refusal => 'return', tenant => 'office', actor => 'Hugo') o;

-- Tuesday. Sam has a new offer, dearer than the old one, and submits it again. A new round: nobody has voted.
SELECT u.material_version
  FROM wf_supersede_material(:'application', 1, '{"what": "laser cutter", "amount": 12400}', tenant => 'office', actor => 'Sam') u;
SELECT o.state, o.revision, o.material_version, cardinality(o.task_ids) AS tasks
  FROM wf_transition(:'po', 'REWORK', 'REVIEW', 3, 2, comment => 'new offer attached', tenant => 'office', actor => 'Sam') o;

-- Hugo is on holiday from Wednesday. Heidi stands in for him: the task is hers, and what she does is his.
SELECT w.task_id AS head FROM wf_worklist(role => 'head', tenant => 'office') w \gset
SELECT o.applied FROM wf_task_delegate(:'head', 'Heidi', tenant => 'office', actor => 'Hugo') o;
SELECT w.seat, w.holder, w.delegated_by FROM wf_worklist(assignee => 'Heidi', tenant => 'office') w;

-- Wednesday. All three agree; the third of them decides. 12,400 is a matter for the board.
SELECT w.task_id AS finance FROM wf_worklist(role => 'finance', tenant => 'office') w \gset
SELECT w.task_id AS purchasing FROM wf_worklist(role => 'purchasing', tenant => 'office') w \gset
SELECT o.state, o.detail FROM wf_decide(:'purchasing', 'APPROVE', 4, 2, tenant => 'office', actor => 'Paula') o;
SELECT o.state, o.detail FROM wf_decide(:'head', 'APPROVE', 4, 2, 'Hugo knows', tenant => 'office', actor => 'Heidi') o;
SELECT o.state, o.detail, o.revision FROM wf_decide(:'finance', 'APPROVE', 4, 2, 'still within budget', tenant => 'office', actor => 'Frank') o;

-- Where does it stand, and who may do what?
SELECT g.state, g.revision, k ->> 'seat' AS seat, k -> 'roles' AS roles
  FROM wf_get(:'po', tenant => 'office', actor => 'Bea') g CROSS JOIN jsonb_array_elements(g.open_tasks) k;
SELECT a ->> 'event' AS event, a ->> 'to_state' AS to_state, a ->> 'allowed' AS bea_may
  FROM wf_get(:'po', tenant => 'office', actor => 'Bea') g CROSS JOIN jsonb_array_elements(g.actions) a;

-- Thursday. Bea signs. Her connection breaks and her client sends it again, with the same request id: it
-- is one signature, and the same answer.
SELECT o.state, o.revision, o.replayed FROM wf_transition(:'po', 'BOARD', 'ORDERED', 5, 2, request_id => 'bea-1', tenant => 'office', actor => 'Bea') o;
SELECT o.state, o.revision, o.replayed FROM wf_transition(:'po', 'BOARD', 'ORDERED', 5, 2, request_id => 'bea-1', tenant => 'office', actor => 'Bea') o;

-- A pencil sharpener does not trouble the board, and an order without an amount nobody can approve.
SELECT o.state FROM wf_start('purchase', 'PO-4712', '{"what": "pencil sharpener", "amount": 12}', tenant => 'office', actor => 'Sam') o;
SELECT o.state FROM wf_start('purchase', 'PO-4713', '{"what": "surprise"}', tenant => 'office', actor => 'Sam') o;
SELECT w.business_key, o.applied, o.state, o.reason
  FROM wf_worklist(role => 'finance', tenant => 'office') w
 CROSS JOIN LATERAL wf_decide(w.task_id, 'APPROVE', w.revision, w.material_version, on_refusal => 'return', tenant => 'office', actor => 'Fiona') o;
SELECT w.business_key, o.applied, o.state, o.reason
  FROM wf_worklist(role => 'purchasing', tenant => 'office') w
 CROSS JOIN LATERAL wf_decide(w.task_id, 'APPROVE', w.revision, w.material_version, on_refusal => 'return', tenant => 'office', actor => 'Paula') o;
SELECT w.business_key, o.applied, o.state, o.reason
  FROM wf_worklist(role => 'head', tenant => 'office') w
 CROSS JOIN LATERAL wf_decide(w.task_id, 'APPROVE', w.revision, w.material_version, on_refusal => 'return', tenant => 'office', actor => 'Hugo') o;

-- The auditor reads how it went: who did what, for whom, and who was told no.
BEGIN;
SELECT w.tenant, w.actor FROM wf_as('office', 'auditor') w;
SELECT l.revision, l.actor, l.on_behalf_of, l.what, l.comment
  FROM workflow.timeline l
 WHERE l.instance_id = :'po'
 ORDER BY l.at, l.revision, l.work;
COMMIT;

-- And everything is as it must be.
SELECT * FROM wf_verify();
