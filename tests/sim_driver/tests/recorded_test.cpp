#include <catch2/catch.hpp>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "tests/sim_driver/tests/recording.h"
#include "tests/sim_driver/tests/vmm_fixture.h"

namespace {

// Runs `call` as a thread does that has no context.
CUresult without_context(const std::function<CUresult()>& call) {
  CUcontext context = nullptr;
  REQUIRE(cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS);
  const CUresult result = call();
  REQUIRE(cuCtxPushCurrent_v2(context) == CUDA_SUCCESS);
  return result;
}

CUresult create_result(CUmemGenericAllocationHandle* out, std::size_t bytes) {
  const CUmemAllocationProp prop = device_memory();
  return cuMemCreate(out, bytes, &prop, 0);
}

std::map<std::string, std::function<CUresult()>> simulated_calls(const InContext& here, CUstream stream) {
  static CUdeviceptr p;
  static CUdeviceptr pooled;
  const CUdeviceptr live = here.alloc(1 << 20), second = here.alloc(1 << 20), third = here.alloc(1 << 20);
  CUdeviceptr fourth = 0;
  REQUIRE(cuMemAllocAsync(&fourth, 100, stream) == CUDA_SUCCESS);
  static std::size_t total, pitch;
  static CUdevice device;
  static CUmemGenericAllocationHandle h;
  static CUdeviceptr range;
  const auto handle = create(kPage);
  h = create(kPage);
  range = reserve(2 * kPage);
  return {
      {"cuMemAlloc(&p,0)", [] { return cuMemAlloc_v2(&p, 0); }},
      {"cuMemAlloc(NULL,1)", [] { return cuMemAlloc_v2(nullptr, 1); }},
      {"cuMemAlloc(&p,1<<50)", [] { return cuMemAlloc_v2(&p, 1ULL << 50); }},
      {"cuMemAlloc(&p,SIZE_MAX)", [] { return cuMemAlloc_v2(&p, SIZE_MAX); }},
      {"cuMemFree(0)", [] { return cuMemFree_v2(0); }},
      {"cuMemFree(bad)", [] { return cuMemFree_v2(0xdeadbeef000); }},
      {"cuMemFree(inside)", [=] { return cuMemFree_v2(live + 256); }},
      {"cuMemFree(p)", [=] { return cuMemFree_v2(live); }},
      {"cuMemFree(p) again", [=] { return cuMemFree_v2(live); }},
      {"cuMemAllocManaged(flags 0)", [] { return cuMemAllocManaged(&p, 1, 0); }},
      {"cuMemAllocManaged(0 bytes)", [] { return cuMemAllocManaged(&p, 0, CU_MEM_ATTACH_GLOBAL); }},
      {"cuMemAllocPitch(element 3)", [] { return cuMemAllocPitch_v2(&p, &pitch, 64, 64, 3); }},
      {"cuMemAllocPitch(0 wide)", [] { return cuMemAllocPitch_v2(&p, &pitch, 0, 64, 4); }},
      {"cuMemAllocAsync(&p,0)", [] { return cuMemAllocAsync(&p, 0, nullptr); }},
      {"cuMemAllocAsync(NULL)", [] { return cuMemAllocAsync(nullptr, 1, nullptr); }},
      {"cuMemAllocAsync(1<<50)", [] { return cuMemAllocAsync(&p, 1ULL << 50, nullptr); }},
      {"cuMemFreeAsync(0)", [] { return cuMemFreeAsync(0, nullptr); }},
      {"cuMemFreeAsync(bad)", [] { return cuMemFreeAsync(0xdeadbeef000, nullptr); }},
      {"cuMemFreeAsync(of cuMemAlloc)", [=] { return cuMemFreeAsync(third, nullptr); }},
      {"cuMemFree(of cuMemAllocAsync)", [=] { return cuMemFree_v2(fourth); }},
      {"cuMemGetInfo(NULL,&t)", [] { return cuMemGetInfo_v2(nullptr, &total); }},
      {"cuMemGetInfo(NULL,NULL)", [] { return cuMemGetInfo_v2(nullptr, nullptr); }},
      {"cuDeviceTotalMem(bad device)", [] { return cuDeviceTotalMem_v2(&total, 99); }},
      {"no context: cuMemAlloc", [] { return without_context([] { return cuMemAlloc_v2(&p, 1); }); }},
      {"no context: cuMemGetInfo", [] { return without_context([] { return cuMemGetInfo_v2(&total, &total); }); }},
      {"no context: cuMemAllocAsync(stream 0)",
       [] { return without_context([] { return cuMemAllocAsync(&p, 1, nullptr); }); }},
      {"no context: cuMemAllocAsync(own stream)",
       [=] { return without_context([=] { return cuMemAllocAsync(&pooled, 1, stream); }); }},
      {"no context: cuMemFreeAsync(own stream)",
       [=] { return without_context([=] { return cuMemFreeAsync(pooled, stream); }); }},
      {"no context: cuCtxGetDevice", [] { return without_context([] { return cuCtxGetDevice(&device); }); }},
      {"no context: cuMemFree of a live pointer",
       [=] { return without_context([=] { return cuMemFree_v2(second); }); }},
      {"cuMemCreate(1 byte)", [] { return create_result(&h, 1); }},
      {"cuMemCreate(0)", [] { return create_result(&h, 0); }},
      {"cuMemCreate(1<<50)", [] { return create_result(&h, 1ULL << 50); }},
      {"cuMemCreate(NULL)", [] { return create_result(nullptr, kPage); }},
      {"cuMemRelease(h)", [=] { return cuMemRelease(handle); }},
      {"cuMemRelease(h) again", [=] { return cuMemRelease(handle); }},
      {"cuMemUnmap(not mapped)", [] { return cuMemUnmap(range, kPage); }},
      {"cuMemMap twice: first", [] { return cuMemMap(range, kPage, 0, h, 0); }},
      {"cuMemMap twice: second, same place", [] { return cuMemMap(range, kPage, 0, h, 0); }},
      {"cuMemMap same handle, other place", [] { return cuMemMap(range + kPage, kPage, 0, h, 0); }},
      {"cuMemAddressFree(mapped)", [] { return cuMemAddressFree(range, 2 * kPage); }},
      {"no context: cuMemCreate", [] { return without_context([] { return create_result(&h, kPage); }); }},
      {"no context: cuMemRelease", [] { return without_context([] { return cuMemRelease(h); }); }},
  };
}

// The call crashes the real driver.
bool is_crash(const std::string& result) { return result.rfind("SIGSEGV", 0) == 0; }

}  // namespace

TEST_CASE("every recorded result code of a simulated call is the simulator's too") {
  const InContext here;
  CUstream stream = nullptr;
  REQUIRE(cuStreamCreate(&stream, 0) == CUDA_SUCCESS);
  const auto calls = simulated_calls(here, stream);
  std::size_t compared = 0;
  for (const auto& row : rows_of("errors.tsv")) {
    const auto call = calls.find(row[0]);
    INFO(row[0]);
    if (call == calls.end()) {
      CHECK(is_crash(row[1]));
      continue;
    }
    CHECK(std::to_string(call->second()) == row[1]);
    ++compared;
  }
  CHECK(compared == calls.size());
}

TEST_CASE("every recorded pitch is the simulator's too") {
  const InContext here;
  const auto rows = rows_of("pitch.tsv");
  REQUIRE(rows.size() == 33);
  for (const auto& row : rows) {
    CUdeviceptr address = 0;
    std::size_t pitch = 0;
    const CUresult result = cuMemAllocPitch_v2(&address, &pitch, std::stoul(row[0]), std::stoul(row[1]),
                                               static_cast<unsigned int>(std::stoul(row[2])));
    INFO(row[0] << " wide, element " << row[2]);
    CHECK(std::to_string(result) == row[3]);
    CHECK(std::to_string(pitch) == row[4]);
    CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
  }
  CHECK(here.taken() == 0);
}

TEST_CASE("small requests fill pages as on the real driver") {
  const InContext here;
  struct Pattern {
    std::size_t bytes, pages;
  };
  for (const Pattern pattern : {Pattern{300000, 34}, Pattern{600000, 67}, Pattern{100000, 10}}) {
    std::vector<CUdeviceptr> live;
    for (int i = 0; i < 200; ++i) live.push_back(here.alloc(pattern.bytes));
    CHECK(here.taken() == pattern.pages * kPage);
    for (const CUdeviceptr address : live) REQUIRE(cuMemFree_v2(address) == CUDA_SUCCESS);
    CHECK(here.taken() == 0);
  }
}
