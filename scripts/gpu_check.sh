#!/usr/bin/env bash
# Checks the promises of vramguard on a real driver (or, with --simulated, those that hold on the simulated one too).
# Needs a finished build; configures nothing. Its own programs (tests/gpu) are compiled here with cc and nvcc.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sources=$root/tests/gpu

all_checks=(python books edges ways runtime contexts race neighbours fork transparency capture cost)
build='' simulated='' commit='' results='' allow_no_gpu=0 quick=0 keep=0
only=()

usage() {
  cat <<TEXT
usage: scripts/gpu_check.sh [--build DIR] [--only CHECK]... [--quick] [--simulated DIR] [--allow-no-gpu]
                            [--commit HASH] [--results DIR] [--keep]

  --build DIR      where libvramguard.so, libvramguard-core.so and vramguard are (default: build/dev, then build/release)
  --only CHECK     this check alone; again for more: ${all_checks[*]}
  --quick          fewer rounds
  --simulated DIR  on the simulated driver in DIR (build/<preset>/sim); what needs a card is skipped aloud
  --allow-no-gpu   without a card: say so and exit 77 instead of failing
  --commit HASH    written to the result file (default: what git says)
  --results DIR    where <driver version>.txt goes (default: tests/gpu/results; none for --only and --simulated)
  --keep           keep the working folder with every output and log

Exit status: 0 all passed, 1 something failed, 2 cannot start, 77 no card and --allow-no-gpu.
TEXT
}

die() {
  printf 'gpu_check: %s\n' "$*" >&2
  exit 2
}

while (($#)); do
  case $1 in
    --build | --only | --simulated | --commit | --results)
      (($# > 1)) || die "$1 needs a value"
      case $1 in
        --build) build=$2 ;;
        --only) only+=("$2") ;;
        --simulated) simulated=$2 ;;
        --commit) commit=$2 ;;
        --results) results=$2 ;;
      esac
      shift
      ;;
    --quick) quick=1 ;;
    --allow-no-gpu) allow_no_gpu=1 ;;
    --keep) keep=1 ;;
    -h | --help) usage && exit 0 ;;
    *) usage >&2 && exit 2 ;;
  esac
  shift
done
for name in "${only[@]}"; do
  [[ " ${all_checks[*]} " == *" $name "* ]] || die "no check is called '$name' (there are: ${all_checks[*]})"
done

if [[ -z $build ]]; then
  for build in "$root/build/dev" "$root/build/release"; do
    [[ -e $build/libvramguard.so ]] && break
  done
fi
build=$(cd "$build" 2>/dev/null && pwd) || die "no build in '$build': run scripts/build.sh, or say --build DIR"
for file in libvramguard.so libvramguard-core.so vramguard; do
  [[ -e $build/$file ]] || die "$build holds no $file"
done
lib=$build/libvramguard.so
if [[ -n $simulated ]]; then
  simulated=$(cd "$simulated" 2>/dev/null && pwd) || die "no folder '$simulated'"
  [[ -e $simulated/libcuda.so.1 ]] || die "$simulated holds no libcuda.so.1"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/vramguard-gpu-check.XXXXXX")
rows=$work/rows
bin=$work/bin
mkdir -p "$bin" "$work/state"
: >"$rows"
# shellcheck disable=SC2329  # called by the trap
clean_up() {
  local job
  for job in $(jobs -p); do kill "$job" 2>/dev/null; done
  if ((keep)); then printf 'kept: %s\n' "$work"; else rm -rf "$work"; fi
}
trap clean_up EXIT

# Nobody's own settings may change what is checked.
while IFS= read -r name; do unset "$name"; done < <(compgen -e VRAMGUARD)
printf 'schema = 1\n' >"$work/config.toml"
base_environment=(VRAMGUARD_CONFIG="$work/config.toml" VRAMGUARD_STATE_DIR="$work/state")
# The order of NVML, which tells the truth here, for CUDA too.
driver_environment=(CUDA_DEVICE_ORDER=PCI_BUS_ID CUBLAS_WORKSPACE_CONFIG=:4096:8 PYTHONDONTWRITEBYTECODE=1)
if [[ -n $simulated ]]; then
  driver_environment+=("LD_LIBRARY_PATH=$simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "VGSIM_STATE=$work/simulated-card")
fi

#---------------------------------------------------------------------------------------------------------------- rows

current=''

print_row() { printf '%-4s  %-13s %-52s %-44s %s\n' "$@"; }

# row STATUS NAME EXPECTED SEEN
row() {
  printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$current" "$2" "$3" "$4" >>"$rows"
  print_row "$1" "$current" "$2" "$3" "$4"
}
# truth COMMAND...: 1 if it succeeds, else 0.
truth() { if "$@"; then echo 1; else echo 0; fi; }
verdict() { # verdict TRUTH NAME EXPECTED SEEN; TRUTH: 1 or 0
  if (($1)); then row PASS "$2" "$3" "$4"; else row FAIL "$2" "$3" "$4"; fi
}
skip() { row SKIP "$1" '' "$2"; }

first_line() { tr '\n\t' '  ' <"$1" | cut -c1-160; }

#------------------------------------------------------------------------------------------------------------- running

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

#---------------------------------------------------------------------------------------------------------- compiling

compiler='' have_nvcc=0 link_flags=()

find_driver_to_link() {
  local folder
  for folder in "$simulated" "$(ldconfig -p 2>/dev/null | sed -n 's|.* => \(/.*\)/libcuda\.so\.1$|\1|p' | head -n 1)" \
    /usr/local/nvidia/lib64 /usr/local/nvidia/lib; do
    if [[ -n $folder && -e $folder/libcuda.so.1 ]]; then
      link_flags=("-L$folder" -l:libcuda.so.1 -Xlinker --allow-shlib-undefined)
      return
    fi
  done
  for folder in "${CUDA_HOME:-/usr/local/cuda}/lib64/stubs" /usr/local/cuda/lib64/stubs; do
    [[ -e $folder/libcuda.so ]] && link_flags=("-L$folder" -lcuda) && return
  done
}

compile() { # compile OUTPUT SOURCE FLAGS...
  local output=$1 source=$2
  shift 2
  "$compiler" -std=gnu11 -O2 -Wall -o "$bin/$output" "$sources/$source" "$@" -ldl -lpthread 2>"$work/compile-$output.err"
}

find_compiler() {
  compiler=$(command -v "${CC:-cc}" || command -v gcc || command -v clang) || die 'no C compiler'
}

compile_all() {
  local name failed=''
  for name in books edges ways_in race contexts fork_child capture bench; do
    compile "$name" "$name.c" || failed+=" $name"
  done
  [[ -z $failed ]] || die "does not compile:$failed; $(head -n 3 "$work/compile-${failed##* }.err")"
  find_driver_to_link
  if ((${#link_flags[@]})); then
    compile ways_linked ways_in.c -DWAYS_LINKED "${link_flags[@]}" || rm -f "$bin/ways_linked"
    compile ways_plugin.so ways_in.c -DWAYS_LINKED -DWAYS_PLUGIN -shared -fPIC "${link_flags[@]}" || rm -f "$bin/ways_plugin.so"
  fi
  local cuda_bin=${CUDA_HOME:-/usr/local/cuda}/bin
  [[ -n $simulated ]] && return
  command -v nvcc >/dev/null || { [[ -x $cuda_bin/nvcc ]] && PATH=$PATH:$cuda_bin; }
  if command -v nvcc >/dev/null; then
    have_nvcc=1
    # In the background: the neighbours below need none of it.
    nvcc -O2 -cudart static -o "$bin/runtime_static" "$sources/runtime.cu" >"$work/nvcc-static.err" 2>&1 &
    nvcc_jobs=("$!")
    nvcc -O2 -cudart shared -Xlinker -rpath="$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")/lib64" \
      -o "$bin/runtime_shared" "$sources/runtime.cu" >"$work/nvcc-shared.err" 2>&1 &
    nvcc_jobs+=("$!")
  fi
}
nvcc_jobs=()

#-------------------------------------------------------------------------------------------------------------- checks

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
    guarded torch_train "$budget" python3 "$sources/torch_train.py" & jobs+=("$!")
    run torch_bare python3 "$sources/torch_train.py" & jobs+=("$!")
    guarded torch_wrong 20 python3 -c 'import torch; torch.cuda.init()' & jobs+=("$!")
  fi
  if ((have_jax)); then
    guarded jax_default "$budget" python3 "$sources/jax_limit.py" "$bytes" 'jax, preallocating' & jobs+=("$!")
    XLA_PYTHON_CLIENT_PREALLOCATE=false guarded jax_pool "$budget" python3 "$sources/jax_limit.py" "$bytes" 'jax, its pool' & jobs+=("$!")
  fi
  if ((have_cupy)); then guarded cupy_limit "$budget" python3 "$sources/cupy_limit.py" "$bytes" & jobs+=("$!"); fi
  ((${#jobs[@]})) && wait "${jobs[@]}"

  if ((have_torch)); then
    take_rows torch_limit
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
    skip 'jax, XLA_PYTHON_CLIENT_ALLOCATOR=platform' 'takes memory by calls that are not wrapped yet (docs/driver_coverage.md)'
  fi
  if ((have_cupy)); then
    take_rows cupy_limit
    check_log cupy_limit start context oom_refused oom_returned exit
  fi
}

check_books() {
  local gib=16 operations=20000
  ((card_bytes < 24 << 30)) && gib=$((card_bytes * 6 / 10 >> 30))
  ((quick)) && operations=4000
  guarded books "${gib}GiB" "$bin/books" "$(bytes_of_gib "$gib")" "$operations" $((gib * 125))
  was_guarded books && take_rows books
}

check_edges() {
  guarded edges 2GiB "$bin/edges" "$(bytes_of_gib 2)"
  was_guarded edges && take_rows edges
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

check_cost() {
  local rounds=2000 name bare with off
  ((quick)) && rounds=200
  run bench-bare "$bin/bench" "$rounds"
  guarded bench 16GiB "$bin/bench" "$rounds"
  run bench-off "${base_environment[@]}" VRAMGUARD=0 LD_PRELOAD="$lib" "$bin/bench" "$rounds"
  was_guarded bench || return
  while IFS='=' read -r name bare; do
    with=$(fact bench "$name")
    off=$(fact bench-off "$name")
    row INFO "$name, ns" "bare $bare" \
      "$(awk -v b="$bare" -v w="$with" -v o="$off" 'BEGIN { if (b < 1) b = 1; printf "guarded %d (x %.3f, %+d), VRAMGUARD=0 %d (x %.3f)", w, w / b, w - b, o, o / b }')"
  done <"$work/bench-bare.out"
}

#----------------------------------------------------------------------------------------------------------------- run

find_compiler
compile info info.c || die "does not compile: info; $(head -n 3 "$work/compile-info.err")"
if ! run info "$bin/info"; then
  message="no usable CUDA driver or card: $(first_line "$work/info.err")"
  if ((allow_no_gpu)); then
    printf 'gpu_check: SKIPPED: %s\n' "$message"
    exit 77
  fi
  printf 'gpu_check: FAILED: %s\n' "$message" >&2
  exit 1
fi
driver=$(fact info driver) card=$(fact info name) card_bytes=$(fact info total_bytes)
compile_all
[[ -n $commit ]] || commit=$(git -C "$root" rev-parse HEAD 2>/dev/null) || commit=unknown
if [[ $commit != unknown && -n $(git -C "$root" status --porcelain --untracked-files=no 2>/dev/null) ]]; then
  commit+=' (with local changes)'
fi

headline() {
  local where='the real driver'
  [[ -n $simulated ]] && where='the SIMULATED driver'
  printf 'vramguard on %s %s: %s, %s MiB\n' "$where" "$driver" "$card" $((card_bytes >> 20))
  printf 'commit %s, %s\n\n' "$commit" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
}
head_text=$(headline)
printf '%s\n\n' "$head_text"
# A card is lent by the minute: where the guard does not even start, nothing below is worth running.
current=start
guarded start 2GiB "$bin/ways_in" dlsym $((1 << 30))
if ! was_guarded start; then
  printf 'gpu_check: FAILED: the guard does not start: %s %s\n' "$(tr '\n' ' ' <"$work/start.out")" "$(first_line "$work/start.err")" >&2
  exit 1
fi
for check in "${all_checks[@]}"; do
  if ((${#only[@]})) && [[ " ${only[*]} " != *" $check "* ]]; then continue; fi
  current=$check
  "check_$check"
done

count() { grep -c "^$1" "$rows"; }
total_line=$(printf '%d passed, %d failed, %d skipped, in %d s' "$(count PASS)" "$(count FAIL)" "$(count SKIP)" "$SECONDS")
table() {
  printf '%s\n\n' "$head_text"
  local status check name expected seen
  while IFS=$'\t' read -r status check name expected seen; do
    print_row "$status" "$check" "$name" "$expected" "$seen" | sed 's/ *$//'
  done <"$rows"
  printf '\n%s\n' "$total_line"
}

if [[ -z $results ]] && [[ -z $simulated ]] && ((${#only[@]} == 0)); then results=$sources/results; fi
printf '\n'
grep '^FAIL' "$rows" | tr '\t' '|' | sed 's/|/ | /g'
if [[ -n $results ]]; then
  mkdir -p "$results" && table >"$results/$driver.txt" && printf 'written: %s\n' "$results/$driver.txt"
fi
printf '%s\n' "$total_line"
(($(count FAIL) == 0 && $(count PASS) > 0))
