// Which calls ruin a capture.
#include <catch2/catch.hpp>

#include <functional>
#include <vector>

#include "tests/sim_driver/tests/array_fixture.h"
#include "tests/sim_driver/tests/capture_fixture.h"
#include "tests/sim_driver/tests/vmm_fixture.h"

namespace {

CUresult create_array(unsigned int flags) {
  const auto wanted = shape(64, 64, 0, CU_AD_FORMAT_FLOAT, 1, flags);
  CUarray array = nullptr;
  const CUresult result = cuArray3DCreate_v2(&array, &wanted);
  return result == CUDA_SUCCESS ? cuArrayDestroy(array) : result;
}

CUresult create_mipmap() {
  const auto wanted = shape(64, 64);
  CUmipmappedArray mipmap = nullptr;
  const CUresult result = cuMipmappedArrayCreate(&mipmap, &wanted, 3);
  return result == CUDA_SUCCESS ? cuMipmappedArrayDestroy(mipmap) : result;
}

CUresult create_pool() {
  const CUmemPoolProps props = pool_props();
  CUmemoryPool pool = nullptr;
  const CUresult result = cuMemPoolCreate(&pool, &props);
  return result == CUDA_SUCCESS ? cuMemPoolDestroy(pool) : result;
}

CUresult allocate_host() {
  void* host = nullptr;
  const CUresult result = cuMemAllocHost_v2(&host, 4096);
  return result == CUDA_SUCCESS ? cuMemFreeHost(host) : result;
}

// Of memory that is not managed.
CUresult advise(CUdeviceptr live) {
  const CUresult result = cuMemAdvise(live, 8, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
  return result == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : result;
}

CUresult copy_box(CUdeviceptr live, unsigned char* host) {
  CUDA_MEMCPY3D_v2 copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = live;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.WidthInBytes = copy.Height = copy.Depth = 2;
  return cuMemcpy3D_v2(&copy);
}

// What may ruin a capture, each with the memory that it needs.
struct Forbidden {
  const char* name;
  std::function<CUresult(CUdeviceptr, CUmemoryPool)> call;
};

const std::vector<Forbidden>& forbidden_calls() {
  static CUdeviceptr p;
  static std::size_t pitch;
  static cuuint64_t value;
  static unsigned char host[8];
  static const std::vector<Forbidden> calls = {
      {"cuMemAlloc", [](CUdeviceptr, CUmemoryPool) { return cuMemAlloc_v2(&p, 1); }},
      {"cuMemAllocPitch", [](CUdeviceptr, CUmemoryPool) { return cuMemAllocPitch_v2(&p, &pitch, 4, 4, 4); }},
      {"cuMemAllocManaged",
       [](CUdeviceptr, CUmemoryPool) { return cuMemAllocManaged(&p, 4096, CU_MEM_ATTACH_GLOBAL); }},
      {"cuMemAllocHost", [](CUdeviceptr, CUmemoryPool) { return allocate_host(); }},
      {"cuMemAdvise", [](CUdeviceptr live, CUmemoryPool) { return advise(live); }},
      {"cuArray3DCreate", [](CUdeviceptr, CUmemoryPool) { return create_array(0); }},
      {"cuArray3DCreate of a deferred array",
       [](CUdeviceptr, CUmemoryPool) { return create_array(CUDA_ARRAY3D_DEFERRED_MAPPING); }},
      {"cuMipmappedArrayCreate", [](CUdeviceptr, CUmemoryPool) { return create_mipmap(); }},
      {"cuMemPoolCreate", [](CUdeviceptr, CUmemoryPool) { return create_pool(); }},
      {"cuMemFree", [](CUdeviceptr live, CUmemoryPool) { return cuMemFree_v2(live); }},
      {"cuMemPoolGetAttribute",
       [](CUdeviceptr, CUmemoryPool pool) {
         return cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &value);
       }},
      {"cuMemPoolTrimTo", [](CUdeviceptr, CUmemoryPool pool) { return cuMemPoolTrimTo(pool, 0); }},
      {"cuMemcpyDtoH", [](CUdeviceptr live, CUmemoryPool) { return cuMemcpyDtoH_v2(host, live, 8); }},
      {"cuMemcpy3D", [](CUdeviceptr live, CUmemoryPool) { return copy_box(live, host); }},
      {"cuMemsetD8", [](CUdeviceptr live, CUmemoryPool) { return cuMemsetD8_v2(live, 0, 8); }},
      {"cuCtxSynchronize", [](CUdeviceptr, CUmemoryPool) { return cuCtxSynchronize(); }},
  };
  return calls;
}

}  // namespace

TEST_CASE("a forbidden call ruins the capture of its thread") {
  const InContext here;
  const Pool pool;
  const Stream stream(1);
  const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  for (const Forbidden& forbidden : forbidden_calls()) {
    INFO(forbidden.name);
    const CUdeviceptr live = here.alloc(64);
    const std::uint64_t taken = here.taken();
    begin(stream, mode);
    CHECK(forbidden.call(live, pool.handle) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(here.taken() == taken);
    CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK(cuMemsetD8Async(live, 0, 8, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUdeviceptr address = 0;
    CHECK(cuMemAllocAsync(&address, 1, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(cuMemFree_v2(live) == CUDA_SUCCESS);
  }
}

TEST_CASE("a thread in relaxed mode, and a relaxed capture, forbid nothing") {
  const InContext here;
  const Pool pool;
  const Stream stream(1);
  const bool relaxed_thread = GENERATE(true, false);
  for (const Forbidden& allowed : forbidden_calls()) {
    INFO(allowed.name);
    const CUdeviceptr live = here.alloc(64);
    begin(stream, relaxed_thread ? CU_STREAM_CAPTURE_MODE_GLOBAL : CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (relaxed_thread) CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(allowed.call(live, pool.handle) == CUDA_SUCCESS);
    if (relaxed_thread) CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(end(stream) == CUDA_SUCCESS);
    cuMemFree_v2(live);
  }
}

TEST_CASE("a global capture is ruined by any thread, a thread-local one by its own only") {
  const InContext here;
  const Stream stream(1);
  const auto allocate = [] {
    CUdeviceptr address = 0;
    return cuMemAlloc_v2(&address, 1);
  };
  const auto allocate_thread_local = [&] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    cuThreadExchangeStreamCaptureMode(&mode);
    return allocate();
  };
  begin(stream);
  CHECK(on_another_thread(here.context, allocate_thread_local) == CUDA_SUCCESS);
  CHECK(on_another_thread(here.context, allocate) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  CHECK(on_another_thread(here.context, allocate) == CUDA_SUCCESS);
  CHECK(end(stream) == CUDA_SUCCESS);
}

TEST_CASE("calls that the real driver allows do not ruin a capture") {
  const InContext here;
  const Stream stream, other;
  begin(stream);
  std::size_t bytes = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  cuuint64_t value = 0;
  CHECK(cuMemGetInfo_v2(&bytes, &bytes) == CUDA_SUCCESS);
  CHECK(cuCtxGetDevice(&device) == CUDA_SUCCESS);
  CHECK(cuStreamGetCtx(stream, &context) == CUDA_SUCCESS);
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &value) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(other) == CUDA_SUCCESS);
  CUdeviceptr address = 0;
  CHECK(cuMemAllocAsync(&address, 1, other) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(address, other) == CUDA_SUCCESS);
  CUmemoryPool pool = nullptr;
  CHECK(cuDeviceGetMemPool(&pool, 0) == CUDA_SUCCESS);
  CHECK(cuDeviceGraphMemTrim(0) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(0, stream) == CUDA_SUCCESS);
  CHECK(cuMemFreeAsync(0, other) == CUDA_SUCCESS);
  const std::uint64_t taken = here.taken();
  const CUdeviceptr range = reserve(kPage);
  const auto handle = create(kPage);
  unsigned int type = 0;
  CHECK(cuMemMap(range, kPage, 0, handle, 0) == CUDA_SUCCESS);
  CHECK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range) == CUDA_SUCCESS);
  CHECK(cuMemUnmap(range, kPage) == CUDA_SUCCESS);
  CHECK(cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(cuMemAddressFree(range, kPage) == CUDA_SUCCESS);
  CHECK(here.taken() == taken);
  CHECK(end(stream) == CUDA_SUCCESS);
}

TEST_CASE("prefetches cannot be captured") {
  const InContext here;
  const Stream stream;
  CUdeviceptr managed = 0;
  REQUIRE(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  begin(stream);
  CHECK(cuMemPrefetchAsync(managed, 4096, 0, stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(here.taken() == 0);
}

TEST_CASE("a captured stream can be neither waited for nor asked") {
  const InContext here;
  const Stream stream;
  const auto mode = GENERATE(CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED);
  for (const auto call : {&cuStreamSynchronize, &cuStreamQuery}) {
    begin(stream, mode);
    CHECK(call(stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }
  begin(stream, mode);
  CHECK(cuStreamAddCallback(
            stream, [](CUstream, CUresult, void*) {}, nullptr, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_CASE("the legacy stream would wait for captured streams that are not made non-blocking") {
  const InContext here;
  const CUdeviceptr live = here.alloc(8);
  const Stream blocking, non_blocking(1);
  CUstreamCaptureStatus status{};
  begin(non_blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(cuMemsetD8Async(live, 0, 8, nullptr) == CUDA_SUCCESS);
  CHECK(end(non_blocking) == CUDA_SUCCESS);
  begin(blocking, CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(status_of(blocking) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(cuMemsetD8Async(live, 0, 8, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(end(blocking) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}
