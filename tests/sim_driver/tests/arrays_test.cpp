#include <dlfcn.h>
#include <catch2/catch.hpp>

#include "tests/sim_driver/tests/array_fixture.h"

TEST_CASE("small arrays share pages with their kind, and with nothing else") {
  const InContext here;
  const CUarray first = make(shape(100, 100)), second = make(shape(100, 100));
  CHECK(here.taken() == kPage);
  const CUarray bytes = make(shape(100, 100, 0, CU_AD_FORMAT_UNSIGNED_INT8));
  CHECK(here.taken() == 2 * kPage);
  const CUdeviceptr linear = here.alloc(1000);
  CHECK(here.taken() == 3 * kPage);
  const CUarray large = make(shape(1037, 1000, 0, CU_AD_FORMAT_UNSIGNED_INT8));
  CHECK(here.taken() == 4 * kPage);
  const CUmipmappedArray mipmap = make_mipmap(shape(64, 64), 7);  // of the floats' kind
  CHECK(here.taken() == 4 * kPage);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(first) == CUDA_SUCCESS);
  CHECK(here.taken() == 4 * kPage);
  CHECK(cuArrayDestroy(second) == CUDA_SUCCESS);
  CHECK(here.taken() == 3 * kPage);
  CHECK(cuArrayDestroy(large) == CUDA_SUCCESS);
  CHECK(cuMemFree_v2(linear) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(bytes) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(bytes) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(here.taken() == 0);
}

TEST_CASE("the steps of a destroyed array are used again") {
  const InContext here;
  std::vector<CUarray> live;
  for (int i = 0; i < 32; ++i) live.push_back(make(shape(100, 100)));
  CHECK(here.taken() == kPage);
  const CUarray one_more = make(shape(100, 100));
  CHECK(here.taken() == 2 * kPage);
  CHECK(cuArrayDestroy(one_more) == CUDA_SUCCESS);
  for (const int gone : {1, 3, 4}) CHECK(cuArrayDestroy(live[static_cast<std::size_t>(gone)]) == CUDA_SUCCESS);
  const CUarray two_steps = make(shape(128, 256));  // 3 and 4
  CHECK(here.taken() == kPage);
  const CUarray two_more = make(shape(128, 256));  // only 1 is left
  CHECK(here.taken() == 2 * kPage);
  CHECK(cuArrayDestroy(two_steps) == CUDA_SUCCESS);
  CHECK(cuArrayDestroy(two_more) == CUDA_SUCCESS);
  CHECK(here.taken() == kPage);
}

TEST_CASE("arrays end with their context") {
  const InContext outer;
  CUarray array = nullptr, level = nullptr;
  CUmipmappedArray mipmap = nullptr;
  {
    const InContext here;
    array = make(shape(100, 100));
    mipmap = make_mipmap(shape(4096, 4096), 3);
    CHECK(cuMipmappedArrayGetLevel(&level, mipmap, 1) == CUDA_SUCCESS);
  }
  CHECK(outer.taken() == 0);
  CHECK(cuArrayDestroy(array) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_ERROR_INVALID_HANDLE);
  CUDA_ARRAY3D_DESCRIPTOR_v2 told{};
  CHECK(cuArray3DGetDescriptor_v2(&told, level) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a deferred array takes nothing and tells what it would, others do not tell") {
  const InContext here;
  const auto deferred = shape(1000, 1000, 0, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_DEFERRED_MAPPING);
  CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 needs{};
  const CUarray array = make(deferred);
  CHECK(here.taken() == 0);
  CHECK(cuArrayGetMemoryRequirements(&needs, array, 0) == CUDA_SUCCESS);
  CHECK(needs.size == 16384000);
  CHECK(cuArrayGetMemoryRequirements(&needs, array, 7) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  const CUarray normal = make(shape(10, 10));
  CHECK(cuArrayGetMemoryRequirements(&needs, normal, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(normal) == CUDA_SUCCESS);
  const CUarray sparse = make(shape(1000, 1000, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE));
  CHECK(here.taken() == 0);
  CHECK(cuArrayGetMemoryRequirements(&needs, sparse, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(sparse) == CUDA_SUCCESS);
  const CUmipmappedArray mipmap = make_mipmap(deferred, 3);
  CHECK(here.taken() == 0);
  CHECK(cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0) == CUDA_SUCCESS);
  CHECK(needs.size == 21561344);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
}

TEST_CASE("an array tells its descriptor") {
  const InContext here;
  const auto wanted = shape(20, 30, 4, CU_AD_FORMAT_HALF, 2, CUDA_ARRAY3D_LAYERED);
  const CUarray array = make(wanted);
  CUDA_ARRAY3D_DESCRIPTOR_v2 told{};
  CHECK(cuArray3DGetDescriptor_v2(&told, array) == CUDA_SUCCESS);
  CHECK(told.Width == 20);
  CHECK(told.Height == 30);
  CHECK(told.Depth == 4);
  CHECK(told.Format == CU_AD_FORMAT_HALF);
  CHECK(told.NumChannels == 2);
  CHECK(told.Flags == CUDA_ARRAY3D_LAYERED);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  // The functions of CUDA 2.0.
  const CUDA_ARRAY_DESCRIPTOR_v1 flat{50, 60, CU_AD_FORMAT_SIGNED_INT16, 4};
  CUarray old = nullptr;
  REQUIRE(cuArrayCreate(&old, &flat) == CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR_v1 old_told{};
  CHECK(cuArrayGetDescriptor(&old_told, old) == CUDA_SUCCESS);
  CHECK(old_told.Height == 60);
  CUDA_ARRAY3D_DESCRIPTOR_v1 old_told_3d{};
  CHECK(cuArray3DGetDescriptor(&old_told_3d, old) == CUDA_SUCCESS);
  CHECK(old_told_3d.Depth == 0);
  CHECK(old_told_3d.NumChannels == 4);
  CHECK(cuArrayDestroy(old) == CUDA_SUCCESS);
}

TEST_CASE("shapes that the driver does not take are refused") {
  const InContext here;
  CUarray array = nullptr;
  CUmipmappedArray mipmap = nullptr;
  const auto refused = [&](const CUDA_ARRAY3D_DESCRIPTOR_v2& wanted) {
    return cuArray3DCreate_v2(&array, &wanted) == CUDA_ERROR_INVALID_VALUE;
  };
  CHECK(refused(shape(0, 0)));
  CHECK(refused(shape(10, 0, 10)));
  CHECK(refused(shape(131073, 0)));
  CHECK(refused(shape(10, 65537)));
  CHECK(refused(shape(10, 10, 32769)));
  CHECK(!refused(shape(1, 1, 32768)));  // the alternate limits
  CHECK(refused(shape(10, 10, 0, CU_AD_FORMAT_FLOAT, 3)));
  CHECK(refused(shape(10, 10, 0, CU_AD_FORMAT_FLOAT, 0)));
  CHECK(refused(shape(10, 10, 0, static_cast<CUarray_format>(0x33))));
  CHECK(refused(shape(10, 10, 0, CU_AD_FORMAT_FLOAT, 1, 0x200)));
  CHECK(refused(shape(10, 11, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP)));
  CHECK(refused(shape(10, 10, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP)));
  CHECK(refused(shape(10, 10, 7, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED)));
  CHECK(refused(shape(10, 10, 2049, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED)));
  CHECK(refused(shape(10, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_TEXTURE_GATHER)));
  CHECK(refused(shape(65536, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SURFACE_LDST)));
  CHECK(refused(shape(10, 0, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE)));
  CHECK(cuArray3DCreate_v2(&array, nullptr) == CUDA_ERROR_INVALID_VALUE);
  const auto good = shape(10, 10);
  CHECK(cuArray3DCreate_v2(nullptr, &good) == CUDA_ERROR_INVALID_VALUE);
  const auto too_wide = shape(32769, 10);
  CHECK(cuMipmappedArrayCreate(&mipmap, &too_wide, 2) == CUDA_ERROR_INVALID_VALUE);
  CUcontext context = nullptr;
  REQUIRE(cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS);
  CHECK(cuArray3DCreate_v2(&array, &good) == CUDA_ERROR_INVALID_CONTEXT);
  REQUIRE(cuCtxPushCurrent_v2(context) == CUDA_SUCCESS);
}

TEST_CASE("an array that the device has no room for is refused and takes nothing") {
  const InContext here(1);
  const CUdeviceptr rest = here.alloc(free_bytes() - kPage);
  CUarray array = nullptr;
  const auto large = shape(1000, 1000);
  CHECK(cuArray3DCreate_v2(&array, &large) == CUDA_ERROR_OUT_OF_MEMORY);
  const CUarray small = make(shape(100, 100));
  CHECK(free_bytes() == 0);
  const auto other_kind = shape(100, 100, 0, CU_AD_FORMAT_HALF);
  CHECK(cuArray3DCreate_v2(&array, &other_kind) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(cuArrayDestroy(small) == CUDA_SUCCESS);
  CHECK(free_bytes() == kPage);
  CHECK(cuMemFree_v2(rest) == CUDA_SUCCESS);
}

TEST_CASE("a level of a mipmapped array is a part of it") {
  const InContext here;
  const CUmipmappedArray mipmap = make_mipmap(shape(100, 50), 20);
  CUarray level = nullptr, again = nullptr;
  REQUIRE(cuMipmappedArrayGetLevel(&level, mipmap, 2) == CUDA_SUCCESS);
  CHECK(cuMipmappedArrayGetLevel(&again, mipmap, 2) == CUDA_SUCCESS);
  CHECK(again == level);
  CUDA_ARRAY3D_DESCRIPTOR_v2 told{};
  CHECK(cuArray3DGetDescriptor_v2(&told, level) == CUDA_SUCCESS);
  CHECK(told.Width == 25);
  CHECK(told.Height == 12);
  CHECK(told.Depth == 0);
  CHECK(cuMipmappedArrayGetLevel(&again, mipmap, 6) == CUDA_SUCCESS);  // 1 x 1, the last of the seven there can be
  CHECK(cuMipmappedArrayGetLevel(&again, mipmap, 7) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(level) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
  CHECK(cuArray3DGetDescriptor_v2(&told, level) == CUDA_ERROR_INVALID_HANDLE);
  const CUmipmappedArray row = make_mipmap(shape(100, 0), 2);
  CHECK(cuMipmappedArrayGetLevel(&level, row, 1) == CUDA_SUCCESS);
  CHECK(cuArray3DGetDescriptor_v2(&told, level) == CUDA_SUCCESS);
  CHECK(told.Height == 0);
  CHECK(cuMipmappedArrayDestroy(row) == CUDA_SUCCESS);
  // Layers are not halved, and give no levels.
  const CUmipmappedArray layered = make_mipmap(shape(4, 4, 100, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED), 9);
  CHECK(cuMipmappedArrayGetLevel(&level, layered, 2) == CUDA_SUCCESS);
  CHECK(cuArray3DGetDescriptor_v2(&told, level) == CUDA_SUCCESS);
  CHECK(told.Depth == 100);
  CHECK(cuMipmappedArrayGetLevel(&level, layered, 3) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuMipmappedArrayDestroy(layered) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}

TEST_CASE("a planar array has a plane of brightness and one of colour") {
  const InContext here;
  const CUarray array = make(shape(640, 480, 0, CU_AD_FORMAT_NV12, 3));
  CUarray plane = nullptr;
  CUDA_ARRAY_DESCRIPTOR_v2 told{};
  REQUIRE(cuArrayGetPlane(&plane, array, 0) == CUDA_SUCCESS);
  CHECK(cuArrayGetDescriptor_v2(&told, plane) == CUDA_SUCCESS);
  CHECK(told.Width == 640);
  CHECK(told.NumChannels == 1);
  REQUIRE(cuArrayGetPlane(&plane, array, 1) == CUDA_SUCCESS);
  CHECK(cuArrayGetDescriptor_v2(&told, plane) == CUDA_SUCCESS);
  CHECK(told.Width == 320);
  CHECK(told.Height == 240);
  CHECK(told.NumChannels == 2);
  CHECK(told.Format == CU_AD_FORMAT_UNSIGNED_INT8);
  CHECK(cuArrayGetPlane(&plane, array, 2) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
  const CUarray flat = make(shape(64, 64));
  CHECK(cuArrayGetPlane(&plane, flat, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuArrayDestroy(flat) == CUDA_SUCCESS);
}

TEST_CASE("compressed formats count blocks of four times four elements") {
  const InContext here;
  CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 compressed{}, plain{};
  const CUarray first = make(shape(4096, 4096, 0, CU_AD_FORMAT_BC7_UNORM, 4, CUDA_ARRAY3D_DEFERRED_MAPPING));
  const CUarray second = make(shape(1024, 1024, 0, CU_AD_FORMAT_FLOAT, 4, CUDA_ARRAY3D_DEFERRED_MAPPING));
  CHECK(cuArrayGetMemoryRequirements(&compressed, first, 0) == CUDA_SUCCESS);
  CHECK(cuArrayGetMemoryRequirements(&plain, second, 0) == CUDA_SUCCESS);
  CHECK(compressed.size == plain.size);
}

TEST_CASE("a driver from before deferred arrays does not know their flag") {
  void* const library = dlopen(SIM_CUDA_OLD, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  const auto init = reinterpret_cast<decltype(&cuInit)>(dlsym(library, "cuInit"));
  const auto enter = reinterpret_cast<decltype(&cuCtxCreate_v2)>(dlsym(library, "cuCtxCreate_v2"));
  const auto leave = reinterpret_cast<decltype(&cuCtxDestroy_v2)>(dlsym(library, "cuCtxDestroy_v2"));
  const auto create = reinterpret_cast<decltype(&cuArray3DCreate_v2)>(dlsym(library, "cuArray3DCreate_v2"));
  CUcontext context = nullptr;
  CUarray array = nullptr;
  REQUIRE(init(0) == CUDA_SUCCESS);
  REQUIRE(enter(&context, 0, 0) == CUDA_SUCCESS);
  const auto deferred = shape(10, 10, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_DEFERRED_MAPPING);
  const auto normal = shape(10, 10);
  CHECK(create(&array, &deferred) == CUDA_ERROR_INVALID_VALUE);
  CHECK(create(&array, &normal) == CUDA_SUCCESS);
  CHECK(dlsym(library, "cuArrayGetMemoryRequirements") == nullptr);
  CHECK(leave(context) == CUDA_SUCCESS);
}
