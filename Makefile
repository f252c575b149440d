# The verbs of this project; `make help` lists them. What they do is in tools/.
#
#   make && make install PG_CONFIG=/path/to/pg_config     for a server of yours
#   make test                                             everything, on private servers
#   make regress PGVERSIONS=18 TESTS=race                 one test on one version
#
# Needs Rust, a C compiler, and python3 with pip where something must be fetched.
# As root the tests install what is missing from Debian's or Ubuntu's packages.

PG_CONFIG ?= pg_config
# The parts of sql/ that make up the install script, in this order.
SQL_PARTS = schema common limits definitions applications instances diagrams tasks timers requests resources delivery identity leases work upkeep operations contention views capabilities grants tenancy

export PG_CONFIG DESTDIR SQL_PARTS PGVERSIONS TESTS MODEL_SECONDS MODEL_ARGS FAULTS BENCH_ARGS

.PHONY: chaos package all install uninstall installcheck clean demo psql test unit lint regress isolation tap model faults bench coverage mutants instructions help

all: ; @tools/build.sh build
install: ; @tools/build.sh install
uninstall: ; @tools/build.sh uninstall
installcheck: ; @tools/test.sh installcheck
clean: ; @tools/build.sh clean

demo: ; @tools/demo.sh
faults: ; @tools/faults.sh
psql: ; @tools/cluster.sh psql $(or $(firstword $(PGVERSIONS)),18)

test: ; @tools/test.sh lint unit regress isolation tap model demo
unit lint regress isolation tap model bench: ; @tools/test.sh $@
package: ; @tools/package.sh
# The crash test of the TAP tests, for long.
chaos: ; @WORKFLOW_CRASHES=$${WORKFLOW_CRASHES:-200} TESTS=006_crash tools/test.sh tap
coverage: ; @tools/coverage.sh
mutants: ; @tests/mutants/run
instructions: ; @tools/instructions.sh $(firstword $(PGVERSIONS))

help:
	@echo 'make               build for the server of PG_CONFIG (default: pg_config on PATH)'
	@echo 'make install       install there; DESTDIR is honoured'
	@echo 'make uninstall     remove from there'
	@echo 'make installcheck  regression and isolation tests against a running server with the'
	@echo '                   extension installed, found by PGHOST, PGPORT, PGUSER'
	@echo 'make demo          two reviewers collide on a real server, private and temporary'
	@echo 'make faults        wrong ways to lock beside the right one, on PostgreSQL and Redis'
	@echo 'make psql          psql on a private, temporary server with the extension'
	@echo 'make test          all of the following, on private servers'
	@echo 'make lint          formatting, clippy, and pgspot over the SQL scripts'
	@echo 'make unit          tests of the core, without a server'
	@echo 'make regress       tests/regress by pg_regress'
	@echo 'make isolation     tests/isolation by pg_isolation_regress'
	@echo 'make tap           tests/tap by prove'
	@echo 'make model         the model checker of tests/model'
	@echo 'make bench         measures beside its peers; BENCH_ARGS="--rounds N --seconds N EXPERIMENT …"'
	@echo 'make instructions  instructions per command beside a hand-written peer, against those kept'
	@echo 'make package       a .deb per major and a tarball, in target/package; each .deb is tried on a server'
	@echo 'make chaos         kill -9 of a loaded server, 200 times: decisions acknowledged, lost, doubled'
	@echo 'make coverage      line and branch coverage of the core'
	@echo 'make mutants       broken engines, each of which the tests must notice'
	@echo 'make clean         remove everything built or fetched'
	@echo
	@echo 'PGVERSIONS="15 18"   majors to test on (15, 16, 17, 18; default 15 and 18)'
	@echo 'TESTS="name …"       only these tests of the kind (a regress test setup still runs first)'
	@echo 'MODEL_SECONDS=60     how long the model checker runs; MODEL_ARGS for what else it takes'
	@echo
	@echo 'Logs, results and diffs of the last test run are in target/test.'
