-- T1: two tenants with one business key, one definition name and one request key run to the end side by
-- side, and neither sees the other.
SELECT e.version FROM unnest('{tenants-a,tenants-b}'::text[]) x CROSS JOIN LATERAL wf_define(wf_export('review'), tenant => x) e;
CREATE TEMP TABLE side AS SELECT x AS tenant, o.instance_id AS i, o.application_id AS a, o.task_ids
  FROM unnest('{tenants-a,tenants-b}'::text[]) x
 CROSS JOIN LATERAL wf_start('review', 'one key', jsonb_build_object('of', x), request_id => 'one request', tenant => x, actor => 'ann') o;
SELECT count(DISTINCT i) AS instances, count(DISTINCT a) AS applications, count(DISTINCT task_ids) AS tasks FROM side;
SELECT tenant, t.see(o) FROM side CROSS JOIN LATERAL wf_transition(i, 'SUBMITTED', CASE tenant WHEN 'tenants-a' THEN 'APPROVED' ELSE 'REJECTED' END, 1, 1,
    request_id => 'one decision', tenant => side.tenant, actor => 'rob') o ORDER BY 1;
SELECT t.see(o) FROM side CROSS JOIN LATERAL wf_send(i, 'SIGN', tenant => side.tenant) o WHERE tenant = 'tenants-a';
SELECT * FROM t.history('one key', 'tenants-a');
SELECT * FROM t.history('one key', 'tenants-b');
SELECT tenant, g.state, g.material FROM side CROSS JOIN LATERAL wf_get(definition => 'review', business_key => 'one key', tenant => side.tenant) g ORDER BY 1;
SELECT tenant, c.* FROM side CROSS JOIN LATERAL t.count('one key', side.tenant) c ORDER BY 1;
-- names of tenants are compared byte by byte
SELECT t.refusal(format($$SELECT wf_get(%L, tenant => 'Tenants-a')$$, i)) FROM side WHERE tenant = 'tenants-a';
SELECT t.refusal(format($$SELECT wf_get(%L, tenant => 'tenants-а')$$, i)) FROM side WHERE tenant = 'tenants-a'; -- Cyrillic а
-- of one tenant, or of all
SELECT count(*) FROM wf_verify(tenant => 'tenants-a');
SELECT * FROM wf_verify();
