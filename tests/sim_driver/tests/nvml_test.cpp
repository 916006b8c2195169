#include <dlfcn.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <chrono>
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

TEST_CASE("NVML tells where a device is plugged in") {
  const nvmlDevice_t device = handle(1);
  nvmlPciInfo_t pci{};
  using GetPci = nvmlReturn_t(nvmlDevice_t, nvmlPciInfo_t*);
  CHECK(nvml<GetPci>("nvmlDeviceGetPciInfo_v3")(device, &pci) == NVML_SUCCESS);
  CHECK(pci.bus == static_cast<unsigned int>(vgsim::device_identity(1).pci_bus));
  CHECK(std::string(pci.busId) == "00000000:47:00.0");
  CHECK(std::string(pci.busIdLegacy) == "0000:47:00.0");
  CHECK(pci.pciDeviceId == 0x233510de);
  CHECK(nvml<GetPci>("nvmlDeviceGetPciInfo_v3")(handle(0), &pci) == NVML_SUCCESS);
  CHECK(std::string(pci.busId) == "00000000:3B:00.0");
  CHECK(nvml<GetPci>("nvmlDeviceGetPciInfo_v3")(device, &pci) == NVML_SUCCESS);
  nvmlDevice_t same = nullptr;
  CHECK(nvml<nvmlReturn_t(const char*, nvmlDevice_t*)>("nvmlDeviceGetHandleByPciBusId_v2")(pci.busId, &same) ==
        NVML_SUCCESS);
  CHECK(same == device);
  // Older programs have room for less, and get less.
  pci.pciSubSystemId = 5;
  pci.busId[0] = 'x';
  CHECK(nvml<GetPci>("nvmlDeviceGetPciInfo")(device, &pci) == NVML_SUCCESS);
  CHECK(pci.pciSubSystemId == 5);
  CHECK(nvml<GetPci>("nvmlDeviceGetPciInfo_v2")(device, &pci) == NVML_SUCCESS);
  CHECK(pci.pciSubSystemId != 5);
  CHECK(pci.busId[0] == 'x');
  CHECK(nvml<GetPci>("nvmlDeviceGetPciInfo_v3")(nullptr, &pci) == NVML_ERROR_INVALID_ARGUMENT);
  unsigned int minor = 9;
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, unsigned int*)>("nvmlDeviceGetMinorNumber")(device, &minor) == NVML_SUCCESS);
  CHECK(minor == 1);
}

TEST_CASE("NVML shows a device at rest, without graphics and MPS") {
  const InContext here(1);
  const nvmlDevice_t device = handle(1);
  nvmlUtilization_t use{7, 7};
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, nvmlUtilization_t*)>("nvmlDeviceGetUtilizationRates")(device, &use) ==
        NVML_SUCCESS);
  CHECK(use.gpu + use.memory == 0);
  nvmlBAR1Memory_t bar1{};
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, nvmlBAR1Memory_t*)>("nvmlDeviceGetBAR1MemoryInfo")(device, &bar1) ==
        NVML_SUCCESS);
  CHECK(bar1.bar1Total == 8192 * kMiB);
  CHECK(bar1.bar1Free == bar1.bar1Total);
  for (const char* name :
       {"nvmlDeviceGetGraphicsRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses_v2",
        "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses",
        "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses_v3"}) {
    unsigned int count = 3;
    CHECK(nvml<nvmlReturn_t(nvmlDevice_t, unsigned int*, void*)>(name)(device, &count, nullptr) == NVML_SUCCESS);
    CHECK(count == 0);
  }
  char version[80];
  CHECK(nvml<nvmlReturn_t(char*, unsigned int)>("nvmlSystemGetNVMLVersion")(version, sizeof version) == NVML_SUCCESS);
  CHECK(std::string(version).rfind("13.", 0) == 0);
}

TEST_CASE("functions of NVML are slow and fail on demand as those of the driver") {
  const std::string own = scratch_file("nvml-faults");
  const auto seconds = [&](const Environment& extra) {
    Environment all = extra;
    all["VGSIM_STATE"] = own;
    const auto start = std::chrono::steady_clock::now();
    CHECK(output_of({"nvml", SIM_NVML}, all) == "1 545259520");
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  CHECK(seconds({{"VGSIM_DELAY", "nvmlDeviceGetComputeRunningProcesses_v3=500"}}) >= 0.5);
  Child failing(role({"nvml", SIM_NVML}),
                {{"VGSIM_STATE", own}, {"VGSIM_FAIL", "nvmlDeviceGetComputeRunningProcesses_v3=999"}});
  CHECK(failing.wait() == 1);
  const nvmlDevice_t device = handle(0);
  simctl({"delay", "nvmlDeviceGetMinorNumber", "300"});
  const auto start = std::chrono::steady_clock::now();
  unsigned int minor = 0;
  CHECK(nvml<nvmlReturn_t(nvmlDevice_t, unsigned int*)>("nvmlDeviceGetMinorNumber")(device, &minor) == NVML_SUCCESS);
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(300));
  simctl({"delay", "nvmlDeviceGetMinorNumber", "0"});
}

TEST_CASE("NVML supports no memory query where the device shares the memory of the host") {
  CHECK(output_of({"integrated", SIM_NVML}, {{"VGSIM_STATE", scratch_file("discrete")}}) == "0 0 0 0");
  CHECK(output_of({"integrated", SIM_NVML}, {{"VGSIM_STATE", scratch_file("integrated")}, {"VGSIM_INTEGRATED", "1"}}) ==
        "1 3 3 3");
}

TEST_CASE("NVML can be as blind as it is in containers") {
  const std::string own = scratch_file("nvml");
  CHECK(output_of({"nvml", SIM_NVML}, {{"VGSIM_STATE", own}}) == "1 545259520");
  CHECK(output_of({"nvml", SIM_NVML}, {{"VGSIM_STATE", own}, {"VGSIM_NVML", "zero"}}) == "1 0");
  CHECK(output_of({"nvml", SIM_NVML}, {{"VGSIM_STATE", own}, {"VGSIM_NVML", "hidden"}}) == "0 0");
}
