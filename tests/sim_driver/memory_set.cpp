#include "tests/sim_driver/memory_set.h"

#include <cstring>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/capture.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/memory_data.h"

namespace vgsim {
namespace {

// Writes `count` elements from `address` on, in each of `height` rows that lie `pitch` bytes apart.
template <class Element>
CUresult fill_now(CUdeviceptr address, std::uint64_t pitch, Element value, std::uint64_t count, std::uint64_t height) {
  if (count == 0 || height == 0) return CUDA_SUCCESS;
  if (address % sizeof(Element) != 0 || count > (1ULL << 60)) return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t bytes = count * sizeof(Element);
  if (height > 1 && pitch < bytes) return CUDA_ERROR_INVALID_VALUE;
  for (std::uint64_t row = 0; row < height; ++row) {
    DataRange range{};
    if (const CUresult result = device_range(address + row * pitch, bytes, Access::Write, range);
        result != CUDA_SUCCESS)
      return result;
    if (!range.data) continue;
    for (std::uint64_t i = 0; i < count; ++i) std::memcpy(range.data + i * sizeof(Element), &value, sizeof(Element));
  }
  return CUDA_SUCCESS;
}

template <class Element>
CUresult fill(CUdeviceptr address, std::uint64_t pitch, Element value, std::uint64_t count, std::uint64_t height,
              CUstream stream) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  const auto work = [=] { return fill_now(address, pitch, value, count, height); };
  if (const auto captured = capture_work(stream, CU_GRAPH_NODE_TYPE_MEMSET, work)) return *captured;
  return work();
}

template <class Element>
CUresult fill(CUdeviceptr address, Element value, std::uint64_t count, CUstream stream = nullptr) {
  return fill(address, 0, value, count, 1, stream);
}

}  // namespace

CUresult set_rows(CUdeviceptr address, std::uint64_t pitch, unsigned int value, unsigned int element_bytes,
                  std::uint64_t width, std::uint64_t height) {
  switch (element_bytes) {
    case 1:
      return fill_now(address, pitch, static_cast<unsigned char>(value), width, height);
    case 2:
      return fill_now(address, pitch, static_cast<unsigned short>(value), width, height);
    case 4:
      return fill_now(address, pitch, value, width, height);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuMemsetD8, (CUdeviceptr_v1 to, unsigned char value, unsigned int count), fill(to, value, count))
VGSIM_API(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, std::size_t count), fill(to, value, count))
VGSIM_API(cuMemsetD8_v2_ptds, (CUdeviceptr to, unsigned char value, std::size_t count), fill(to, value, count))
VGSIM_API(cuMemsetD8Async, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream),
          fill(to, value, count, stream))
VGSIM_API(cuMemsetD8Async_ptsz, (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream),
          fill(to, value, count, per_thread(stream)))
VGSIM_API(cuMemsetD2D8,
          (CUdeviceptr_v1 to, unsigned int pitch, unsigned char value, unsigned int width, unsigned int height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D8_v2,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D8_v2_ptds,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D8Async,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
           CUstream stream),
          fill(to, pitch, value, width, height, stream))
VGSIM_API(cuMemsetD2D8Async_ptsz,
          (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width, std::size_t height,
           CUstream stream),
          fill(to, pitch, value, width, height, per_thread(stream)))

VGSIM_API(cuMemsetD16, (CUdeviceptr_v1 to, unsigned short value, unsigned int count), fill(to, value, count))
VGSIM_API(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, std::size_t count), fill(to, value, count))
VGSIM_API(cuMemsetD16_v2_ptds, (CUdeviceptr to, unsigned short value, std::size_t count), fill(to, value, count))
VGSIM_API(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream),
          fill(to, value, count, stream))
VGSIM_API(cuMemsetD16Async_ptsz, (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream),
          fill(to, value, count, per_thread(stream)))
VGSIM_API(cuMemsetD2D16,
          (CUdeviceptr_v1 to, unsigned int pitch, unsigned short value, unsigned int width, unsigned int height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D16_v2,
          (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D16_v2_ptds,
          (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D16Async,
          (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height,
           CUstream stream),
          fill(to, pitch, value, width, height, stream))
VGSIM_API(cuMemsetD2D16Async_ptsz,
          (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width, std::size_t height,
           CUstream stream),
          fill(to, pitch, value, width, height, per_thread(stream)))

VGSIM_API(cuMemsetD32, (CUdeviceptr_v1 to, unsigned int value, unsigned int count), fill(to, value, count))
VGSIM_API(cuMemsetD32_v2, (CUdeviceptr to, unsigned int value, std::size_t count), fill(to, value, count))
VGSIM_API(cuMemsetD32_v2_ptds, (CUdeviceptr to, unsigned int value, std::size_t count), fill(to, value, count))
VGSIM_API(cuMemsetD32Async, (CUdeviceptr to, unsigned int value, std::size_t count, CUstream stream),
          fill(to, value, count, stream))
VGSIM_API(cuMemsetD32Async_ptsz, (CUdeviceptr to, unsigned int value, std::size_t count, CUstream stream),
          fill(to, value, count, per_thread(stream)))
VGSIM_API(cuMemsetD2D32,
          (CUdeviceptr_v1 to, unsigned int pitch, unsigned int value, unsigned int width, unsigned int height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D32_v2,
          (CUdeviceptr to, std::size_t pitch, unsigned int value, std::size_t width, std::size_t height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D32_v2_ptds,
          (CUdeviceptr to, std::size_t pitch, unsigned int value, std::size_t width, std::size_t height),
          fill(to, pitch, value, width, height, nullptr))
VGSIM_API(cuMemsetD2D32Async,
          (CUdeviceptr to, std::size_t pitch, unsigned int value, std::size_t width, std::size_t height,
           CUstream stream),
          fill(to, pitch, value, width, height, stream))
VGSIM_API(cuMemsetD2D32Async_ptsz,
          (CUdeviceptr to, std::size_t pitch, unsigned int value, std::size_t width, std::size_t height,
           CUstream stream),
          fill(to, pitch, value, width, height, per_thread(stream)))
