# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# Runs programs with and without the guard, and reads what they reported and what the log says.

limit_s=60

# run NAME COMMAND...: NAME.out, NAME.err and NAME.rc in the working folder; the status too.
run() {
  local name=$1 status=0
  shift
  timeout -k 5 "$limit_s" env "${driver_environment[@]}" "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null || status=$?
  echo "$status" >"$work/$name.rc"
  return "$status"
}

# guarded NAME BUDGET COMMAND...: the same under the preload; the log is NAME.log.
guarded() {
  local name=$1 budget=$2
  shift 2
  run "$name" "${base_environment[@]}" VRAMGUARD_BUDGET="$budget" VRAMGUARD_LOG="$work/$name.log" LD_PRELOAD="$lib" "$@"
}

# take_rows NAME: the rows that a program printed, and one of its own if it died.
take_rows() {
  local name=$1 status kind result title expected seen count=0
  status=$(<"$work/$name.rc")
  while IFS=$'\t' read -r kind result title expected seen; do
    [[ $kind == row ]] || continue
    count=$((count + 1))
    row "$result" "$title" "$expected" "$seen"
  done <"$work/$name.out"
  if ((status > 1)) || { ((status == 1 || count == 0)) && ! grep -q $'^row\tFAIL' "$work/$name.out"; }; then
    row FAIL "$name ends well" 'status 0' "status $status: $(tail -n 3 "$work/$name.err" | tr '\n\t' '  ' | cut -c1-160)"
  fi
}

# fact NAME KEY: the value that a program printed as KEY=value; -1 if none, so that comparisons fail.
fact() {
  local value
  value=$(sed -n "s/^$2=//p" "$work/$1.out" | tail -n 1)
  printf '%s' "${value:--1}"
}

log_has() { grep -q " ev=$2 " "$work/$1.log" 2>/dev/null; }

# was_guarded NAME: the program ran under the guard, or the check is worth nothing.
was_guarded() {
  log_has "$1" start && return 0
  row FAIL "$1: the guard was on" 'a start record' "none in its log"
  return 1
}

# check_log NAME EVENT...: these records, one after another by seq, without a gap, by one process.
check_log() {
  local name=$1 event missing='' seen
  shift
  for event in "$@"; do log_has "$name" "$event" || missing+=" $event"; done
  seen=$(awk '{ for (i = 1; i <= NF; ++i) { if ($i ~ /^pid=/) pid = $i; if ($i ~ /^seq=/) seq = substr($i, 5) }
                pids[pid] = 1; if (seq != NR) gap = 1 }
              END { for (p in pids) ++n; printf "%d records, %d process%s, %s", NR, n, n == 1 ? "" : "es",
                    gap ? "seq with a gap" : "seq whole" }' "$work/$name.log" 2>/dev/null)
  [[ $* != *context* ]] || grep -qs ' ev=context .*source=nvml' "$work/$name.log" || missing+=' source=nvml'
  verdict "$([[ -z $missing && $seen == *', 1 process, seq whole' ]] && echo 1 || echo 0)" "$name: log" \
    "$*, no gap" "${seen:-no log}${missing:+; missing:$missing}"
}

bytes_of_gib() { echo $(($1 << 30)); }
