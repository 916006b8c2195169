#include <algorithm>

#include "tests/sim_driver/call.h"

namespace vgsim {
namespace {

// Measured: a stack of 8 KiB instead of 1 KiB takes 1,848 MiB, which is 7 KiB for each thread that can be resident.
constexpr std::uint64_t kResidentThreads = 132 * 2048;

std::size_t default_limit(CUlimit limit) {
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      return kDefaultStackBytes;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return 1 * kMiB;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return 8 * kMiB;
    case CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH:
      return 2;
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return 2048;
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return 128;
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return 0;
  }
  return 0;
}

bool is_limit(CUlimit limit) { return limit >= CU_LIMIT_STACK_SIZE && limit <= CU_LIMIT_PERSISTING_L2_CACHE_SIZE; }

CUresult set_stack(Context& context, std::size_t bytes) {
  const std::uint64_t growth = bytes > kDefaultStackBytes ? bytes - kDefaultStackBytes : 0;
  if (growth > kGiB) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t charge = (growth * kResidentThreads + kPageBytes - 1) / kPageBytes * kPageBytes;
  if (charge > context.stack_charge) {
    if (!driver().take(*context.device, charge - context.stack_charge)) return CUDA_ERROR_OUT_OF_MEMORY;
    context.stack_charge = charge;
  }
  context.stack_bytes = bytes;
  return CUDA_SUCCESS;
}

CUresult set_limit(CUlimit limit, std::size_t value) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!is_limit(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (limit == CU_LIMIT_STACK_SIZE) return set_stack(*context, value);
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult get_limit(std::size_t* out, CUlimit limit) {
  Context* context = nullptr;
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!is_limit(limit)) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  const auto set = context->limits.find(limit);
  if (limit == CU_LIMIT_STACK_SIZE)
    *out = context->stack_bytes;
  else
    *out = set != context->limits.end() ? set->second : default_limit(limit);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuCtxSetLimit, (CUlimit limit, std::size_t value), set_limit(limit, value))
VGSIM_API(cuCtxGetLimit, (std::size_t * out, CUlimit limit), get_limit(out, limit))
