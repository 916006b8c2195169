#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/sim_driver/identity.h"
#include "tests/sim_driver/nvml_call.h"
#include "tests/sim_driver/shared_state.h"

// What tools show of a device besides its memory. Nothing is computed here, so all of it is at rest.
namespace vgsim {
namespace {

constexpr unsigned int kPciDevice = 0x2335'10de;  // an H200's, with its maker's number
constexpr unsigned int kPciSubsystem = 0x18be'10de;

// The structures of versions 1 and 2 begin as that of 3, but end before the fields that came later.
enum class PciVersion { First, Second, Third };

nvmlReturn_t pci_info(nvmlDevice_t device, nvmlPciInfo_t* out, PciVersion version) {
  const int index = index_of(device);
  if (index < 0 || !out) return NVML_ERROR_INVALID_ARGUMENT;
  const auto bus = static_cast<unsigned int>(device_identity(index).pci_bus);
  std::snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "0000:%02X:00.0", bus);
  out->domain = 0;
  out->bus = bus;
  out->device = 0;
  out->pciDeviceId = kPciDevice;
  if (version == PciVersion::First) return NVML_SUCCESS;
  out->pciSubSystemId = kPciSubsystem;
  if (version == PciVersion::Second) return NVML_SUCCESS;
  std::snprintf(out->busId, sizeof out->busId, "00000000:%02X:00.0", bus);
  return NVML_SUCCESS;
}

nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int* count) {
  if (index_of(device) < 0 || !count) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

nvmlReturn_t utilization(nvmlDevice_t device, nvmlUtilization_t* out) {
  if (index_of(device) < 0 || !out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = nvmlUtilization_t{0, 0};
  return NVML_SUCCESS;
}

nvmlReturn_t bar1_memory(nvmlDevice_t device, nvmlBAR1Memory_t* out) {
  const int index = index_of(device);
  if (index < 0 || !out) return NVML_ERROR_INVALID_ARGUMENT;
  const unsigned long long total = shared_state()->total(index);
  *out = nvmlBAR1Memory_t{total, total, 0};
  return NVML_SUCCESS;
}

nvmlReturn_t minor_number(nvmlDevice_t device, unsigned int* out) {
  const int index = index_of(device);
  if (index < 0 || !out) return NVML_ERROR_INVALID_ARGUMENT;
  *out = static_cast<unsigned int>(index);
  return NVML_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_NVML(nvmlSystemGetNVMLVersion, Init, (char* out, unsigned int length), put_text("13.580.00-sim", out, length))
VGSIM_NVML(nvmlDeviceGetPciInfo, Init, (nvmlDevice_t device, nvmlPciInfo_t* out),
           pci_info(device, out, PciVersion::First))
VGSIM_NVML(nvmlDeviceGetPciInfo_v2, Init, (nvmlDevice_t device, nvmlPciInfo_t* out),
           pci_info(device, out, PciVersion::Second))
VGSIM_NVML(nvmlDeviceGetPciInfo_v3, Init, (nvmlDevice_t device, nvmlPciInfo_t* out),
           pci_info(device, out, PciVersion::Third))
VGSIM_NVML(nvmlDeviceGetMinorNumber, Init, (nvmlDevice_t device, unsigned int* out), minor_number(device, out))
VGSIM_NVML(nvmlDeviceGetUtilizationRates, Init, (nvmlDevice_t device, nvmlUtilization_t* out), utilization(device, out))
VGSIM_NVML(nvmlDeviceGetBAR1MemoryInfo, Init, (nvmlDevice_t device, nvmlBAR1Memory_t* out), bar1_memory(device, out))
VGSIM_NVML(nvmlDeviceGetGraphicsRunningProcesses, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t*), no_processes(device, count))
VGSIM_NVML(nvmlDeviceGetGraphicsRunningProcesses_v2, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t*), no_processes(device, count))
VGSIM_NVML(nvmlDeviceGetGraphicsRunningProcesses_v3, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t*), no_processes(device, count))
VGSIM_NVML(nvmlDeviceGetMPSComputeRunningProcesses, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v1_t*), no_processes(device, count))
VGSIM_NVML(nvmlDeviceGetMPSComputeRunningProcesses_v2, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_v2_t*), no_processes(device, count))
VGSIM_NVML(nvmlDeviceGetMPSComputeRunningProcesses_v3, Init,
           (nvmlDevice_t device, unsigned int* count, nvmlProcessInfo_t*), no_processes(device, count))
