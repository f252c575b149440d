-- wf_diagram draws a definition in Mermaid, DOT and SVG, and the way of an instance; whatever a designer
-- typed stays text.
\pset format unaligned
SELECT wf_diagram('review');
SELECT wf_diagram('review', format => 'dot');
CREATE FUNCTION pg_temp.seen(pattern text, drawing text) RETURNS text LANGUAGE sql AS $$
    SELECT string_agg(m[1], '|') FROM regexp_matches(drawing, pattern, 'g') m $$;
-- A server built without libxml cannot tell.
CREATE FUNCTION pg_temp.well_formed(drawing text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN xmlparse(document drawing) IS NOT NULL;
EXCEPTION WHEN feature_not_supported THEN
    RETURN true;
END
$$;
SELECT pg_temp.well_formed(d), pg_temp.seen('<text class="title"[^>]*>([^<]*)', d) AS states, regexp_count(d, '<path class="head"') AS heads
  FROM wf_diagram('review', format => 'svg') d;
-- an instance: where it stands, and by which revisions it came there
SELECT t.see(o) FROM wf_start('lamp', 'diagram', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('diagram'), 'PRESS') o;
SELECT t.see(o) FROM wf_send(t.i('diagram'), 'PRESS') o;
SELECT t.see(o) FROM wf_send(t.i('diagram'), 'PRESS') o;
SELECT wf_diagram(instance => t.i('diagram'));
SELECT pg_temp.well_formed(d), pg_temp.seen('<g class="current">(?:<title>[^<]*</title>)?\s*<rect[^>]*>\s*<text[^>]*>([^<]*)', d) AS current,
       pg_temp.seen('<g class="visited">(?:<title>[^<]*</title>)?\s*<rect[^>]*>\s*<text[^>]*>([^<]*)', d) AS visited,
       pg_temp.seen('<g class="taken">\s*<rect[^>]*>\s*<text[^>]*>([^<]*)', d) AS taken
  FROM wf_diagram(format => 'svg', instance => t.i('diagram')) d;
SELECT wf_diagram('lamp', 1, 'svg', t.i('diagram')) = wf_diagram(format => 'svg', instance => t.i('diagram')) AS same;
-- names that would be markup
SELECT version FROM wf_define('{"id": "\"><script>", "initial": "\"><script>alert(1)</script>", "states": {
    "\"><script>alert(1)</script>": {"on": {"\\\" ]; evil [": {"target": "<&>", "guard": "$.material.x == \"<\""}}},
    "<&>": {"type": "final"}}}');
SELECT wf_diagram('"><script>');
SELECT wf_diagram('"><script>', format => 'dot');
SELECT pg_temp.well_formed(d), pg_temp.seen('<text[^>]*>([^<]*)', d) AS texts, regexp_count(d, '<script') AS scripts
  FROM wf_diagram('"><script>', format => 'svg') d;
-- no argument, no such thing, another tenant's, too large
SELECT t.refusal($$SELECT wf_diagram()$$);
SELECT t.refusal($$SELECT wf_diagram('review', format => 'png')$$);
SELECT t.refusal($$SELECT wf_diagram('review', 99)$$);
SELECT t.refusal($$SELECT wf_diagram('none')$$);
SELECT t.refusal(format($$SELECT wf_diagram(instance => %L, tenant => 'diagram-2')$$, t.i('diagram')));
SELECT version FROM wf_define(jsonb_build_object('id', 'diagram-large', 'initial', 'S0', 'states', (
    SELECT jsonb_object_agg('S' || n, CASE n WHEN 400 THEN '{"type": "final"}'::jsonb ELSE jsonb_build_object('on', jsonb_build_object('NEXT', 'S' || n + 1)) END)
      FROM generate_series(0, 400) n)));
SELECT t.refusal($$SELECT wf_diagram('diagram-large', format => 'svg')$$);
SELECT length(wf_diagram('diagram-large')) > 10000 AS mermaid, length(wf_diagram('diagram-large', format => 'dot')) > 10000 AS dot;
SELECT * FROM wf_verify();
