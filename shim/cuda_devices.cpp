#include "shim/cuda_devices.h"

#include "shim/relaxed_capture.h"

namespace vramguard {

namespace {

abi::CUmemoryPool handle_of(PoolHandle pool) { return reinterpret_cast<abi::CUmemoryPool>(pool); }

std::optional<Bytes> attribute_of(PoolHandle pool, abi::CUmemPool_attribute attribute) noexcept {
  const RelaxedCapture relaxed;
  abi::cuuint64_t bytes = 0;
  const abi::CUresult result = ask(&DriverQueries::cuMemPoolGetAttribute, handle_of(pool), attribute, &bytes);
  return result == abi::CUDA_SUCCESS ? std::optional<Bytes>(bytes) : std::nullopt;
}

}  // namespace

std::optional<Bytes> CudaDevices::pool_bytes(PoolHandle pool) noexcept {
  return attribute_of(pool, abi::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

std::optional<Bytes> pool_bytes_in_use(PoolHandle pool) noexcept {
  return attribute_of(pool, abi::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}

std::optional<Bytes> CudaDevices::graph_bytes(int ordinal) noexcept {
  abi::cuuint64_t bytes = 0;
  const abi::CUresult result =
      ask(&DriverQueries::cuDeviceGetGraphMemAttribute, ordinal, abi::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &bytes);
  return result == abi::CUDA_SUCCESS ? std::optional<Bytes>(bytes) : std::nullopt;
}

bool CudaDevices::trim_pool(PoolHandle pool) noexcept {
  const RelaxedCapture relaxed;
  return ask(&DriverQueries::cuMemPoolTrimTo, handle_of(pool), std::size_t{0}) == abi::CUDA_SUCCESS;
}

std::optional<Bytes> CudaDevices::free_bytes_here(int ordinal) noexcept {
  abi::CUdevice current = -1;
  std::size_t free = 0;
  if (ask(&DriverQueries::cuCtxGetDevice, &current) != abi::CUDA_SUCCESS || current != ordinal ||
      call_own(&DriverFunctions::cuMemGetInfo_v2, &free, nullptr) != abi::CUDA_SUCCESS) {
    return nvml_.free_bytes(ordinal);
  }
  return free;
}

std::optional<DeviceReader::Chunk> CudaDevices::take_chunk(int ordinal, Bytes bytes) noexcept {
  abi::CUmemAllocationProp prop{};
  prop.type = abi::CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {abi::CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  abi::CUmemGenericAllocationHandle handle = 0;
  if (call_own(&DriverFunctions::cuMemCreate, &handle, bytes, &prop, 0ULL) != abi::CUDA_SUCCESS) return std::nullopt;
  return handle;
}

void CudaDevices::give_chunk(Chunk chunk) noexcept { call_own(&DriverFunctions::cuMemRelease, chunk); }

bool CudaDevices::trim_graphs(int ordinal) noexcept {
  const RelaxedCapture relaxed;
  return forward(&DriverFunctions::cuDeviceGraphMemTrim, ordinal) == abi::CUDA_SUCCESS;
}

}  // namespace vramguard
