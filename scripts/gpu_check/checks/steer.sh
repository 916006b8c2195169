# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# A job of several processes under one budget: watched, steered and counted while it runs.

# shown EXPRESSION: of what `vramguard ps --json` says, in Python, as `table`; "" where it fails.
shown() {
  "$build/vramguard" ps --json 2>"$work/ps.err" | python3 -c "import json, sys; table = json.load(sys.stdin); print($1)" 2>>"$work/ps.err"
}
job_processes='[p for p in table["processes"] if p.get("group") == "steer"]'
job_uses="[d for p in $job_processes for d in p[\"devices\"]]"

# What NVML says that all of them take, in MiB.
job_taken_mib() {
  python3 - "$sources" <<PY
import sys
sys.path.insert(0, sys.argv[1])
from report import taken_bytes
print(sum(taken_bytes(int(pid)) or 0 for pid in """$(shown "' '.join(str(p['pid']) for p in $job_processes)")""".split()) >> 20)
PY
}

check_steer() {
  local job seconds=25 refused
  if [[ -n $simulated ]] || ! has_module torch; then
    skip 'several PyTorch processes steered while they run' "$([[ -n $simulated ]] && echo 'the runtime runs on a real driver only' || echo 'PyTorch is not installed')"
    return
  fi
  export VRAMGUARD_STATE_DIR=$work/state
  # shellcheck disable=SC2016  # the job's own variables
  env "${driver_environment[@]}" "${base_environment[@]}" VRAMGUARD_LOG="$work/steer.log" \
    "$build/vramguard" run -b 12GiB --group steer -- bash -c \
    'for seed in 1 2 3; do python3 "$0" "$2" "$seed" >"$1.$seed" 2>&1 & done; wait' \
    "$sources/torch_members.py" "$work/steer.out" "$seconds" >"$work/steer.run" 2>&1 </dev/null &
  job=$!
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    [[ $(cat "$work"/steer.out.* 2>/dev/null | grep -c ready) == 3 ]] && break
    sleep 0.1
  done
  sleep 4
  # They grow and drop half at different times.
  local taken most=0
  for ((tries = 0; tries < 12; ++tries)); do
    taken=$(job_taken_mib)
    ((taken > most)) && most=$taken
    sleep 0.1
  done
  verdict "$(truth test "$most" -gt 8000 -a "$most" -le $((12 << 10)))" 'three PyTorch processes under one budget' \
    'at most 12288 MiB together' "$most MiB by NVML in 12 looks"
  local seen
  seen=$(shown "len($job_processes), sorted({d['budget_bytes'] >> 20 for d in $job_uses})")
  verdict "$(truth test "$seen" = "3 [12288]")" 'ps shows them' '3 processes, 12288 MiB' "${seen:-$(first_line "$work/ps.err")}"
  # On a terminal of its own, for two pictures.
  # shellcheck disable=SC2016  # the inner shell's own
  seen=$(timeout 20 python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]))' \
    bash -c 'stty cols 160 rows 40 && exec "$0" top -d 1 -n 2' "$build/vramguard" </dev/null 2>&1 | grep -c steer)
  verdict "$(truth test "$seen" -gt 0)" 'top shows them' 'the group' "$seen lines with it"
  run steer_set "$build/vramguard" set -g steer --budget 6GiB
  sleep 3
  taken=$(job_taken_mib)
  seen=$(shown "sorted({d['budget_bytes'] >> 20 for d in $job_uses})")
  verdict "$(truth test "$(<"$work/steer_set.rc") $seen" = "0 [6144]" -a "$taken" -le 6144)" 'their budget is lowered while they run' \
    '6144 MiB shown, and taken at most' "$seen shown, $taken MiB by NVML; $(first_line "$work/steer_set.out")"
  if [[ -x $build/vramguard-exporter ]]; then
    run steer_metrics "$build/vramguard-exporter" --once
    seen=$(grep -c '^vramguard_budget_bytes{.*} 6442450944' "$work/steer_metrics.out")
    verdict "$(truth test "$seen" -ge 1)" 'the exporter shows it' 'vramguard_budget_bytes 6442450944' "$seen series; $(first_line "$work/steer_metrics.err")"
  else
    skip 'the exporter shows it' 'vramguard-exporter is not built'
  fi
  VRAMGUARD_LOG=$work/steer.log run steer_log "$build/vramguard" log --ev budget
  wait "$job"
  seen=$(grep -c ' ev=budget .* dev=0 .*new_bytes=6442450944' "$work/steer_log.out")
  verdict "$(truth test "$seen" -eq 3)" 'the log tells of it' 'a budget record of each' "$seen records"
  seen=$(cat "$work"/steer.out.* | grep -c '^finished'), refused=$(sed -n 's/^refused=//p' "$work"/steer.out.* | awk '{ sum += $1 } END { print sum }')
  verdict "$(truth test "$(cat "$work"/steer.out.* | grep -c '^finite=1')" -eq 3)" 'all of them train to the end' \
    '3 finished, finite losses' "$seen finished, $refused OutOfMemoryError survived"
  unset VRAMGUARD_STATE_DIR
}
