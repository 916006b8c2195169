// Arrays and mipmapped arrays as tests want them.
#pragma once

#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/context_fixture.h"

inline CUDA_ARRAY3D_DESCRIPTOR_v2 shape(std::size_t width, std::size_t height, std::size_t depth = 0,
                                        CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned int channels = 1,
                                        unsigned int flags = 0) {
  return {width, height, depth, format, channels, flags};
}

inline CUarray make(const CUDA_ARRAY3D_DESCRIPTOR_v2& wanted) {
  CUarray array = nullptr;
  REQUIRE(cuArray3DCreate_v2(&array, &wanted) == CUDA_SUCCESS);
  return array;
}

inline CUmipmappedArray make_mipmap(const CUDA_ARRAY3D_DESCRIPTOR_v2& wanted, unsigned int levels) {
  CUmipmappedArray mipmap = nullptr;
  REQUIRE(cuMipmappedArrayCreate(&mipmap, &wanted, levels) == CUDA_SUCCESS);
  return mipmap;
}
