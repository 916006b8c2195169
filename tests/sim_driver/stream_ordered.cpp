#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/graph_nodes.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_linear.h"
#include "tests/sim_driver/memory_pools.h"

namespace vgsim {
namespace {

CUresult capture_alloc(CaptureSeat& seat, const CUmemPoolProps& pool, std::uint64_t bytes, CUdeviceptr& out) {
  if (seat.capture->ruined) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (bytes == 0) return CUDA_SUCCESS;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps = pool;
  params.poolProps.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  params.bytesize = bytes;
  GraphNode* node = nullptr;
  const CUresult result = add_alloc_node(*seat.capture->graph, seat.dependencies, params, node);
  if (result != CUDA_SUCCESS) return result;
  seat.dependencies = {node};
  out = params.dptr;
  return CUDA_SUCCESS;
}

CUresult capture_free(CaptureSeat& seat, CUdeviceptr address) {
  if (seat.capture->ruined) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (address == 0) return CUDA_SUCCESS;
  GraphNode* node = nullptr;
  const CUresult result = add_free_node(*seat.capture->graph, seat.dependencies, address, node);
  if (result == CUDA_SUCCESS) seat.dependencies = {node};
  return result;
}

CUresult alloc_from(MemoryPool& pool, CUdeviceptr* out, std::uint64_t bytes, CUstream stream) {
  CUdeviceptr address = 0;
  CUresult result = CUDA_SUCCESS;
  if (CaptureSeat* seat = captures_going_on == 0 ? nullptr : captured_seat(stream))
    result = capture_alloc(*seat, pool.props, bytes, address);
  else if (const auto refused = captures_going_on == 0 ? std::nullopt : legacy_refusal(stream))
    result = *refused;
  else
    result = pool.allocate(bytes, address);
  if (result == CUDA_SUCCESS) *out = address;
  return result;
}

// From the pool of the stream's device, whichever context is current.
CUresult alloc(CUdeviceptr* out, std::size_t bytes, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  return alloc_from(*current_pool(context->device), out, bytes, stream);
}

CUresult alloc(CUdeviceptr* out, std::size_t bytes, CUmemoryPool handle, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  const auto pool = find_pool(handle);
  if (!out || !pool) return CUDA_ERROR_INVALID_VALUE;
  return alloc_from(*pool, out, bytes, stream);
}

CUresult free_async(CUdeviceptr address, CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (captures_going_on != 0) {
    if (CaptureSeat* seat = captured_seat(stream)) return capture_free(*seat, address);
    if (const auto refused = legacy_refusal(stream)) return *refused;
  }
  return free_memory(address);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemAllocAsync, (CUdeviceptr * out, std::size_t bytes, CUstream stream), alloc(out, bytes, stream))
VGSIM_API(cuMemAllocAsync_ptsz, (CUdeviceptr * out, std::size_t bytes, CUstream stream),
          alloc(out, bytes, per_thread(stream)))
VGSIM_API(cuMemAllocFromPoolAsync, (CUdeviceptr * out, std::size_t bytes, CUmemoryPool pool, CUstream stream),
          alloc(out, bytes, pool, stream))
VGSIM_API(cuMemAllocFromPoolAsync_ptsz, (CUdeviceptr * out, std::size_t bytes, CUmemoryPool pool, CUstream stream),
          alloc(out, bytes, pool, per_thread(stream)))
VGSIM_API(cuMemFreeAsync, (CUdeviceptr address, CUstream stream), free_async(address, stream))
VGSIM_API(cuMemFreeAsync_ptsz, (CUdeviceptr address, CUstream stream), free_async(address, per_thread(stream)))
