#include <catch2/catch.hpp>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/sim_driver/tests/context_fixture.h"

namespace {

std::vector<std::vector<std::string>> rows_of(const std::string& file) {
  std::ifstream stream(std::string(VRAMGUARD_TEST_DATA) + "/" + file);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    rows.push_back(row);
  }
  return rows;
}

// Runs `call` as a thread does that has no context.
CUresult without_context(const std::function<CUresult()>& call) {
  CUcontext context = nullptr;
  REQUIRE(cuCtxPopCurrent_v2(&context) == CUDA_SUCCESS);
  const CUresult result = call();
  REQUIRE(cuCtxPushCurrent_v2(context) == CUDA_SUCCESS);
  return result;
}

std::map<std::string, std::function<CUresult()>> simulated_calls(CUdeviceptr live, CUdeviceptr second) {
  static CUdeviceptr p;
  static std::size_t total, pitch;
  static CUdevice device;
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
      {"cuMemGetInfo(NULL,&t)", [] { return cuMemGetInfo_v2(nullptr, &total); }},
      {"cuMemGetInfo(NULL,NULL)", [] { return cuMemGetInfo_v2(nullptr, nullptr); }},
      {"cuDeviceTotalMem(bad device)", [] { return cuDeviceTotalMem_v2(&total, 99); }},
      {"no context: cuMemAlloc", [] { return without_context([] { return cuMemAlloc_v2(&p, 1); }); }},
      {"no context: cuMemGetInfo", [] { return without_context([] { return cuMemGetInfo_v2(&total, &total); }); }},
      {"no context: cuCtxGetDevice", [] { return without_context([] { return cuCtxGetDevice(&device); }); }},
      {"no context: cuMemFree of a live pointer",
       [=] { return without_context([=] { return cuMemFree_v2(second); }); }},
  };
}

// Families that this driver does not have yet, and calls that crash the real one.
bool is_not_simulated(const std::string& call, const std::string& result) {
  if (result.rfind("SIGSEGV", 0) == 0) return true;
  for (const char* name : {"cuMemAllocAsync", "cuMemFreeAsync", "cuMemCreate", "cuMemRelease", "cuMemMap", "cuMemUnmap",
                           "cuMemAddressFree"}) {
    if (call.find(name) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("every recorded result code of a simulated call is the simulator's too") {
  const InContext here;
  const auto calls = simulated_calls(here.alloc(1 << 20), here.alloc(1 << 20));
  std::size_t compared = 0;
  for (const auto& row : rows_of("errors.tsv")) {
    const auto call = calls.find(row[0]);
    INFO(row[0]);
    if (call == calls.end()) {
      CHECK(is_not_simulated(row[0], row[1]));
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
