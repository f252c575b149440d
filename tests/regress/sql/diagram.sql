-- wf_diagram draws a definition in Mermaid, DOT and SVG, and the way of an instance; whatever a designer
-- typed stays text.
\pset format unaligned
SELECT wf_diagram('review');
SELECT wf_diagram('review', format => 'dot');
CREATE FUNCTION pg_temp.seen(path text, drawing text) RETURNS text LANGUAGE sql AS $$
    SELECT array_to_string(xpath(path, xmlparse(document drawing), '{{s,http://www.w3.org/2000/svg}}'), '|') $$;
SELECT pg_temp.seen('//s:text[@class="title"]/text()', wf_diagram('review', format => 'svg')) AS states,
       pg_temp.seen('count(//s:path[@class="head"])', wf_diagram('review', format => 'svg')) AS heads;
-- an instance: where it stands, and by which revisions it came there
SELECT t.see(o) FROM wf_start('lamp', 'diagram', '{}') o;
SELECT t.see(o) FROM wf_send(t.i('diagram'), 'PRESS') o;
SELECT t.see(o) FROM wf_send(t.i('diagram'), 'PRESS') o;
SELECT t.see(o) FROM wf_send(t.i('diagram'), 'PRESS') o;
SELECT wf_diagram(instance => t.i('diagram'));
SELECT pg_temp.seen('//s:g[@class="current"]/s:text/text()', d) AS current, pg_temp.seen('//s:g[@class="visited"]/s:text/text()', d) AS visited,
       pg_temp.seen('//s:g[@class="taken"]/s:text/text()', d) AS taken
  FROM wf_diagram(format => 'svg', instance => t.i('diagram')) d;
SELECT wf_diagram('lamp', 1, 'svg', t.i('diagram')) = wf_diagram(format => 'svg', instance => t.i('diagram')) AS same;
-- names that would be markup
SELECT version FROM wf_define('{"id": "\"><script>", "initial": "\"><script>alert(1)</script>", "states": {
    "\"><script>alert(1)</script>": {"on": {"\\\" ]; evil [": {"target": "<&>", "guard": "$.material.x == \"<\""}}},
    "<&>": {"type": "final"}}}');
SELECT wf_diagram('"><script>');
SELECT wf_diagram('"><script>', format => 'dot');
SELECT pg_temp.seen('//s:text/text()', wf_diagram('"><script>', format => 'svg')) AS texts,
       pg_temp.seen('count(//s:script)', wf_diagram('"><script>', format => 'svg')) AS scripts;
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
