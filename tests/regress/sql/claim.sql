-- W4: a claim is idempotent for the same person and refused for another; released, it is anybody's of the
-- role again. A claim with a lease ends by itself.
SELECT t.panel('claim', '{"seats": [{"name": "fin", "roles": ["fin"]}, {"name": "law", "roles": ["law"]}]}');
SELECT t.open_panel('claim', 'claim');
SELECT t.task('claim', 'fin') AS fin \gset
SELECT t.see(o) FROM wf_task_claim(:'fin', actor => 'ann', roles => '{fin}') o;
SELECT t.see(o) FROM wf_task_claim(:'fin', actor => 'ann', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'bob', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_release(%L, actor => 'bob', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'bob', roles => '{fin}')$$, :'fin'));
SELECT t.see(o) FROM wf_task_claim(:'fin', on_refusal => 'return', actor => 'bob', roles => '{fin}') o;
SELECT t.see(o) FROM wf_task_release(:'fin', actor => 'ann', roles => '{fin}') o;
-- nobody's stays nobody's
SELECT t.see(o) FROM wf_task_release(:'fin', actor => 'ann', roles => '{fin}') o;
SELECT t.see(o) FROM wf_task_claim(:'fin', actor => 'bob', roles => '{fin}') o;
SELECT * FROM t.log('claim');
SELECT i.revision, i.work FROM workflow.instances i WHERE i.id = t.i('claim');
-- the holder decides, from the page that was shown before all this
SELECT t.see(o) FROM wf_decide(:'fin', 'APPROVE', 1, 1, actor => 'bob', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'bob', roles => '{fin}')$$, :'fin'));
SELECT t.refusal(format($$SELECT wf_task_release(%L, actor => 'bob', roles => '{fin}')$$, :'fin'));
-- of a role that one has not
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'bob', roles => '{fin}')$$, t.task('claim', 'law')));
-- a claim does not outlive its round
SELECT o.applied FROM wf_task_claim(t.task('claim', 'law'), actor => 'cay', roles => '{law}') o;
SELECT t.see(o) FROM wf_send(t.i('claim'), 'NOTE') o;
SELECT seat, round, status, holder, reason FROM t.seats('claim');

-- a lease
SELECT t.open_panel('claim', 'claim-lease');
SELECT t.task('claim-lease', 'fin') AS fin \gset
SELECT t.see(o) FROM wf_task_claim(:'fin', 60000, actor => 'ann', roles => '{fin}') o;
SELECT k.held_until BETWEEN clock_timestamp() + interval '55 s' AND clock_timestamp() + interval '60 s' AS a_minute FROM workflow.tasks k WHERE k.id = :'fin';
SELECT t.refusal(format($$SELECT wf_task_claim(%L, actor => 'bob', roles => '{fin}')$$, :'fin'));
-- claiming it anew sets the lease anew
SELECT t.see(o) FROM wf_task_claim(:'fin', 150, actor => 'ann', roles => '{fin}') o;
SELECT pg_sleep(0.3);
-- it is over: another may have it
SELECT t.see(o) FROM wf_task_claim(:'fin', 60000, actor => 'bob', roles => '{fin}') o;
SELECT t.refusal(format($$SELECT wf_decide(%L, 'APPROVE', 1, 1, actor => 'ann', roles => '{fin}')$$, :'fin'));
-- a claim without a lease lasts
SELECT t.see(o) FROM wf_task_release(:'fin', actor => 'bob', roles => '{fin}') o;
SELECT t.see(o) FROM wf_task_claim(:'fin', actor => 'cay', roles => '{fin}') o;
SELECT k.holder, k.held_until FROM workflow.tasks k WHERE k.id = :'fin';
-- an expired claim is anybody's to decide, and nobody is acted for
SELECT o.applied FROM wf_task_claim(t.task('claim-lease', 'law'), 50, actor => 'lea', roles => '{law}') o;
SELECT pg_sleep(0.1);
SELECT t.vote('claim-lease', 'law', 'APPROVE', 'leo', '{law}');
SELECT seat, by, behalf FROM t.seats('claim-lease') WHERE status = 'COMPLETED';
-- who held it last may still decide it while nobody else has taken it
SELECT t.open_panel('claim', 'claim-late');
SELECT o.applied FROM wf_task_claim(t.task('claim-late', 'law'), 50, actor => 'lea', roles => '{law}') o;
SELECT pg_sleep(0.1);
SELECT t.vote('claim-late', 'law', 'APPROVE', 'lea', '{law}');
-- how long a lease may be
SELECT x, t.refusal(format($$SELECT wf_task_claim(%L, %s, actor => 'ann', roles => '{fin}')$$, t.task('claim', 'fin'), x)) FROM unnest('{0,-1,-2147483648,2147483647}'::text[]) x;
SELECT * FROM wf_verify();
