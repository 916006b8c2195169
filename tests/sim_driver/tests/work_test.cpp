#include <catch2/catch.hpp>

#include <thread>

#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

TEST_CASE("streams belong to their context and end with it") {
  CUstream stream = nullptr;
  {
    const InContext here(1);
    REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
    CUcontext context = nullptr;
    CHECK(cuStreamGetCtx(stream, &context) == CUDA_SUCCESS);
    CHECK(context == here.context);
    CHECK(cuStreamGetCtx(nullptr, &context) == CUDA_SUCCESS);
    CHECK(context == here.context);
    CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(cuStreamQuery_ptsz(stream) == CUDA_SUCCESS);
    CUstreamCaptureStatus capturing{};
    CHECK(cuStreamIsCapturing(stream, &capturing) == CUDA_SUCCESS);
    CHECK(capturing == CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK(cuStreamSynchronize(reinterpret_cast<CUstream>(&capturing)) == CUDA_ERROR_INVALID_HANDLE);
  }
  CHECK(cuStreamDestroy_v2(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("the capture mode of a thread is exchanged") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
  CHECK(mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
  CHECK(cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
  CHECK(mode == CU_STREAM_CAPTURE_MODE_RELAXED);
  CHECK(cuThreadExchangeStreamCaptureMode(nullptr) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("events measure time between two records") {
  const InContext here;
  CUevent start = nullptr, end = nullptr;
  float milliseconds = -1;
  REQUIRE(cuEventCreate(&start, 0) == CUDA_SUCCESS);
  REQUIRE(cuEventCreate(&end, 0) == CUDA_SUCCESS);
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(cuEventRecord(start, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventRecord(end, nullptr) == CUDA_SUCCESS);
  CHECK(cuEventQuery(end) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(nullptr, end, 0) == CUDA_SUCCESS);
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_SUCCESS);
  CHECK(milliseconds >= 0);
  CHECK(cuEventDestroy_v2(end) == CUDA_SUCCESS);
  CHECK(cuEventDestroy_v2(end) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("functions of a module are launched and do nothing") {
  const InContext here;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CHECK(cuModuleLoad(&module, "/nowhere") == CUDA_ERROR_FILE_NOT_FOUND);
  REQUIRE(cuModuleLoadData(&module, "image") == CUDA_SUCCESS);
  REQUIRE(cuModuleGetFunction(&function, module, "kernel") == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(function, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_VALUE);
  CUlaunchConfig config{1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, 0};
  CHECK(cuLaunchKernelEx(&config, function, nullptr, nullptr) == CUDA_SUCCESS);
  int threads = 0;
  CHECK(cuFuncGetAttribute(&threads, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function) == CUDA_SUCCESS);
  CHECK(threads == 1024);
  CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a module takes what it is told to until it is unloaded or its context ends") {
  CHECK(output_of({"modules"}, {{"VGSIM_STATE", scratch_file("modules")}}) == "520 520 520 0");
  CHECK(output_of({"modules"}, {{"VGSIM_STATE", scratch_file("modules")}, {"VGSIM_MODULE", "80MiB"}}) ==
        "520 680 600 0");
}

TEST_CASE("a library's kernels are launched as functions") {
  const InContext here;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  REQUIRE(cuLibraryLoadData(&library, "image", nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
  REQUIRE(cuLibraryGetKernel(&kernel, library, "kernel") == CUDA_SUCCESS);
  REQUIRE(cuKernelGetFunction(&function, kernel) == CUDA_SUCCESS);
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) == CUDA_SUCCESS);
  CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
}

TEST_CASE("the host functions of a graph are called during the launch, in a thread of their own without a context") {
  const InContext here;
  struct Seen {
    std::thread::id thread;
    CUcontext context;
  } seen{std::this_thread::get_id(), here.context};
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 1) == CUDA_SUCCESS);
  REQUIRE(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) == CUDA_SUCCESS);
  const auto look = [](void* data) {
    auto* record = static_cast<Seen*>(data);
    record->thread = std::this_thread::get_id();
    cuCtxGetCurrent(&record->context);
  };
  CHECK(cuLaunchHostFunc(stream, look, &seen) == CUDA_SUCCESS);
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  REQUIRE(cuGraphInstantiateWithFlags(&exec, graph, 0) == CUDA_SUCCESS);
  CHECK(seen.context == here.context);
  CHECK(cuGraphLaunch(exec, stream) == CUDA_SUCCESS);
  CHECK(seen.thread != std::this_thread::get_id());
  CHECK(seen.context == nullptr);
}

TEST_CASE("host functions and callbacks are really called, and may call the driver") {
  const InContext here;
  struct Seen {
    int functions = 0, callbacks = 0;
    std::size_t free = 0;
  } seen;
  CHECK(cuLaunchHostFunc(
            nullptr, [](void* data) { ++static_cast<Seen*>(data)->functions; }, &seen) == CUDA_SUCCESS);
  CHECK(cuStreamAddCallback(
            nullptr,
            [](CUstream, CUresult status, void* data) {
              auto* record = static_cast<Seen*>(data);
              if (status == CUDA_SUCCESS) ++record->callbacks;
              cuMemGetInfo_v2(&record->free, nullptr);
            },
            &seen, 0) == CUDA_SUCCESS);
  CHECK(seen.functions == 1);
  CHECK(seen.callbacks == 1);
  CHECK(seen.free == here.free_at_start);
}
