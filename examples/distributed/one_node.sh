#!/bin/sh
# Train with several processes on this machine. They share its cores; the same command resumes.
#
#   PROCESSES=2 ./one_node.sh pairs.tsv --languages en,es --out model
#
# One process with a thread on every core usually trains as fast (docs/scaling.md); several are for machines with
# several processors, and for trying out what will run on several machines.
set -eu

exec torchrun \
    --standalone \
    --nproc-per-node "${PROCESSES:-2}" \
    --max-restarts "${RESTARTS:-3}" \
    -m dragoman train "$@"
