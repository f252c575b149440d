-- Pictures of definitions and instances.

CREATE FUNCTION wf_diagram(
    definition text DEFAULT NULL,
    version int DEFAULT NULL,
    format text DEFAULT 'mermaid',
    instance uuid DEFAULT NULL,
    tenant text DEFAULT NULL,
    actor text DEFAULT NULL,
    roles text[] DEFAULT NULL,
    identity_token text DEFAULT NULL
) RETURNS text
    LANGUAGE c STABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'wf_diagram';
COMMENT ON FUNCTION wf_diagram IS 'A picture of a definition (without version of the active one), in format mermaid, dot or svg: states with their seats, edges with events, guards, roles and verdicts. instance: also where it stands and which steps it took, by their revisions; then definition and version may be left out, or name another version to draw its way on. Errors: 22004 neither definition nor instance, 22023 no such format, WF005, WF019 too large for svg.';
REVOKE ALL ON FUNCTION wf_diagram FROM PUBLIC;
