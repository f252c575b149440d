-- W3: a person outside the seat, and the submitter where self-approval is off, are WF007 and nothing is
-- counted. Roles come with the call, else from the members.
SELECT t.panel('seat', '{"seats": [{"name": "fin", "roles": ["fin", "cfo"]}, {"name": "law", "roles": ["law"]}, {"name": "all", "roles": []}], "self_approval": false}');
SELECT t.open_panel('seat', 'seat', 'sue');
SELECT t.world() AS before \gset
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{}')$$, t.task('seat', 'fin')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{law,FIN,fi,finn,"fin "}')$$, t.task('seat', 'fin')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin}')$$, t.task('seat', 'law')));
-- the role comes before versions and votes
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 7, 7, actor => 'ann', roles => '{law}')$$, t.task('seat', 'fin')));
-- the submitter, whatever their roles
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'sue', roles => '{fin,law}')$$, t.task('seat', 'fin')));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'REJECT', 1, 1, actor => 'sue', roles => '{}')$$, t.task('seat', 'all')));
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'sue', roles => '{}')$$, t.task('seat', 'all')));
SELECT t.refusal(format($$SELECT wf_task_delegate(%L, 'bob', actor => 'sue', roles => '{}')$$, t.task('seat', 'all')));
SELECT t.refusal(format($$SELECT wf_task_transfer(%L, 'bob', actor => 'sue', roles => '{}')$$, t.task('seat', 'all')));
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'ann', roles => '{law}')$$, t.task('seat', 'fin')));
SELECT t.world() = :'before' AS nothing_happened;
-- the author of the present material submits as well; the one of the material before no longer does
SELECT u.applied FROM wf_supersede_material(t.a('seat'), 1, '{"v": 2}', actor => 'ada') u;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 2, 2, actor => 'ada', roles => '{fin}')$$, t.task('seat', 'fin')));
SELECT u.applied FROM wf_supersede_material(t.a('seat'), 2, '{"v": 3}', actor => 'bea') u;
SELECT t.vote('seat', 'fin', 'APPROVE', 'ada', '{fin}');
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 3, 3, actor => 'sue', roles => '{law}')$$, t.task('seat', 'law')));
SELECT t.vote('seat', 'law', 'APPROVE', 'lea', '{x,law}');
SELECT t.vote('seat', 'all', 'APPROVE', 'oli');
-- by a second role of the seat
SELECT t.open_panel('seat', 'seat-cfo', 'sue');
SELECT t.vote('seat-cfo', 'fin', 'APPROVE', 'ann', '{cfo}');
-- self-approval is on unless it is off
SELECT t.panel('self', '{"seats": [{"name": "a", "roles": []}, {"name": "b", "roles": []}]}');
SELECT t.open_panel('self', 'self', 'sue');
SELECT t.vote('self', 'a', 'APPROVE', 'sue');
-- members
SELECT o.applied FROM wf_member_set('mia', '{law}') o;
SELECT t.open_panel('seat', 'seat-members', 'sue');
SELECT t.see(o) FROM wf_decide(t.task('seat-members', 'law'), 'APPROVE', 1, 1, actor => 'mia') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'mia')$$, t.task('seat-members', 'fin')));
SELECT o.applied FROM wf_member_remove('mia') o;
-- several seats of one role: each is another person's
SELECT t.panel('peers', '{"seats": [{"name": "peer1", "roles": ["peer"]}, {"name": "peer2", "roles": ["peer"]}, {"name": "peer3", "roles": ["peer"]}], "rule": {"approve": 2}}');
SELECT t.open_panel('peers', 'peers');
SELECT t.vote('peers', 'peer1', 'APPROVE', 'ann', '{peer}');
SELECT t.vote('peers', 'peer2', 'APPROVE', 'ann', '{peer}');
SELECT t.vote('peers', 'peer3', 'APPROVE', 'bob', '{peer}');
SELECT seat, status, by FROM t.seats('peers');
-- the edge may want a role of its own besides
SELECT * FROM wf_define('{"id": "both", "initial": "VOTE", "states": {
    "VOTE": {"meta": {"on_supersede": "stay", "task": {"seats": [{"name": "a", "roles": ["a"]}, {"name": "b", "roles": ["b"]}]}},
        "on": {"APPROVE": {"target": "END", "meta": {"decision": "approve", "roles": ["signer"]}}, "REJECT": {"target": "END", "meta": {"decision": "reject"}}}},
    "END": {"type": "final"}}}');
SELECT t.open_panel('both', 'both');
SELECT t.vote('both', 'a', 'APPROVE', 'ann', '{a}');
SELECT t.vote('both', 'a', 'APPROVE', 'ann', '{signer}');
SELECT t.vote('both', 'a', 'APPROVE', 'ann', '{a,signer}');
SELECT t.vote('both', 'b', 'REJECT', 'bob', '{b}');
SELECT * FROM wf_verify();
