#!/bin/sh
# TaskProlog of slurm.conf: runs as the user before each task; what it prints is the task's environment.
# All tasks of a job on a node share one budget for each GPU: what the user asked for by
# `sbatch --export=ALL,VRAMGUARD_BUDGET=8GiB`, else half of the card.
prefix=/opt/vramguard

[ "${VRAMGUARD:-1}" = 0 ] && exit 0
echo "export LD_PRELOAD=$prefix/lib/libvramguard.so${LD_PRELOAD:+:$LD_PRELOAD}"
echo "export VRAMGUARD_BUDGET=${VRAMGUARD_BUDGET:-50%}"
echo "export VRAMGUARD_GROUP=slurm-$SLURM_JOB_ID"
