-- The schema is made, never adopted: CREATE SCHEMA fails if somebody made it before the install (42P06).
CREATE SCHEMA workflow;
COMMENT ON SCHEMA workflow IS 'Tables, views and types of the workflow extension. The wf_* functions live where CREATE EXTENSION put them.';

-- Older minors dump policies and triggers of extension tables a second time, and restore fails.
DO $$
DECLARE
    minimum constant pg_catalog.int4 :=
        CASE WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 180000 THEN 180000
             WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 170000 THEN 170001
             WHEN pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.>=) 160000 THEN 160005
             ELSE 150009 END;
BEGIN
    IF pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog.<) minimum THEN
        RAISE EXCEPTION USING
            ERRCODE = 'feature_not_supported',
            MESSAGE = pg_catalog.format('workflow needs server version %s or later of this major version', minimum),
            HINT = 'Update PostgreSQL to its latest minor release.';
    END IF;
END
$$;

CREATE TABLE workflow.secret (
    salt uuid NOT NULL
);
COMMENT ON TABLE workflow.secret IS 'One row: a random number of this installation that goes into the numbers of its key locks, so that pg_locks tells nobody which keys are in use. Not dumped: a restore makes another one.';
INSERT INTO workflow.secret VALUES (pg_catalog.gen_random_uuid());
