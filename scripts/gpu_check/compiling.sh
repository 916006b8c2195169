# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# Compiles the programs of tests/gpu on the spot, with what this machine has.

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
  for name in books group edges paths mixed neighbour sentinel_race ways_in race contexts fork_child capture bench; do
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
