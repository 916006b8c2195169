# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# What must be as without us: plain commands, forked children, stream capture.

# same_as_bare NAME TITLE FILTER COMMAND...: output (through the sed script FILTER) and status as without the preload, and
# nothing written.
same_as_bare() {
  local name=$1 title=$2 filter=$3 state
  shift 3
  state=$(mktemp -d "$work/home.XXXXXX")
  run "$name-bare" XDG_STATE_HOME="$state" "$@"
  run "$name" XDG_STATE_HOME="$state" VRAMGUARD_BUDGET=2GiB LD_PRELOAD="$lib" VRAMGUARD_LOG="$work/$name.log" "$@"
  local file
  for file in "$name-bare" "$name"; do
    cat "$work/$file.out" "$work/$file.err" "$work/$file.rc" | sed -E "$filter" >"$work/$file.all"
  done
  verdict "$(cmp -s "$work/$name-bare.all" "$work/$name.all" && [[ ! -e $work/$name.log && -z $(ls -A "$state") ]] && echo 1 || echo 0)" \
    "$title" 'as without us, no file written' \
    "status $(<"$work/$name.rc"), $(wc -l <"$work/$name.out") lines$([[ -e $work/$name.log ]] && echo ', wrote a log')$(cmp -s "$work/$name-bare.all" "$work/$name.all" || echo ', differs')"
}

check_neighbours() {
  local loaded
  same_as_bare true /bin/true '' /bin/true
  run true-files LD_DEBUG=files LD_PRELOAD="$lib" VRAMGUARD_BUDGET=2GiB /bin/true
  loaded=$(grep -ho 'file=[^ ]*' "$work/true-files.err" | sort -u | sed 's|.*/||; s|file=||' | tr '\n' ' ')
  verdict "$([[ $loaded == *libvramguard.so* && $loaded != *core* && $loaded != *libstdc* ]] && echo 1 || echo 0)" \
    '/bin/true loads' 'libc and libvramguard.so' "$loaded"
  same_as_bare pipe "bash -c 'ls / | head -n 3'" '' bash -c 'ls / | head -n 3'
  if command -v python3 >/dev/null; then same_as_bare python "python3 -c 'print(1)'" '' python3 -c 'print(1)'; else skip python3 'not installed'; fi
  if command -v git >/dev/null && git -C "$root" rev-parse 2>/dev/null; then
    # Under a quiet tree the two agree; a file that changes in between is not our doing.
    same_as_bare git 'git status' '' git -C "$root" status --short --branch --untracked-files=no
  else
    skip 'git status' 'no git repository here'
  fi
  if [[ -z $simulated ]] && command -v nvidia-smi >/dev/null; then
    same_as_bare smi-list 'nvidia-smi -L' '' nvidia-smi -L
    # Clock, power, heat and use change by themselves: the form must not.
    same_as_bare smi nvidia-smi 's/[0-9]+/N/g; s/ +/ /g; s/-+/-/g; s/^.*(Mon|Tue|Wed|Thu|Fri|Sat|Sun) .*$/date/' nvidia-smi
  else
    skip nvidia-smi "$([[ -n $simulated ]] && echo 'needs a card' || echo 'not installed')"
  fi
}

check_fork() {
  guarded fork_child 2GiB "$bin/fork_child"
  was_guarded fork_child || return
  take_rows fork_child
  check_log fork_child start context exit
}

check_capture() {
  local status=0 cases differing
  run capture-bare "$bin/capture" || status=$?
  if ((status)); then
    skip 'memory calls during stream capture' "not here without the guard either: $(tail -n 1 "$work/capture-bare.err")"
    return
  fi
  guarded capture 2GiB "$bin/capture"
  was_guarded capture || return
  cases=$(wc -l <"$work/capture-bare.out")
  differing=$(diff "$work/capture-bare.out" "$work/capture.out" | grep '^[<>]' | head -n 4 | tr '\n' ' ')
  verdict "$(truth test -z "$differing")" 'memory calls during stream capture' \
    'codes as without the guard' \
    "${differing:-$cases of $cases cases equal}"
  verdict "$(truth grep -q '^relaxed, cuMemAlloc of 4 TiB: call 2, work 0, end 0, graph yes$' "$work/capture.out")" \
    'a refusal leaves a relaxed capture whole' 'call 2, work 0, end 0' "$(grep '4 TiB' "$work/capture.out")"
}
