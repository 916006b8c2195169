#!/usr/bin/env bash
# Builds one preset (dev, release, asan, tsan; dev if none is named) into build/<preset>/.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-dev}

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi
log=build/$preset.log
mkdir -p build
echo "build: $preset, into build/$preset (log: $log)"
if ! { cmake --preset "$preset" "${launcher[@]}" && cmake --build --preset "$preset" "${@:2}"; } >"$log" 2>&1; then
  grep -nE 'error|Error|FAILED' "$log" | head -40 >&2
  echo "build: failed; the whole output is in $log" >&2
  exit 1
fi
