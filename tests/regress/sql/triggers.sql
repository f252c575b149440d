-- Commands in users' triggers: from a table of the user's they are a part of its statement; from a table of
-- ours, about an instance whose command is not finished, they are 27000, never a wrong answer.
CREATE TABLE t.invoice (n int PRIMARY KEY, paid boolean DEFAULT false);
CREATE FUNCTION t.on_invoice() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM wf_start('lamp', 'invoice-' || NEW.n, to_jsonb(NEW));
    ELSE
        PERFORM wf_transition(t.i('invoice-' || NEW.n), 'OFF', 'ON', 1, 1);
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER invoice BEFORE INSERT OR UPDATE ON t.invoice FOR EACH ROW EXECUTE FUNCTION t.on_invoice();
INSERT INTO t.invoice SELECT n FROM generate_series(1, 3) n;
SELECT g.state, g.material FROM generate_series(1, 3) n CROSS JOIN LATERAL wf_get(t.i('invoice-' || n)) g;
UPDATE t.invoice SET paid = true WHERE n < 3;
SELECT g.state FROM generate_series(1, 3) n CROSS JOIN LATERAL wf_get(t.i('invoice-' || n)) g;
-- a refusal fails the user's statement as a whole
SELECT t.refusal('UPDATE t.invoice SET paid = true');
SELECT n, paid FROM t.invoice ORDER BY 1;
SELECT g.state FROM generate_series(1, 3) n CROSS JOIN LATERAL wf_get(t.i('invoice-' || n)) g;

-- re-entering
SELECT o.applied FROM wf_start('review', 'triggers', '{}') o;
SELECT t.i('triggers') AS i \gset
CREATE TABLE t.command (command text);
CREATE FUNCTION t.reenter() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    c text;
BEGIN
    FOR c IN SELECT command FROM t.command LOOP
        EXECUTE c;
    END LOOP;
    RETURN NEW;
END
$$;
CREATE FUNCTION pg_temp.during(what text, command text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    answer text;
BEGIN
    TRUNCATE t.command;
    INSERT INTO t.command VALUES (command);
    EXECUTE 'CREATE TRIGGER reenter ' || what || ' FOR EACH ROW EXECUTE FUNCTION t.reenter()';
    answer := t.refusal(format($q$SELECT wf_transition(%L, 'SUBMITTED', 'APPROVED', 1, 1)$q$, t.i('triggers')));
    EXECUTE 'DROP TRIGGER reenter ON ' || split_part(what, ' ON ', 2);
    RETURN left(answer, 8);
END
$$;
SELECT what, command, pg_temp.during(what, command)
  FROM unnest('{AFTER INSERT ON workflow.history,BEFORE INSERT ON workflow.history,BEFORE UPDATE ON workflow.instances,AFTER UPDATE ON workflow.instances,AFTER UPDATE ON workflow.tasks,AFTER INSERT ON workflow.outbox}'::text[]) WITH ORDINALITY w(what, n)
 CROSS JOIN (VALUES (1, $$SELECT wf_transition(t.i('triggers'), 'SUBMITTED', 'REJECTED', 1, 1)$$), (2, $$SELECT wf_send(t.i('triggers'), 'SIGN')$$),
    (3, $$SELECT wf_try_transition(t.i('triggers'), 'SUBMITTED', 'REJECTED', 1, 1)$$),
    (4, $$SELECT wf_supersede_material(t.a('triggers'), 1, '{"v": 2}')$$)) c(m, command)
 ORDER BY n, m;
SELECT * FROM t.history('triggers');
-- the mark is gone with the error
SELECT t.see(o) FROM wf_transition(:'i', 'SUBMITTED', 'APPROVED', 1, 1) o;
-- about another instance it is a part of the command
SELECT o.applied FROM wf_start('lamp', 'triggers-other', '{}') o;
TRUNCATE t.command;
INSERT INTO t.command VALUES ($$SELECT wf_send(t.i('triggers-other'), 'BREAK') WHERE (SELECT NOT closed FROM workflow.instances WHERE id = t.i('triggers-other'))$$);
CREATE TRIGGER reenter AFTER UPDATE ON workflow.instances FOR EACH ROW WHEN (NEW.definition = 'review') EXECUTE FUNCTION t.reenter();
SELECT t.see(o) FROM wf_send(:'i', 'SIGN') o;
DROP TRIGGER reenter ON workflow.instances;
SELECT g.state FROM wf_get(t.i('triggers-other')) g;
DROP TABLE t.invoice, t.command;
DROP FUNCTION t.on_invoice(), t.reenter();
SELECT * FROM wf_verify();
