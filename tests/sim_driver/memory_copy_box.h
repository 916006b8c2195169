// Copies of rows and slices, between the host, the device and arrays.
#pragma once

#include <cstdint>

#include "tests/sim_driver/abi.h"

namespace vgsim {

// One side of a copy. Pitch and height are those of the memory, not of what is copied, and do not matter for arrays.
struct CopySide {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  std::uint64_t x, y, z;  // x in bytes
  std::uint64_t pitch, height;
};

// Arrays are checked, but what is written to one is lost, and it reads as zeros.
CUresult copy_box(CopySide to, CopySide from, std::uint64_t width, std::uint64_t height, std::uint64_t depth);

// Copies now, or when the graph is launched that the stream captures.
CUresult copy_box_in_order(CUstream stream, const CopySide& to, const CopySide& from, std::uint64_t width,
                           std::uint64_t height, std::uint64_t depth);

// The sides of a copy that cuda.h describes.
template <class Copy>
CopySide side_written(const Copy& copy) {
  return {copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray, copy.dstXInBytes,
          copy.dstY,          copy.dstZ,    copy.dstPitch,  copy.dstHeight};
}

template <class Copy>
CopySide side_read(const Copy& copy) {
  return {copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray, copy.srcXInBytes,
          copy.srcY,          copy.srcZ,    copy.srcPitch,  copy.srcHeight};
}

// A level of a mipmapped array is an array of its own, so these fields are reserved.
template <class Copy>
bool are_levels_good(const Copy& copy) {
  return copy.srcLOD == 0 && copy.dstLOD == 0;
}

}  // namespace vgsim
