#!/usr/bin/env bash
# Installs vramguard::guard into an empty folder, builds docs/examples/memory_guard against it and nothing else of ours,
# and runs it on the simulated driver.
# Usage: memory_guard_example_test.sh SOURCE_DIR BUILD_DIR COMPILER FLAGS
set -euo pipefail
source=$1 build=$2 compiler=$3 flags=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$source/docs/examples/memory_guard" "$work/example"
cmake --install "$build" --prefix "$work/prefix" --component guard >"$work/log"
cmake -G Ninja -S "$work/example" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_BUILD_TYPE=Release >>"$work/log" || { cat "$work/log"; exit 1; }
cmake --build "$work/build" >>"$work/log" || { cat "$work/log"; exit 1; }
program=$work/build/memory_guard_example
if grep -rnE '"(core|shim|config)/' "$work/prefix/include"; then
  echo "an installed header names a folder of the sources" >&2
  exit 1
fi
if readelf -d "$program" | grep -E 'NEEDED.*(fmt|spdlog|toml|cuda)'; then
  echo "the program needs more than it should" >&2
  exit 1
fi

LD_LIBRARY_PATH=$build/sim VGSIM_STATE=$work/state VGSIM_MEMORY=8GiB "$program" >"$work/out"
diff - <(sed 's/(GPU-[^)]*)/(...)/; s/^cuda:0 .*,/cuda:0 NAME,/' "$work/out") <<'END'
cuda:0 NAME, 8GiB (...)
pressure: none -> low
cache: 1.5GiB of 2GiB used, pressure low
hook: 772MiB are missing
pressure: low -> none
activations: 1GiB of 2GiB used, pressure none
checkpoint before 3GiB are refused
refused: 3GiB do not fit into the budget: 1GiB of 2GiB are used and 256MiB reserved, 2.25GiB are missing; free something, register a hook that does, or raise the budget (set_budget)
at the end: 4MiB of 2GiB used, pressure none
1 request was saved
END

# Under the preload the same program works on the guard of the process, whose budget has the context in it;
# it publishes pressure in its own time.
[ -z "$flags" ] || exit 0 # a host that is not instrumented cannot load an instrumented core
LD_LIBRARY_PATH=$build/sim VGSIM_STATE=$work/state VGSIM_MEMORY=8GiB HOME=$work VRAMGUARD_LOG=$work/pressure.log \
  VRAMGUARD_STATE_DIR=$work/run VRAMGUARD_BUDGET=4GiB LD_PRELOAD=$build/libvramguard.so "$program" >"$work/out" 2>"$work/err"
diff - <(sed 's/(GPU-[^)]*)/(...)/; s/^cuda:0 .*,/cuda:0 NAME,/; /^pressure: /d; s/, pressure .*//' "$work/out") <<'END'
cuda:0 NAME, 4GiB (...)
hook: 8MiB are missing
cache: 1GiB of 2GiB used
hook: 268MiB are missing
activations: 1.51GiB of 2GiB used
refused: 3GiB do not fit into the budget: 1.51GiB of 2GiB are used and 256MiB reserved, 2.76GiB are missing; free something, register a hook that does, or raise the budget (set_budget)
at the end: 524MiB of 2GiB used
2 request was saved
END
grep -q 'ev=hook_end .*hook=cache .*outcome=ok' "$work/pressure.log"
