#include <catch2/catch.hpp>

#include <string>

#include "tests/sim_driver/identity.h"
#include "tests/sim_driver/tests/child.h"
#include "tests/sim_driver/tests/context_fixture.h"

namespace {

std::string uuid(int index) { return vgsim::device_identity(index).uuid_text; }
std::string pci(int index) { return vgsim::device_identity(index).pci_bus_id; }

std::string seen(const std::string& visible) {
  return output_of(
      {"devices"},
      {{"CUDA_VISIBLE_DEVICES", visible}, {"VGSIM_DEVICES", "4"}, {"VGSIM_STATE", scratch_file("four-devices")}});
}

}  // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES shows what the real driver shows") {
  const std::string none = "100";
  CHECK(output_of({"devices"}, {{"VGSIM_DEVICES", "4"}, {"VGSIM_STATE", scratch_file("four-devices")}}) ==
        "0 " + pci(0) + " " + pci(1) + " " + pci(2) + " " + pci(3));
  CHECK(seen("2") == "0 " + pci(2));
  CHECK(seen("3,0") == "0 " + pci(3) + " " + pci(0));
  CHECK(seen("1,-1,0") == "0 " + pci(1));
  CHECK(seen("1,9,0") == "0 " + pci(1));
  CHECK(seen("0,0") == none);
  CHECK(seen("") == none);
  CHECK(seen("-1") == none);
  CHECK(seen("nothing") == none);
  CHECK(seen(uuid(2)) == "0 " + pci(2));
  CHECK(seen(uuid(2).substr(0, 12)) == "0 " + pci(2));
  CHECK(seen(uuid(3) + "," + uuid(1)) == "0 " + pci(3) + " " + pci(1));
  CHECK(seen("GPU-") == none);
  CHECK(seen(uuid(1) + "," + uuid(1)) == none);
}

TEST_CASE("CUDA counts from the fastest device on unless told to count by address, and numbers follow") {
  const auto listed = [](const std::string& order, const std::string& visible) {
    return output_of({"devices"}, {{"VGSIM_DEVICES", "4"},
                                   {"VGSIM_STATE", scratch_file("four-devices")},
                                   {"VGSIM_FASTEST", "2"},
                                   {"CUDA_DEVICE_ORDER", order},
                                   {"CUDA_VISIBLE_DEVICES", visible}});
  };
  CHECK(listed("FASTEST_FIRST", "0,1,2,3") == "0 " + pci(2) + " " + pci(0) + " " + pci(1) + " " + pci(3));
  CHECK(listed("PCI_BUS_ID", "0,1,2,3") == "0 " + pci(0) + " " + pci(1) + " " + pci(2) + " " + pci(3));
  CHECK(listed("FASTEST_FIRST", "1," + uuid(2)) == "0 " + pci(0) + " " + pci(2));
}

TEST_CASE("there may be no device at all") {
  CHECK(output_of({"devices"}, {{"VGSIM_DEVICES", "0"}, {"VGSIM_STATE", scratch_file("no-devices")}}) == "100");
}

TEST_CASE("a device tells its identity and its size") {
  REQUIRE(cuInit(0) == CUDA_SUCCESS);
  int count = 0;
  CHECK(cuDeviceGetCount(&count) == CUDA_SUCCESS);
  CHECK(count == 2);
  CUdevice device = -1;
  CHECK(cuDeviceGet(&device, 2) == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGet(&device, -1) == CUDA_ERROR_INVALID_DEVICE);
  REQUIRE(cuDeviceGet(&device, 1) == CUDA_SUCCESS);

  std::size_t total = 0;
  CHECK(cuDeviceTotalMem_v2(&total, device) == CUDA_SUCCESS);
  CHECK(total == 8192 * kMiB);
  CUuuid id{};
  CHECK(cuDeviceGetUuid_v2(&id, device) == CUDA_SUCCESS);
  const CUuuid expected = vgsim::device_identity(1).uuid;
  CHECK(std::equal(id.bytes, id.bytes + 16, expected.bytes));

  char text[32];
  CHECK(cuDeviceGetPCIBusId(text, sizeof text, device) == CUDA_SUCCESS);
  CHECK(std::string(text) == pci(1));
  CHECK(cuDeviceGetPCIBusId(text, 12, device) == CUDA_ERROR_INVALID_VALUE);
  for (const std::string& form : {pci(1), pci(1).substr(0, 10), pci(1).substr(5)}) {
    device = -1;
    CHECK(cuDeviceGetByPCIBusId(&device, form.c_str()) == CUDA_SUCCESS);
    CHECK(device == 1);
  }
  CHECK(cuDeviceGetByPCIBusId(&device, "0000:ff:00.0") == CUDA_ERROR_INVALID_DEVICE);
  CHECK(cuDeviceGetByPCIBusId(&device, "here") == CUDA_ERROR_INVALID_VALUE);

  int value = 0;
  CHECK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device) == CUDA_SUCCESS);
  CHECK(value == 132);
  CHECK(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(9999), device) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("errors have names and texts, and unknown ones have none") {
  const char* text = nullptr;
  CHECK(cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS);
  CHECK(std::string(text) == "out of memory");
  CHECK(cuGetErrorString(static_cast<CUresult>(12345), &text) == CUDA_ERROR_INVALID_VALUE);
  CHECK(text == nullptr);
}
