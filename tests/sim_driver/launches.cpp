#include <algorithm>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"

namespace vgsim {
namespace {

struct Shape {
  unsigned int x, y, z;
  bool empty() const { return x == 0 || y == 0 || z == 0; }
  std::uint64_t size() const { return std::uint64_t{x} * y * z; }
};

constexpr unsigned int kMaxThreads = 1024;
constexpr unsigned int kMaxSharedBytes = 232448;

// Checks what the driver would check; the kernel itself does nothing and touches no memory.
CUresult launch(CUfunction function, Shape grid, Shape block, unsigned int shared_bytes, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!handles().kernels.find(function)) return CUDA_ERROR_INVALID_HANDLE;
  if (grid.empty() || block.empty() || block.size() > kMaxThreads || shared_bytes > kMaxSharedBytes)
    return CUDA_ERROR_INVALID_VALUE;
  return capture_work(stream, CU_GRAPH_NODE_TYPE_KERNEL, nullptr).value_or(CUDA_SUCCESS);
}

CUresult launch_config(const CUlaunchConfig* config, CUfunction function, bool per_thread_kind = false) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->sharedMemBytes,
                per_thread_kind ? per_thread(config->hStream) : config->hStream);
}

CUresult get_attribute(int* out, CUfunction_attribute attribute, const void* function) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!handles().kernels.find(function)) return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *out = kMaxThreads;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *out = 32;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *out = 90;
      break;
    default:
      *out = 0;
      break;
  }
  return CUDA_SUCCESS;
}

CUresult known(CUfunction function) {
  return handles().kernels.find(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult get_module(CUmodule* out, CUfunction function) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  const Kernel* kernel = handles().kernels.find(function);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  *out = reinterpret_cast<CUmodule>(kernel->module);
  return CUDA_SUCCESS;
}

CUresult get_name(const char** out, const void* function) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  const Kernel* kernel = handles().kernels.find(function);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  *out = kernel->name.c_str();
  return CUDA_SUCCESS;
}

CUresult is_loaded(CUfunctionLoadingState* out, CUfunction function) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = CU_FUNCTION_LOADING_STATE_LOADED;
  return known(function);
}

CUresult active_blocks(int* out, CUfunction function, int block_size) {
  if (!out || block_size <= 0 || block_size > static_cast<int>(kMaxThreads)) return CUDA_ERROR_INVALID_VALUE;
  *out = std::min(2048 / block_size, 32);
  return known(function);
}

CUresult potential_block_size(int* grid, int* block, CUfunction function) {
  if (!grid || !block) return CUDA_ERROR_INVALID_VALUE;
  *block = kMaxThreads;
  *grid = 2 * 132;
  return known(function);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuLaunchKernel,
          (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
           unsigned int bz, unsigned int shared_bytes, CUstream stream, void**, void**),
          launch(function, {gx, gy, gz}, {bx, by, bz}, shared_bytes, stream))
VGSIM_API(cuLaunchKernel_ptsz,
          (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
           unsigned int bz, unsigned int shared_bytes, CUstream stream, void**, void**),
          launch(function, {gx, gy, gz}, {bx, by, bz}, shared_bytes, per_thread(stream)))
VGSIM_API(cuLaunchCooperativeKernel,
          (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
           unsigned int bz, unsigned int shared_bytes, CUstream stream, void**),
          launch(function, {gx, gy, gz}, {bx, by, bz}, shared_bytes, stream))
VGSIM_API(cuLaunchCooperativeKernel_ptsz,
          (CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
           unsigned int bz, unsigned int shared_bytes, CUstream stream, void**),
          launch(function, {gx, gy, gz}, {bx, by, bz}, shared_bytes, per_thread(stream)))
VGSIM_API(cuLaunchKernelEx, (const CUlaunchConfig* config, CUfunction function, void**, void**),
          launch_config(config, function))
VGSIM_API(cuLaunchKernelEx_ptsz, (const CUlaunchConfig* config, CUfunction function, void**, void**),
          launch_config(config, function, true))

VGSIM_API(cuFuncGetAttribute, (int* out, CUfunction_attribute attribute, CUfunction function),
          get_attribute(out, attribute, function))
VGSIM_API(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute, int), known(function))
VGSIM_API(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache), known(function))
VGSIM_API(cuFuncSetSharedMemConfig, (CUfunction function, CUsharedconfig), known(function))
VGSIM_API(cuFuncGetModule, (CUmodule * out, CUfunction function), get_module(out, function))
VGSIM_API(cuFuncGetName, (const char** out, CUfunction function), get_name(out, function))
VGSIM_API(cuFuncLoad, (CUfunction function), known(function))
VGSIM_API(cuFuncIsLoaded, (CUfunctionLoadingState * out, CUfunction function), is_loaded(out, function))
VGSIM_API(cuKernelGetAttribute, (int* out, CUfunction_attribute attribute, CUkernel kernel, CUdevice),
          get_attribute(out, attribute, kernel))
VGSIM_API(cuKernelGetName, (const char** out, CUkernel kernel), get_name(out, kernel))
VGSIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* out, CUfunction function, int block_size, std::size_t),
          active_blocks(out, function, block_size))
VGSIM_API(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
          (int* out, CUfunction function, int block_size, std::size_t, unsigned int),
          active_blocks(out, function, block_size))
VGSIM_API(cuOccupancyMaxPotentialBlockSize,
          (int* grid, int* block, CUfunction function, CUoccupancyB2DSize, std::size_t, int),
          potential_block_size(grid, block, function))
