#!/usr/bin/env bash
# shellcheck disable=SC2034  # variables are shared with the parts in gpu_check/
# Checks the promises of vramguard on a real driver (or, with --simulated, those that hold on the simulated one too).
# Needs a finished build; configures nothing. Its own programs (tests/gpu) are compiled here with cc and nvcc.
set -uo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
sources=$root/tests/gpu

all_checks=(python nccl oom steer groups books edges paths mixed ways runtime contexts race neighbours fork transparency capture cost)
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
[[ -d $build ]] || die "no build in '$build': run scripts/build.sh, or say --build DIR"
build=$(cd "$build" && pwd)
for file in libvramguard.so libvramguard-core.so vramguard; do
  [[ -e $build/$file ]] || die "$build holds no $file"
done
lib=$build/libvramguard.so
if [[ -n $simulated ]]; then
  [[ -e $simulated/libcuda.so.1 ]] || die "'$simulated' holds no libcuda.so.1"
  simulated=$(cd "$simulated" && pwd)
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
  driver_environment+=("LD_LIBRARY_PATH=$simulated${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "VGSIM_STATE=$work/simulated-cards" VGSIM_DEVICES=2)
fi

for part in rows running compiling checks/{frameworks,oom,steer,memory,ways,bystanders,cost}; do
  # shellcheck source=/dev/null
  source "$root/scripts/gpu_check/$part.sh"
done

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
driver=$(fact info driver) card=$(fact info name) card_bytes=$(fact info total_bytes) cards=$(fact info devices)
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
