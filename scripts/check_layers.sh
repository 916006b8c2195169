#!/usr/bin/env bash
# Each layer may include only those above it: core <- config <- shim; cli and tests may include anything.
set -euo pipefail
cd "$(dirname "$0")/.."
bad=0

forbid() { # LAYER PATTERN REASON
  if grep -rnE "^ *# *include +[<\"]($2)" "$1" --include='*.h' --include='*.cpp' --include='*.c' --include='*.S'; then
    echo "check_layers: error: $1/ must not include this: $3" >&2
    bad=1
  fi
}

forbid core '(config|shim|cli|tests)/' 'core knows nothing of the layers below it'
forbid core '(cuda|nvml|toml\+\+)' 'core knows neither CUDA nor TOML'
forbid config '(shim|cli|tests)/' 'config may include core alone'
forbid config '(cuda|nvml)' 'config knows no CUDA'
forbid shim '(cli|tests)/' 'shim may include core and config'
forbid shim '(cuda\.h|nvml\.h|toml\+\+|spdlog)' 'the shim has its own ABI header, and leaves files and logs to the layers above'
forbid cli '(cuda|nvml)' 'the command talks to files, not to CUDA'
forbid tests/sim_driver '(core|config|shim|cli)/' 'the simulated driver must not share our mistakes'
forbid 'core' 'iostream' '<iostream> costs every process 200 us'
forbid 'config' 'iostream' '<iostream> costs every process 200 us'
forbid 'shim' 'iostream' '<iostream> costs every process 200 us'

exit $bad
