# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# When memory runs out: hooks, policies and the sentinel rescue a training, or let it end well.

# with_neighbour MODE ARGUMENTS...: starts one, waits until it has the card, and leaves its process in $neighbour.
with_neighbour() {
  env "${driver_environment[@]}" "$bin/neighbour" "$@" >"$work/neighbour.out" 2>"$work/neighbour.err" </dev/null &
  neighbour=$!
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    grep -q ready "$work/neighbour.out" && return 0
    sleep 0.1
  done
  row FAIL 'a neighbour fills the card' 'ready' "$(first_line "$work/neighbour.err")"
  return 1
}
end_neighbour() {
  kill "$neighbour" 2>/dev/null
  wait "$neighbour" 2>/dev/null
}

# Five seconds after NAME was told that there is no memory.
end_neighbour_after_refusal() {
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    log_has "$1" oom_refused && break
    sleep 0.2
  done
  sleep 5
  kill "$neighbour" 2>/dev/null
}

# ended NAME STATUS LAST: the program ended with that status, and its last words were these.
ended() { [[ $(<"$work/$1.rc") == "$2" ]] && grep -q "^$3" "$work/$1.out"; }
recovered_by() { grep -q " ev=oom_recovered .* by=$2 " "$work/$1.log" 2>/dev/null; }
last_words() { printf 'status %s: %s' "$(<"$work/$1.rc")" "$(tail -n 1 "$work/$1.out" | cut -c1-60)"; }
same_losses() { cmp -s <(grep '^step' "$work/$1.out") <(grep '^step' "$work/oom_bare.out"); }

# rescued NAME BY TITLE: it trained to the end, with the losses of a run without us, and by that means.
rescued() {
  verdict "$(truth eval "ended $1 0 finished && recovered_by $1 $2 && same_losses $1")" "$3" \
    "trains to the end, recovered by $2" \
    "$(last_words "$1"), $(grep -c ' ev=oom_recovered ' "$work/$1.log") recovered, $(grep ' ev=oom_recovered ' "$work/$1.log" | sed 's/.* wait_ms=\([0-9]*\).*/\1/' | sort -n | tail -n 1) ms at most"
}

check_oom() {
  local neighbour='' train=(python3 "$sources/torch_oom.py") limit_s=120 name
  if [[ -n $simulated ]] || ! has_module torch; then
    skip 'PyTorch rescued when memory runs out' "$([[ -n $simulated ]] && echo 'the runtime runs on a real driver only' || echo 'PyTorch is not installed')"
  else
    run oom_bare "${train[@]}"
    # Two rescues by what is done to a neighbour that leaves the card too little.
    if with_neighbour fill "$(bytes_of_gib 4)" 120; then
      printf 'schema = 1\n[[hook]]\nname = "ask-neighbour"\non = "oom"\nshell = "kill %d && sleep 0.5"\n' "$neighbour" >"$work/hook.toml"
      VRAMGUARD_CONFIG=$work/hook.toml guarded_as oom_hook 10GiB "${train[@]}"
      rescued oom_hook hook 'an oom hook stops a neighbour'
      end_neighbour
    fi
    if with_neighbour fill "$(bytes_of_gib 4)" 120; then
      end_neighbour_after_refusal oom_wait &
      VRAMGUARD_POLICY=wait-and-retry guarded oom_wait 10GiB "${train[@]}"
      rescued oom_wait wait 'wait-and-retry until a neighbour ends after 5 s'
      end_neighbour
    fi
    check_sentinel_of_torch
    check_checkpoints
    check_spill
  fi
  check_greedy_neighbour
}

# As guarded(), with the caller's VRAMGUARD_CONFIG.
guarded_as() {
  local base_environment=("VRAMGUARD_CONFIG=$VRAMGUARD_CONFIG" VRAMGUARD_STATE_DIR="$work/state")
  guarded "$@"
}

check_sentinel_of_torch() {
  # All but a part of the sentinel is needed beside the context and the code.
  local need
  need=$(fact oom_bare reserved_mib)
  VRAMGUARD_SENTINEL=1GiB guarded oom_sentinel "$((need + 1200))MiB" "${train[@]}"
  rescued oom_sentinel sentinel 'an emergency sentinel serves the request'
}

check_checkpoints() {
  local file=$work/checkpoint.pt
  VRAMGUARD_POLICY=checkpoint-and-fail guarded oom_callback 4GiB \
    python3 "$root/docs/examples/train_with_checkpoint.py" --out "$file" --steps 2000 --grow 2
  verdict "$(truth eval "ended oom_callback 3 saved && [[ -s $file ]]")" 'checkpoint-and-fail by the C API' \
    'saved, then its OutOfMemoryError' "status $(<"$work/oom_callback.rc"): $(tail -n 2 "$work/oom_callback.out" | tr '\n' ' ' | cut -c1-100)"
  run oom_resume python3 "$root/docs/examples/train_with_checkpoint.py" --resume "$file" --out "$file" --steps 1
  verdict "$(truth eval "ended oom_resume 0 resumed")" 'the checkpoint can be resumed' 'resumed' "$(last_words oom_resume)"

  printf 'schema = 1\n[oom]\ncheckpoint = "signal:SIGUSR1"\n' >"$work/signal.toml"
  VRAMGUARD_CONFIG=$work/signal.toml VRAMGUARD_POLICY=checkpoint-and-fail guarded_as oom_signal 4GiB \
    "${train[@]}" --save-on-signal "$work/by-signal.pt"
  verdict "$(truth eval "ended oom_signal 3 OutOfMemoryError && [[ -s $work/by-signal.pt ]]")" 'checkpoint-and-fail by SIGUSR1' \
    'its OutOfMemoryError, then saved' "$(last_words oom_signal), $([[ -s $work/by-signal.pt ]] && echo saved || echo 'not saved')"
}

check_spill() {
  VRAMGUARD_POLICY=spill guarded oom_spill 3GiB "${train[@]}"
  local taken
  taken=$(fact oom_spill taken_bytes)
  verdict "$(truth eval "ended oom_spill 0 finished && recovered_by oom_spill spill && ((taken <= 3 << 30))")" \
    'spill: a model that does not fit trains' 'to the end, device bytes within the budget' \
    "$(last_words oom_spill), $((taken >> 20)) of 3072 MiB, losses $(same_losses oom_spill && echo as without us || echo differ)"
}

check_greedy_neighbour() {
  local seconds=60 budget=4GiB
  ((quick)) || [[ -n $simulated ]] && seconds=3
  local race_s=$seconds limit_s=120
  # The program first, so that its budget is there to be held.
  VRAMGUARD_SENTINEL=all guarded sentinel_race "$budget" "$bin/sentinel_race" "$(bytes_of_gib 4)" "$race_s" &
  local program=$!
  sleep 2
  with_neighbour greedy "$seconds" || return
  wait "$program"
  end_neighbour
  was_guarded sentinel_race && take_rows sentinel_race
  row INFO 'sentinel "all": requests' '' "$(fact sentinel_race asked) asked, $(fact sentinel_race lost) lost, the first after $(fact sentinel_race before_loss), $(exit_field sentinel_race sentinel_outrun) at first lost what the sentinel gave up for them"
}

exit_field() { sed -n "s/.* ev=exit .* $2=\([0-9]*\).*/\1/p" "$work/$1.log" | tail -n 1; }
