#!/bin/sh
# Train on two machines: run this on each of them, with the same arguments.
#
#   NODE=0 FIRST=10.0.0.1 ./two_nodes.sh /data/pairs.tsv --languages en,es --out model      on 10.0.0.1
#   NODE=1 FIRST=10.0.0.1 ./two_nodes.sh /data/pairs.tsv --languages en,es --out model      on the other
#
# Both need the same data and the same versions of Python packages. Only the first writes the model. TCP connections
# between the machines must be allowed, on port 29500 and above. If one fails, both end: run the same again to resume.
set -eu

# If a machine has several networks: the interface to use, as `ip -brief address` names it
# export GLOO_SOCKET_IFNAME=eth0

exec torchrun \
    --nnodes 2 \
    --node-rank "${NODE:?the number of this machine: 0 or 1}" \
    --master-addr "${FIRST:?the address of machine 0}" \
    --master-port 29500 \
    --nproc-per-node 1 \
    -m dragoman train "$@"
