# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# What the card has given, held against the budget and the books.

check_books() {
  local gib=16 operations=20000
  ((card_bytes < 24 << 30)) && gib=$((card_bytes * 6 / 10 >> 30))
  ((quick)) && operations=4000
  guarded books "${gib}GiB" "$bin/books" "$(bytes_of_gib "$gib")" "$operations" $((gib * 125))
  was_guarded books && take_rows books
}

check_edges() {
  VRAMGUARD_MANAGED=count guarded edges 2GiB "$bin/edges" "$(bytes_of_gib 2)"
  was_guarded edges && take_rows edges
}

check_paths() {
  VRAMGUARD_MANAGED=count guarded paths 2GiB "$bin/paths" "$(bytes_of_gib 2)"
  was_guarded paths && take_rows paths
}

check_mixed() {
  local threads devices small name operations=100000
  ((quick)) && operations=8000
  while read -r threads devices; do
    for small in 0 1; do
      name=mixed$threads-$devices-$small
      if ((devices > cards)); then
        skip "all families$( ((small)) && echo ', small arrays'), $threads threads, $devices devices" "needs $devices cards"
        continue
      fi
      # So tight that some are refused.
      guarded "$name" "$((560 + threads * 60 / devices))MiB" "$bin/mixed" "$operations" "$threads" "$small" "$devices"
      was_guarded "$name" && take_rows "$name"
    done
  done <<<$'1 1\n8 1\n8 2'
}

check_contexts() {
  guarded contexts 4GiB "$bin/contexts" "$(bytes_of_gib 4)"
  was_guarded contexts && take_rows contexts
}

# Processes that share a budget with room for about a quarter more than their contexts take.
check_groups() {
  local members=16 budget
  ((quick)) && members=6
  budget=$((members * 700 << 20))
  ((budget < card_bytes * 8 / 10)) || { skip "$members processes of a group" "the card is too small"; return; }
  VRAMGUARD_GROUP=gpu-check guarded group "$budget" "$bin/group" "$budget" "$members" $((quick ? 500 : 3000))
  was_guarded group && take_rows group
}

check_race() {
  guarded race 2GiB "$bin/race" "$(bytes_of_gib 2)" $((quick ? 500 : 3000))
  was_guarded race && take_rows race
}
