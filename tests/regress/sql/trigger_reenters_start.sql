-- A start is not finished before all of its rows are there: a trigger of the user's that sends a command to
-- the new instance, starts a second one on the new application, or supersedes its material, is 27000.
CREATE FUNCTION t.reenter() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CASE TG_ARGV[0]
        WHEN 'transition' THEN PERFORM wf_transition(new.id, 'SUBMITTED', 'APPROVED', 1, 1, actor => 'robot');
        WHEN 'history' THEN PERFORM wf_transition(new.instance_id, 'SUBMITTED', 'APPROVED', 1, 1, actor => 'robot');
        WHEN 'start' THEN PERFORM wf_start('review', new.business_key, '{}');
        WHEN 'supersede' THEN PERFORM wf_supersede_material(new.id, new.material_version, '{"v": 9}');
    END CASE;
    RETURN NULL;
END $$;
CREATE FUNCTION pg_temp.with(verb text, name text, how text, command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    EXECUTE format('CREATE TRIGGER z AFTER %s ON workflow.%I FOR EACH ROW EXECUTE FUNCTION t.reenter(%L)', verb, name, how);
    answer := t.refusal('SELECT ' || command);
    EXECUTE format('DROP TRIGGER z ON workflow.%I', name);
    RETURN answer;
END $$;
SELECT pg_temp.with('INSERT', 'instances', 'transition', $$wf_start('review', 'reenter-1', '{}')$$);
SELECT pg_temp.with('INSERT', 'history', 'history', $$wf_start('review', 'reenter-1', '{}')$$);
SELECT pg_temp.with('INSERT', 'applications', 'start', $$wf_start('review', 'reenter-1', '{}')$$);
SELECT pg_temp.with('INSERT', 'applications', 'supersede', $$wf_start('review', 'reenter-1', '{}')$$);
SELECT t.a('reenter-1') IS NULL AS nothing_happened;
SELECT t.see(o) FROM wf_start('review', 'reenter-1', '{}') o;
SELECT pg_temp.with('UPDATE', 'applications', 'supersede', $$wf_supersede_material(t.a('reenter-1'), 1, '{"v": 2}')$$);
-- another instance is nobody's business but its own
SELECT t.see(o) FROM wf_start('lamp', 'reenter-2', '{}') o;
CREATE FUNCTION t.other() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM wf_send(t.i('reenter-2'), 'PRESS');
    RETURN NULL;
END $$;
CREATE TRIGGER z AFTER INSERT ON workflow.history FOR EACH ROW WHEN (new.to_state = 'APPROVED') EXECUTE FUNCTION t.other();
SELECT t.see(o) FROM wf_transition(t.i('reenter-1'), 'SUBMITTED', 'APPROVED', 1, 1) o;
DROP TRIGGER z ON workflow.history;
SELECT state, revision FROM wf_get(t.i('reenter-2'));
DROP FUNCTION t.other();
DROP FUNCTION t.reenter();
SELECT * FROM wf_verify();
