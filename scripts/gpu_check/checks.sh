# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# The checks: check_NAME for each name in all_checks.

has_module() { python3 -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)" 2>/dev/null; }

# All at once: most of their time is the import.
check_python() {
  local budget=4GiB bytes jobs=() module limit_s=150
  bytes=$(bytes_of_gib 4)
  if [[ -n $simulated ]]; then
    skip 'PyTorch, JAX, CuPy' 'the runtime runs on a real driver only'
    return
  fi
  local have_torch=0 have_jax=0 have_cupy=0
  for module in torch jax cupy; do
    if has_module "$module"; then printf -v "have_$module" 1; else skip "$module" 'not installed'; fi
  done
  if ((have_torch)); then
    guarded torch_limit "$budget" python3 "$sources/torch_limit.py" "$bytes" & jobs+=("$!")
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True guarded torch_expandable "$budget" \
      python3 "$sources/torch_limit.py" "$bytes" 'torch, expandable_segments' & jobs+=("$!")
    PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync guarded torch_async "$budget" \
      python3 "$sources/torch_limit.py" "$bytes" 'torch, cudaMallocAsync' & jobs+=("$!")
    guarded torch_graphs "$budget" python3 "$sources/torch_graphs.py" "$bytes" & jobs+=("$!")
    guarded torch_train "$budget" python3 "$sources/torch_train.py" & jobs+=("$!")
    run torch_bare python3 "$sources/torch_train.py" & jobs+=("$!")
    guarded torch_wrong 20 python3 -c 'import torch; torch.cuda.init()' & jobs+=("$!")
  fi
  if ((have_jax)); then
    guarded jax_default "$budget" python3 "$sources/jax_limit.py" "$bytes" 'jax, preallocating' & jobs+=("$!")
    XLA_PYTHON_CLIENT_PREALLOCATE=false guarded jax_pool "$budget" python3 "$sources/jax_limit.py" "$bytes" 'jax, its pool' & jobs+=("$!")
    XLA_PYTHON_CLIENT_ALLOCATOR=platform guarded jax_platform "$budget" python3 "$sources/jax_limit.py" "$bytes" 'jax, platform' & jobs+=("$!")
    TF_GPU_ALLOCATOR=cuda_malloc_async XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async guarded jax_async "$budget" \
      python3 "$sources/jax_limit.py" "$bytes" 'jax, cuda_async' & jobs+=("$!")
  fi
  if ((have_cupy)); then 
    guarded cupy_limit "$budget" python3 "$sources/cupy_limit.py" "$bytes" & jobs+=("$!")
    guarded cupy_async "$budget" python3 "$sources/cupy_limit.py" "$bytes" async & jobs+=("$!")
  fi
  ((${#jobs[@]})) && wait "${jobs[@]}"

  if ((have_torch)); then
    local name
    for name in torch_limit torch_expandable torch_async torch_graphs; do take_rows "$name"; done
    check_log torch_limit start device context oom_refused oom_returned exit
    local steps
    steps=$(grep -c '^step' "$work/torch_train.out")
    verdict "$([[ $steps == 20 && $(tail -n 1 "$work/torch_train.out") == finished ]] && cmp -s "$work/torch_train.out" "$work/torch_bare.out" && echo 1 || echo 0)" \
      'torch trains with 2 DataLoader workers' 'losses as without the guard' \
      "$steps steps, last $(grep '^step' "$work/torch_train.out" | tail -n 1), without: $(grep '^step' "$work/torch_bare.out" | tail -n 1)"
    check_log torch_train start context exit
    verdict "$([[ $(<"$work/torch_wrong.rc") != 0 ]] && echo 1 || echo 0)" 'torch with a wrong budget' 'an error' \
      "status $(<"$work/torch_wrong.rc"): $(tail -n 1 "$work/torch_wrong.err" | cut -c1-100)"
  fi
  if ((have_jax)); then
    # Both are kept by the pool that XLA sized to the budget.
    take_rows jax_default
    take_rows jax_pool
    check_log jax_pool start context exit
    take_rows jax_platform
    take_rows jax_async
  fi
  if ((have_cupy)); then
    take_rows cupy_limit
    take_rows cupy_async
    check_log cupy_limit start context oom_refused oom_returned exit
  fi
}

check_nccl() {
  local cards=0 limit_s=200
  [[ -z $simulated ]] && cards=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  if ((cards < 2)) || ! has_module torch; then
    skip 'NCCL all-reduce on two cards' "needs two cards and PyTorch; here $cards"
    return
  fi
  guarded nccl 6GiB python3 "$sources/torch_nccl.py" "$(bytes_of_gib 6)"
  was_guarded nccl && take_rows nccl
}

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
  local threads small operations=100000
  ((quick)) && operations=8000
  for threads in 1 8; do
    for small in 0 1; do
      guarded "mixed$threads-$small" "$((560 + threads * 60))MiB" "$bin/mixed" "$operations" "$threads" "$small"
      was_guarded "mixed$threads-$small" && take_rows "mixed$threads-$small"
    done
  done
}

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

check_runtime() {
  local kind
  if ((!have_nvcc)); then
    skip 'programs of the CUDA runtime' "$([[ -n $simulated ]] && echo 'the runtime runs on a real driver only' || echo 'no nvcc here')"
    return
  fi
  wait "${nvcc_jobs[@]}"
  for kind in static shared; do
    if [[ ! -x $bin/runtime_$kind ]]; then
      row FAIL "cudart $kind compiles" '' "$(first_line "$work/nvcc-$kind.err")"
      continue
    fi
    guarded "cudart-$kind" 4GiB "$bin/runtime_$kind" "$(bytes_of_gib 4)"
    was_guarded "cudart-$kind" || continue
    current="cudart $kind"
    take_rows "cudart-$kind"
    check_log "cudart-$kind" start context oom_refused oom_returned exit
    current=runtime
  done
}

check_contexts() {
  guarded contexts 4GiB "$bin/contexts" "$(bytes_of_gib 4)"
  was_guarded contexts && take_rows contexts
}

check_race() {
  guarded race 2GiB "$bin/race" "$(bytes_of_gib 2)" $((quick ? 500 : 3000))
  was_guarded race && take_rows race
}

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
