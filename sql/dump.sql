-- Without this pg_dump leaves the rows of an extension's tables behind.
SELECT pg_catalog.pg_extension_config_dump('workflow.definitions', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.applications', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.materials', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.instances', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.tasks', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.task_log', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.history', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.refusals', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.requests', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.outbox', '');
SELECT pg_catalog.pg_extension_config_dump('workflow.members', '');
