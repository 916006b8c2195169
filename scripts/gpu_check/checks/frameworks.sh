# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034  # variables are shared with gpu_check.sh, which sources this
# What people run: PyTorch, JAX, CuPy, NCCL, and programs of the CUDA runtime.

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
  local limit_s=200 missing=''
  if ! has_module torch; then missing='PyTorch is not installed'; fi
  if ((cards < 2)); then missing='needs two cards'; fi
  if [[ -n $simulated ]]; then missing='the runtime runs on a real driver only'; fi
  if [[ -n $missing ]]; then
    skip 'NCCL all-reduce on two cards' "$missing"
    return
  fi
  guarded nccl 6GiB python3 "$sources/torch_nccl.py" "$(bytes_of_gib 6)"
  was_guarded nccl && take_rows nccl
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
