#!/usr/bin/env bash
# Tests everything that this machine can test, and says aloud what it skips and why.
#   test.sh          what CI runs
#   test.sh --full   also the whole suite under the address and thread sanitizers
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
full=0
case ${1:-} in
  --full) full=1 ;;
  '') ;;
  *)
    echo "usage: test.sh [--full]" >&2
    exit 2
    ;;
esac
passed=0 failed=0 skipped=0

# Runs ctest in a build folder and adds its results up.
run_ctest() { # BUILD_DIR CTEST_ARGUMENT...
  local log=$1/ctest.log
  (cd "$1" && ctest --output-on-failure --no-tests=error "${@:2}") 2>&1 | tee "$log"
  local ended=${PIPESTATUS[0]}
  local ok bad skip
  ok=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*   Passed' "$log")
  skip=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$log")
  bad=$(grep -cE '^ *[0-9]+/[0-9]+ Test .*\*\*\*' "$log")
  bad=$((bad - skip))
  [ "$ended" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

build() { # PRESET [BUILD_ARGUMENT...]
  if scripts/build.sh "$@"; then return 0; fi
  failed=$((failed + 1))
  return 1
}

scripts/setup.sh || exit 1

if build dev; then
  run_ctest build/dev
  if scripts/check.sh build/dev; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
fi

if [ "$full" -eq 1 ]; then
  for preset in asan tsan; do
    build "$preset" && run_ctest "build/$preset"
  done
fi

command -v nvidia-smi >/dev/null || echo "skipped: everything on a real GPU (scripts/gpu_check.sh), as there is none here"
command -v nvcc >/dev/null || echo "skipped: what needs a CUDA toolkit, as there is none here"
[ "$full" -eq 1 ] || echo "skipped: the suite under the address and thread sanitizers, for time (test.sh --full)"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
