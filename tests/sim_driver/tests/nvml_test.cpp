#include <dlfcn.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/sim_driver/identity.h"
#include "tests/sim_driver/nvml_abi.h"
#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

namespace {

template <class Function>
Function* nvml(const char* name) {
  static void* const library = dlopen(SIM_NVML, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library);
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  REQUIRE(function);
  return function;
}

nvmlDevice_t handle(unsigned int index) {
  nvmlDevice_t device = nullptr;
  REQUIRE(nvml<nvmlReturn_t()>("nvmlInit_v2")() == NVML_SUCCESS);
  REQUIRE(nvml<nvmlReturn_t(unsigned int, nvmlDevice_t*)>("nvmlDeviceGetHandleByIndex_v2")(index, &device) ==
          NVML_SUCCESS);
  return device;
}

}  // namespace

TEST_CASE("NVML refuses before it is initialised") {
  unsigned int count = 0;
  auto* get_count = nvml<nvmlReturn_t(unsigned int*)>("nvmlDeviceGetCount_v2");
  CHECK(get_count(&count) == NVML_ERROR_UNINITIALIZED);
  REQUIRE(nvml<nvmlReturn_t()>("nvmlInit_v2")() == NVML_SUCCESS);
  CHECK(get_count(&count) == NVML_SUCCESS);
  CHECK(count == 2);
  CHECK(nvml<nvmlReturn_t()>("nvmlShutdown")() == NVML_SUCCESS);
  CHECK(get_count(&count) == NVML_ERROR_UNINITIALIZED);
}

TEST_CASE("NVML knows the devices by index and UUID") {
  const nvmlDevice_t device = handle(1);
  char uuid[96];
  REQUIRE(nvml<nvmlReturn_t(nvmlDevice_t, char*, unsigned int)>("nvmlDeviceGetUUID")(device, uuid, sizeof uuid) ==
          NVML_SUCCESS);
  CHECK(uuid == vgsim::device_identity(1).uuid_text);
  nvmlDevice_t same = nullptr;
  CHECK(nvml<nvmlReturn_t(const char*, nvmlDevice_t*)>("nvmlDeviceGetHandleByUUID")(uuid, &same) == NVML_SUCCESS);
  CHECK(same == device);
  unsigned int index = 0;
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, unsigned int*)>("nvmlDeviceGetIndex")(device, &index) == NVML_SUCCESS);
  CHECK(index == 1);
  CHECK(std::string(nvml<const char*(nvmlReturn_t)>("nvmlErrorString")(NVML_SUCCESS)) == "Success");
}

TEST_CASE("NVML tells the memory of a device and of each process") {
  const InContext here(1);
  const CUdeviceptr address = here.alloc(3 * kMiB);
  const nvmlDevice_t device = handle(1);
  nvmlMemory_t memory{};
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, nvmlMemory_t*)>("nvmlDeviceGetMemoryInfo")(device, &memory) == NVML_SUCCESS);
  CHECK(memory.total == 8192 * kMiB);
  CHECK(memory.used == (520 + 4) * kMiB);
  CHECK(memory.free == memory.total - memory.used);
  nvmlMemory_v2_t second{};
  auto* info_v2 = nvml<nvmlReturn_t(nvmlDevice_t, nvmlMemory_v2_t*)>("nvmlDeviceGetMemoryInfo_v2");
  CHECK(info_v2(device, &second) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = nvmlMemory_v2;
  CHECK(info_v2(device, &second) == NVML_SUCCESS);
  CHECK(second.used == memory.used);

  auto* processes =
      nvml<nvmlReturn_t(nvmlDevice_t, unsigned int*, nvmlProcessInfo_t*)>("nvmlDeviceGetComputeRunningProcesses_v3");
  unsigned int count = 0;
  CHECK(processes(device, &count, nullptr) == NVML_ERROR_INSUFFICIENT_SIZE);
  REQUIRE(count == 1);
  nvmlProcessInfo_t info{};
  CHECK(processes(device, &count, &info) == NVML_SUCCESS);
  CHECK(info.pid == static_cast<unsigned int>(getpid()));
  CHECK(info.usedGpuMemory == (520 + 4) * kMiB);
  CHECK(cuMemFree_v2(address) == CUDA_SUCCESS);
}

TEST_CASE("a process that uses nothing is not listed") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  unsigned int count = 5;
  nvmlProcessInfo_v1_t infos[5];
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, unsigned int*, nvmlProcessInfo_v1_t*)>("nvmlDeviceGetComputeRunningProcesses")(
            handle(1), &count, infos) == NVML_SUCCESS);
  CHECK(count == 0);
}

TEST_CASE("NVML can be as blind as it is in containers") {
  const std::string own = scratch_file("nvml");
  CHECK(output_of({"nvml", SIM_NVML}, {{"VGSIM_STATE", own}}) == "1 545259520");
  CHECK(output_of({"nvml", SIM_NVML}, {{"VGSIM_STATE", own}, {"VGSIM_NVML", "zero"}}) == "1 0");
  CHECK(output_of({"nvml", SIM_NVML}, {{"VGSIM_STATE", own}, {"VGSIM_NVML", "hidden"}}) == "0 0");
}
