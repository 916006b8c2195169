#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_data.h"

namespace vgsim {
namespace {

// Copies now, or when the graph is launched that the stream captures.
template <class Work>
CUresult copy_in_order(CUstream stream, Work work) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (const auto captured = capture_work(stream, CU_GRAPH_NODE_TYPE_MEMCPY, work)) return *captured;
  return work();
}

CUresult host_to_device_now(CUdeviceptr to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  DataRange source{}, target{};
  if (const CUresult result = host_range(from, source); result != CUDA_SUCCESS) return result;
  if (const CUresult result = device_range(to, bytes, Access::Write, target); result != CUDA_SUCCESS) return result;
  copy_data(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult host_to_device(CUdeviceptr to, const void* from, std::uint64_t bytes, CUstream stream = nullptr) {
  return copy_in_order(stream, [=] { return host_to_device_now(to, from, bytes); });
}

CUresult device_to_host_now(void* to, CUdeviceptr from, std::uint64_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  DataRange source{}, target{};
  if (const CUresult result = host_range(to, target); result != CUDA_SUCCESS) return result;
  if (const CUresult result = device_range(from, bytes, Access::Read, source); result != CUDA_SUCCESS) return result;
  copy_data(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult device_to_host(void* to, CUdeviceptr from, std::uint64_t bytes, CUstream stream = nullptr) {
  return copy_in_order(stream, [=] { return device_to_host_now(to, from, bytes); });
}

CUresult device_to_device_now(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  DataRange source{}, target{};
  if (const CUresult result = device_range(from, bytes, Access::Read, source); result != CUDA_SUCCESS) return result;
  if (const CUresult result = device_range(to, bytes, Access::Write, target); result != CUDA_SUCCESS) return result;
  copy_data(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult device_to_device(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes, CUstream stream = nullptr) {
  return copy_in_order(stream, [=] { return device_to_device_now(to, from, bytes); });
}

CUresult unified_now(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes) {
  if (bytes == 0) return CUDA_SUCCESS;
  DataRange source{}, target{};
  if (const CUresult result = any_range(from, bytes, Access::Read, source); result != CUDA_SUCCESS) return result;
  if (const CUresult result = any_range(to, bytes, Access::Write, target); result != CUDA_SUCCESS) return result;
  copy_data(target, source, bytes);
  return CUDA_SUCCESS;
}

CUresult unified(CUdeviceptr to, CUdeviceptr from, std::uint64_t bytes, CUstream stream = nullptr) {
  return copy_in_order(stream, [=] { return unified_now(to, from, bytes); });
}

CUresult peer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, std::uint64_t bytes,
              CUstream stream = nullptr) {
  if (!find_context(to_context) || !find_context(from_context)) return CUDA_ERROR_INVALID_CONTEXT;
  return device_to_device(to, from, bytes, stream);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), unified(to, from, bytes))
VGSIM_API(cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), unified(to, from, bytes))
VGSIM_API(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
          unified(to, from, bytes, stream))
VGSIM_API(cuMemcpyAsync_ptsz, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
          unified(to, from, bytes, per_thread(stream)))

VGSIM_API(cuMemcpyHtoD, (CUdeviceptr_v1 to, const void* from, unsigned int bytes), host_to_device(to, from, bytes))
VGSIM_API(cuMemcpyHtoD_v2, (CUdeviceptr to, const void* from, std::size_t bytes), host_to_device(to, from, bytes))
VGSIM_API(cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void* from, std::size_t bytes), host_to_device(to, from, bytes))
VGSIM_API(cuMemcpyHtoDAsync, (CUdeviceptr_v1 to, const void* from, unsigned int bytes, CUstream stream),
          host_to_device(to, from, bytes, stream))
VGSIM_API(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream),
          host_to_device(to, from, bytes, stream))
VGSIM_API(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream),
          host_to_device(to, from, bytes, per_thread(stream)))

VGSIM_API(cuMemcpyDtoH, (void* to, CUdeviceptr_v1 from, unsigned int bytes), device_to_host(to, from, bytes))
VGSIM_API(cuMemcpyDtoH_v2, (void* to, CUdeviceptr from, std::size_t bytes), device_to_host(to, from, bytes))
VGSIM_API(cuMemcpyDtoH_v2_ptds, (void* to, CUdeviceptr from, std::size_t bytes), device_to_host(to, from, bytes))
VGSIM_API(cuMemcpyDtoHAsync, (void* to, CUdeviceptr_v1 from, unsigned int bytes, CUstream stream),
          device_to_host(to, from, bytes, stream))
VGSIM_API(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream),
          device_to_host(to, from, bytes, stream))
VGSIM_API(cuMemcpyDtoHAsync_v2_ptsz, (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream),
          device_to_host(to, from, bytes, per_thread(stream)))

VGSIM_API(cuMemcpyDtoD, (CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes), device_to_device(to, from, bytes))
VGSIM_API(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), device_to_device(to, from, bytes))
VGSIM_API(cuMemcpyDtoD_v2_ptds, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
          device_to_device(to, from, bytes))
VGSIM_API(cuMemcpyDtoDAsync, (CUdeviceptr_v1 to, CUdeviceptr_v1 from, unsigned int bytes, CUstream stream),
          device_to_device(to, from, bytes, stream))
VGSIM_API(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
          device_to_device(to, from, bytes, stream))
VGSIM_API(cuMemcpyDtoDAsync_v2_ptsz, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
          device_to_device(to, from, bytes, per_thread(stream)))

VGSIM_API(cuMemcpyPeer, (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, std::size_t bytes),
          peer(to, to_ctx, from, from_ctx, bytes))
VGSIM_API(cuMemcpyPeer_ptds,
          (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, std::size_t bytes),
          peer(to, to_ctx, from, from_ctx, bytes))
VGSIM_API(cuMemcpyPeerAsync,
          (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, std::size_t bytes, CUstream stream),
          peer(to, to_ctx, from, from_ctx, bytes, stream))
VGSIM_API(cuMemcpyPeerAsync_ptsz,
          (CUdeviceptr to, CUcontext to_ctx, CUdeviceptr from, CUcontext from_ctx, std::size_t bytes, CUstream stream),
          peer(to, to_ctx, from, from_ctx, bytes, per_thread(stream)))
