#!/usr/bin/env bash
# Everything about the sources that needs no test run: format, layers, exports, docs against code, shell scripts.
# Usage: check.sh [BUILD_DIR]   (default build/dev; must be built)
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=${1:-build/dev}
passed=0 failed=0

check() { # NAME COMMAND...
  local name=$1 output
  shift
  if output=$("$@" 2>&1); then
    passed=$((passed + 1))
    echo "check: ok      $name"
  else
    failed=$((failed + 1))
    echo "check: FAILED  $name"
    printf '%s\n' "$output" | sed 's/^/  /'
  fi
}

sources() { git ls-files -z --cached --others --exclude-standard -- "$@"; }
format() { sources '*.h' '*.cpp' '*.c' '*.cu' | xargs -0 clang-format --dry-run --Werror; }
shell_scripts() { sources 'scripts/*.sh' 'cmake/*.sh' 'tests/*.sh' .ci/run | xargs -0 shellcheck --severity=style; }
# shellcheck disable=SC2016 # the pattern is for grep
local_traces() { ! git grep -nE '/work/(main|shared|\.library|\.device)|deb\.debian\.org|pypi\.org|pythonhosted' -- . ':!scripts/check.sh'; }

check format format
check layers scripts/check_layers.sh
check "exports and needs of the libraries" scripts/check_exports.sh "$build"
check "docs/driver_coverage.md" python3 scripts/driver_coverage.py --check --library "$build/libvramguard.so"
check "shell scripts" shell_scripts
check "no trace of one machine" local_traces

echo "check: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
