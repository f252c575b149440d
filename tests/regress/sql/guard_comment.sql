-- A guard that wf_define accepted never fails as such: SQL/JSON paths may have comments, and the mode after one.
SELECT g, t.refusal(format($q$SELECT wf_define(jsonb_build_object('id', 'guard-comment-' || %1$L, 'initial', 'A', 'states', jsonb_build_object('A',
    jsonb_build_object('on', jsonb_build_object('GO', jsonb_build_object('target', 'B', 'guard', %2$L))), 'B', '{"type": "final"}'::jsonb)))$q$, n, g)) AS define,
    t.refusal(format($q$SELECT wf_start('guard-comment-' || %1$L, 'guard-comment-' || %1$L, '{"x": 1, "d": "2019-01-01"}')$q$, n)) AS start,
    t.refusal(format($q$SELECT wf_send(t.i('guard-comment-' || %1$L), 'GO')$q$, n)) AS send
  FROM unnest(ARRAY['/* c */ $.material.x == 1', '/* c */ strict $.material.x == 1', '/* c */ lax $.material.x == 1', ' strict $.material.x == 1', 'STRICT $.material.x == 1', 'strict$.material.x == 1', '$', '1 == 1', '"strict" == "strict"', '$var == 1', 'strictly', '$.material.d.datetime() < "2020-01-01T00:00:00+00".datetime()']) WITH ORDINALITY x(g, n);
