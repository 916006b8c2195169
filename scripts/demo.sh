#!/usr/bin/env bash
# Builds vramguard and shows a 2 GiB budget being kept, and a hook that rescues an allocation: on the real GPU where
# there is one, else on a simulated one.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh
scripts/build.sh dev --target vramguard vramguard_preload vramguard_shim sim_cuda sim_nvml simctl
build=$PWD/build/dev
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for program in fill_the_card keep_a_cache; do
  cc -O1 -Wall -o "$folder/$program" "scripts/demo/$program.c" -ldl -lpthread
done

if nvidia-smi -L >/dev/null 2>&1; then
  echo "demo: on the real GPU: $(nvidia-smi --query-gpu=name,memory.total --format=csv,noheader | head -n 1)"
else
  echo "demo: no GPU here, so on a simulated one of 8 GiB (build/dev/sim/libcuda.so.1)"
  export LD_LIBRARY_PATH=$build/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} VGSIM_MEMORY=8GiB VGSIM_STATE=$folder/gpu
fi

echo
echo "\$ ./fill_the_card                            # an unmodified CUDA program, a budget of 2 GiB"
VRAMGUARD_LOG=$folder/pressure.log "$build/vramguard" run -b 2GiB -- "$folder/fill_the_card"
echo
echo "\$ cat pressure.log                           # what tail -F would have shown while it ran"
cat "$folder/pressure.log"

echo
echo "\$ vramguard run -b 2GiB --on-oom 'kill -USR1 \$VRAMGUARD_HOOK_PID; exit 75' -- ./keep_a_cache"
# shellcheck disable=SC2016  # the hook's own variable; 75: it is being freed, wait for it
VRAMGUARD_LOG=$folder/rescue.log "$build/vramguard" run -b 2GiB \
  --on-oom 'kill -USR1 $VRAMGUARD_HOOK_PID; exit 75' -- "$folder/keep_a_cache"
echo
echo "\$ grep -E 'oom_|hook_' pressure.log"
grep -E ' ev=(oom|hook)_' "$folder/rescue.log"
