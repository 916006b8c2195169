# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# How a program reaches the guard, and what happens where it is switched off or cannot work.

# judge_way NAME TITLE BUDGET_BYTES
judge_way() {
  local name=$1 title=$2 budget=$3 good=0
  if [[ -n $(sed -n 's/^skip=//p' "$work/$name.out") ]]; then
    skip "$title" "$(sed -n 's/^skip=//p' "$work/$name.out")"
    return
  fi
  was_guarded "$name" || return
  (($(fact "$name" code) == 2 && $(fact "$name" again) == 0 && $(fact "$name" taken_bytes) <= budget &&
    $(fact "$name" taken_bytes) > budget - (34 << 20) && $(fact "$name" total_bytes) == budget &&
    $(fact "$name" device_bytes) == budget)) && good=1
  verdict "$good" "$title" 'code 2 at the budget, sized to it, goes on' \
    "code $(fact "$name" code) at $(($(fact "$name" taken_bytes) >> 20)) MiB, total $(($(fact "$name" total_bytes) >> 20)) MiB, then $(fact "$name" again)"
}

check_ways() {
  local budget way name
  budget=$(bytes_of_gib 2)
  for way in dlsym dlvsym default proc1:11030 proc2:11030 proc2:12000 proc2:13000 proc2:12000:2 self:11030 self:12000; do
    name=way-${way//:/-}
    guarded "$name" 2GiB "$bin/ways_in" "$way" $((2 * budget))
    judge_way "$name" "$way" "$budget"
  done
  if [[ -x $bin/ways_linked ]]; then
    guarded way-linked 2GiB "$bin/ways_linked" linked $((2 * budget))
    judge_way way-linked 'linked' "$budget"
  else
    skip linked "no libcuda to link with"
  fi
  if [[ -e $bin/ways_plugin.so ]]; then
    guarded way-plugin 2GiB "$bin/ways_in" "plugin:$bin/ways_plugin.so" $((2 * budget))
    judge_way way-plugin 'RTLD_LOCAL plugin' "$budget"
  else
    skip 'RTLD_LOCAL plugin' 'no libcuda to link with'
  fi
  run way-command "${base_environment[@]}" VRAMGUARD_LOG="$work/way-command.log" "$build/vramguard" run -b 2GiB -- \
    "$bin/ways_in" dlsym $((2 * budget))
  judge_way way-command 'vramguard run -b 2GiB --' "$budget"
  check_log way-dlsym start device context oom_refused oom_returned exit
}

# refused_start NAME TITLE: cuInit failed with 800, twice, and one line said why.
refused_start() {
  local lines
  lines=$(wc -l <"$work/$1.err")
  verdict "$(($(fact "$1" init) == 800 && $(fact "$1" init_again) == 800 && lines == 1))" "$2" \
    'cuInit 800, one line on stderr' "cuInit $(fact "$1" init), $lines lines: $(first_line "$work/$1.err")"
}

# ran_free NAME TITLE: nothing was refused well beyond the budget of 1 GiB.
ran_free() {
  verdict "$(($(fact "$1" code) == 0 && $(fact "$1" held_bytes) >= (3 << 29)))" "$2" 'nothing refused at 1.5 x the budget' \
    "cuInit $(fact "$1" init), code $(fact "$1" code) with $(($(fact "$1" held_bytes) >> 20)) MiB held"
}

check_transparency() {
  local most=$((3 << 29)) alone=$work/alone lines
  run off "${base_environment[@]}" VRAMGUARD=0 VRAMGUARD_BUDGET=1GiB VRAMGUARD_LOG="$work/off.log" LD_PRELOAD="$lib" "$bin/ways_in" dlsym "$most"
  ran_free off 'VRAMGUARD=0'
  local written
  written="$([[ -e $work/off.log ]] && echo 'a log ')$(first_line "$work/off.err")"
  verdict "$([[ -z $written ]] && echo 1 || echo 0)" 'VRAMGUARD=0 writes' 'nothing' "${written:-nothing}"

  guarded wrong 20 "$bin/ways_in" dlsym "$most"
  refused_start wrong 'VRAMGUARD_BUDGET=20'
  VRAMGUARD_ON_ERROR=run guarded wrong-run 20 "$bin/ways_in" dlsym "$most"
  ran_free wrong-run 'VRAMGUARD_BUDGET=20, ON_ERROR=run'

  mkdir -p "$alone"
  cp "$lib" "$alone/"
  run coreless "${base_environment[@]}" VRAMGUARD_BUDGET=1GiB LD_PRELOAD="$alone/libvramguard.so" "$bin/ways_in" dlsym "$most"
  refused_start coreless 'the core is missing'
  run coreless-run "${base_environment[@]}" VRAMGUARD_BUDGET=1GiB VRAMGUARD_ON_ERROR=run LD_PRELOAD="$alone/libvramguard.so" "$bin/ways_in" dlsym "$most"
  ran_free coreless-run 'the core is missing, ON_ERROR=run'
  lines=$(wc -l <"$work/coreless-run.err")
  verdict "$((lines == 1))" 'going on without the core is said' 'one line on stderr' "$lines lines: $(first_line "$work/coreless-run.err")"
}
