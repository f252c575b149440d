-- Which instances are contended, and how commands go about them.

CREATE TYPE workflow.contention_count AS (
    instance_id uuid,
    attempts bigint,
    races bigint,
    stale bigint,
    waits bigint,
    busy bigint,
    service_us bigint,
    mode text,
    since timestamptz,
    why text,
    rate_millionths bigint,
    samples bigint,
    last_seen timestamptz
);
COMMENT ON TYPE workflow.contention_count IS 'Counts of one contended instance, as kept in memory that all sessions share; see view workflow.contention.';

CREATE FUNCTION workflow.contention_counts() RETURNS SETOF workflow.contention_count ROWS 100
    LANGUAGE c VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_contention_counts';
COMMENT ON FUNCTION workflow.contention_counts() IS 'Counts of the contended instances of the caller''s tenant since the server started; behind view workflow.contention.';
REVOKE ALL ON FUNCTION workflow.contention_counts() FROM PUBLIC;

CREATE VIEW workflow.contention WITH (security_barrier) AS
SELECT c.instance_id, i.definition, i.state,
       c.attempts, c.races, c.stale, c.waits, c.busy,
       pg_catalog.round(c.service_us::pg_catalog."numeric" OPERATOR(pg_catalog./) 1000, 3) AS service_ms,
       COALESCE(f.forced, c.mode) AS mode,
       CASE WHEN f.forced IS NULL THEN COALESCE(c.why, 'adaptive, and never contended enough')
            ELSE 'meta.lock_mode of the definition' END AS why,
       pg_catalog.round(c.rate_millionths::pg_catalog."numeric" OPERATOR(pg_catalog./) 1000000, 4) AS rate,
       c.samples,
       CASE WHEN f.forced IS NULL AND c.why IS NOT NULL THEN c.since END AS since,
       c.last_seen
  FROM workflow.contention_counts() c
  LEFT JOIN workflow.instances i
    ON i.tenant_id OPERATOR(pg_catalog.=) (SELECT workflow.current_tenant())
   AND i.id OPERATOR(pg_catalog.=) c.instance_id
  LEFT JOIN LATERAL (
       SELECT d.spec OPERATOR(pg_catalog.#>>) '{meta,lock_mode}' AS forced
         FROM workflow.definitions d
        WHERE d.tenant_id OPERATOR(pg_catalog.=) ANY (ARRAY[i.tenant_id, '*'])
          AND d.id OPERATOR(pg_catalog.=) i.definition_id
          AND (d.spec OPERATOR(pg_catalog.#>>) '{meta,lock_mode}') OPERATOR(pg_catalog.<>) 'adaptive') f ON true;
COMMENT ON VIEW workflow.contention IS 'Instances of the caller''s tenant that were contended since the server started: the counts outlive rollbacks and sessions, not the server. At most 2048 instances are kept, the least recently contended ones go first.';
COMMENT ON COLUMN workflow.contention.attempts IS 'Decisions tried since the instance is counted.';
COMMENT ON COLUMN workflow.contention.races IS 'Attempts lost to a command that was faster or held the row.';
COMMENT ON COLUMN workflow.contention.stale IS 'Commands that came with a revision outdated for more than 100 ms: no races.';
COMMENT ON COLUMN workflow.contention.waits IS 'Times that the gate or the row was found taken.';
COMMENT ON COLUMN workflow.contention.busy IS 'Commands that gave up and were told busy.';
COMMENT ON COLUMN workflow.contention.service_ms IS 'Measured time from one passage of the gate to the next while others wait, in ms; 0: not measured.';
COMMENT ON COLUMN workflow.contention.mode IS 'How a command without lock_mode goes about it: optimistic or pessimistic.';
COMMENT ON COLUMN workflow.contention.why IS 'Why this mode.';
COMMENT ON COLUMN workflow.contention.rate IS 'Share of races (of waits, on the way back) that the last switch rested on.';
COMMENT ON COLUMN workflow.contention.samples IS 'Attempts that this share rested on.';
COMMENT ON COLUMN workflow.contention.since IS 'Time of the last switch.';
