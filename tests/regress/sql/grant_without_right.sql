-- wf_grant by somebody who cannot grant is 42501, as its comment says, and never the answer that it was done.
CREATE ROLE regress_operator LOGIN;
CREATE ROLE regress_friend;
SELECT wf_grant('regress_operator', 'operator');
SET SESSION AUTHORIZATION regress_operator;
SELECT wf_grant('regress_friend', 'reader');
\echo :LAST_ERROR_SQLSTATE
RESET SESSION AUTHORIZATION;
SELECT has_function_privilege('regress_friend', 'wf_check(uuid,text,text,bigint,int,text,text,jsonb,text,text,bigint,int,text,text,text[],text)', 'EXECUTE') AS granted;
DROP OWNED BY regress_operator;
DROP ROLE regress_operator, regress_friend;
