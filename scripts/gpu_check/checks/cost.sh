# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# What the guard costs: told, not judged.

# best NAME KEY: the least value that the turns of NAME printed as KEY=value.
best() {
  local turn
  for turn in 1 2 3 4 5; do fact "$1-$turn" "$2"; echo; done | sort -n | head -n 1
}

check_cost() {
  local rounds=2000 name bare with off
  ((quick)) && rounds=200
  # By turns, and of each the best turn: the card's clocks wander by more than the guard costs.
  local turn
  for turn in 1 2 3 4 5; do
    run "bench-bare-$turn" "$bin/bench" "$rounds"
    guarded "bench-$turn" 16GiB "$bin/bench" "$rounds"
    run "bench-off-$turn" "${base_environment[@]}" VRAMGUARD=0 LD_PRELOAD="$lib" "$bin/bench" "$rounds"
    was_guarded "bench-$turn" || return
  done
  while IFS='=' read -r name bare; do
    bare=$(best bench-bare "$name")
    with=$(best bench "$name")
    off=$(best bench-off "$name")
    row INFO "$name, ns" "bare $bare" \
      "$(awk -v b="$bare" -v w="$with" -v o="$off" 'BEGIN { if (b < 1) b = 1; printf "guarded %d (x %.3f, %+d), VRAMGUARD=0 %d (x %.3f)", w, w / b, w - b, o, o / b }')"
  done <"$work/bench-bare-1.out"
}
