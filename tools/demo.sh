#!/usr/bin/env bash
# Builds what the demonstration needs, where that changed, and runs it on a private
# server that writes durably; its exit code is the verdict's.
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/cluster.sh"

MAJOR=${PGVERSIONS:-18}
MAJOR=${MAJOR%% *}
cluster_trap
server_prerequisites || die "could not install what the demonstration needs"
server_get "$MAJOR"
PG_CONFIG=$SERVER_BUILD_CONFIG "$ROOT/tools/build.sh" build
cd "$ROOT" || exit
export CARGO_TARGET_DIR=$TARGET/tools
if [ -t 2 ]; then QUIET=; else QUIET=--quiet; fi
# shellcheck disable=SC2086 # empty or one word
cargo build $QUIET --release --locked -p workflow-demo
cluster_start durable
client createdb workflow_demo
PGDATABASE=workflow_demo cargo run --quiet --release --locked -p workflow-demo
