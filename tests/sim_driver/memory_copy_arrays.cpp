#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_copy_box.h"

namespace vgsim {
namespace {

CopySide in_array(CUarray array, std::uint64_t offset) {
  return {CU_MEMORYTYPE_ARRAY, nullptr, 0, array, offset, 0, 0, 0, 0};
}
CopySide on_device(CUdeviceptr address) { return {CU_MEMORYTYPE_DEVICE, nullptr, address, nullptr, 0, 0, 0, 0, 0}; }
CopySide on_host(const void* pointer) { return {CU_MEMORYTYPE_HOST, pointer, 0, nullptr, 0, 0, 0, 0, 0}; }

// A part of the first row.
CUresult copy_row(const CopySide& to, const CopySide& from, std::uint64_t bytes, CUstream stream = nullptr) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  return copy_box_in_order(stream, to, from, bytes, 1, 1);
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemcpyAtoA,
          (CUarray to, unsigned int to_offset, CUarray from, unsigned int from_offset, unsigned int bytes),
          copy_row(in_array(to, to_offset), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoA_v2,
          (CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset, std::size_t bytes),
          copy_row(in_array(to, to_offset), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoA_v2_ptds,
          (CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset, std::size_t bytes),
          copy_row(in_array(to, to_offset), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoD, (CUdeviceptr_v1 to, CUarray from, unsigned int from_offset, unsigned int bytes),
          copy_row(on_device(to), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoD_v2, (CUdeviceptr to, CUarray from, std::size_t from_offset, std::size_t bytes),
          copy_row(on_device(to), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoD_v2_ptds, (CUdeviceptr to, CUarray from, std::size_t from_offset, std::size_t bytes),
          copy_row(on_device(to), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoH, (void* to, CUarray from, unsigned int from_offset, unsigned int bytes),
          copy_row(on_host(to), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoH_v2, (void* to, CUarray from, std::size_t from_offset, std::size_t bytes),
          copy_row(on_host(to), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoH_v2_ptds, (void* to, CUarray from, std::size_t from_offset, std::size_t bytes),
          copy_row(on_host(to), in_array(from, from_offset), bytes))
VGSIM_API(cuMemcpyAtoHAsync, (void* to, CUarray from, unsigned int from_offset, unsigned int bytes, CUstream stream),
          copy_row(on_host(to), in_array(from, from_offset), bytes, stream))
VGSIM_API(cuMemcpyAtoHAsync_v2, (void* to, CUarray from, std::size_t from_offset, std::size_t bytes, CUstream stream),
          copy_row(on_host(to), in_array(from, from_offset), bytes, stream))
VGSIM_API(cuMemcpyAtoHAsync_v2_ptsz,
          (void* to, CUarray from, std::size_t from_offset, std::size_t bytes, CUstream stream),
          copy_row(on_host(to), in_array(from, from_offset), bytes, per_thread(stream)))
VGSIM_API(cuMemcpyDtoA, (CUarray to, unsigned int to_offset, CUdeviceptr_v1 from, unsigned int bytes),
          copy_row(in_array(to, to_offset), on_device(from), bytes))
VGSIM_API(cuMemcpyDtoA_v2, (CUarray to, std::size_t to_offset, CUdeviceptr from, std::size_t bytes),
          copy_row(in_array(to, to_offset), on_device(from), bytes))
VGSIM_API(cuMemcpyDtoA_v2_ptds, (CUarray to, std::size_t to_offset, CUdeviceptr from, std::size_t bytes),
          copy_row(in_array(to, to_offset), on_device(from), bytes))
VGSIM_API(cuMemcpyHtoA, (CUarray to, unsigned int to_offset, const void* from, unsigned int bytes),
          copy_row(in_array(to, to_offset), on_host(from), bytes))
VGSIM_API(cuMemcpyHtoA_v2, (CUarray to, std::size_t to_offset, const void* from, std::size_t bytes),
          copy_row(in_array(to, to_offset), on_host(from), bytes))
VGSIM_API(cuMemcpyHtoA_v2_ptds, (CUarray to, std::size_t to_offset, const void* from, std::size_t bytes),
          copy_row(in_array(to, to_offset), on_host(from), bytes))
VGSIM_API(cuMemcpyHtoAAsync,
          (CUarray to, unsigned int to_offset, const void* from, unsigned int bytes, CUstream stream),
          copy_row(in_array(to, to_offset), on_host(from), bytes, stream))
VGSIM_API(cuMemcpyHtoAAsync_v2,
          (CUarray to, std::size_t to_offset, const void* from, std::size_t bytes, CUstream stream),
          copy_row(in_array(to, to_offset), on_host(from), bytes, stream))
VGSIM_API(cuMemcpyHtoAAsync_v2_ptsz,
          (CUarray to, std::size_t to_offset, const void* from, std::size_t bytes, CUstream stream),
          copy_row(in_array(to, to_offset), on_host(from), bytes, per_thread(stream)))
