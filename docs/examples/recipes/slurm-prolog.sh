#!/bin/sh
# Prolog of slurm.conf: runs as root on each node of a job. The state folder must be seen by the whole node, also where
# each job has a /dev/shm of its own (job_container/tmpfs).
install -d -m 755 /run/vramguard
install -d -m 755 -o "$SLURM_JOB_UID" "/run/vramguard/$SLURM_JOB_UID"
