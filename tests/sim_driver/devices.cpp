#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "tests/sim_driver/call.h"
#include "tests/sim_driver/driver_version.h"

namespace vgsim {
namespace {

CUresult init(unsigned int flags) { return flags != 0 ? CUDA_ERROR_INVALID_VALUE : initialise_driver(); }

CUresult get(CUdevice* out, int ordinal) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!find_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *out = ordinal;
  return CUDA_SUCCESS;
}

CUresult get_count(int* out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = static_cast<int>(driver().devices.size());
  return CUDA_SUCCESS;
}

// Writes put(device) where both the output and the device are good.
template <class Out, class Put>
CUresult answer(Out* out, CUdevice ordinal, Put put) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  return put(*device);
}

CUresult get_name(char* out, int length, CUdevice ordinal) {
  return answer(out, ordinal, [&](Device& device) {
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(out, static_cast<std::size_t>(length), "%s", model_of(device.physical).c_str());
    return CUDA_SUCCESS;
  });
}

CUresult get_uuid(CUuuid* out, CUdevice ordinal) {
  return answer(out, ordinal, [&](Device& device) {
    *out = device.identity.uuid;
    return CUDA_SUCCESS;
  });
}

CUresult get_pci_bus_id(char* out, int length, CUdevice ordinal) {
  return answer(out, ordinal, [&](Device& device) {
    if (length <= static_cast<int>(device.identity.pci_bus_id.size())) return CUDA_ERROR_INVALID_VALUE;
    std::strcpy(out, device.identity.pci_bus_id.c_str());
    return CUDA_SUCCESS;
  });
}

// "domain:bus:device.function", "domain:bus:device" or "bus:device.function", all in hexadecimal.
CUresult get_by_pci_bus_id(CUdevice* out, const char* text) {
  if (!out || !text) return CUDA_ERROR_INVALID_VALUE;
  unsigned int domain = 0, bus = 0, slot = 0, function = 0;
  int end = 0;
  const auto whole = [&](int fields, int wanted) { return fields == wanted && text[end] == '\0'; };
  if (!whole(std::sscanf(text, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &end), 4)) {
    function = 0;
    if (!whole(std::sscanf(text, "%x:%x:%x%n", &domain, &bus, &slot, &end), 3)) {
      domain = 0;
      if (!whole(std::sscanf(text, "%x:%x.%x%n", &bus, &slot, &function, &end), 3)) return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (const auto& device : driver().devices) {
    if (domain == 0 && slot == 0 && function == 0 && static_cast<int>(bus) == device->identity.pci_bus) {
      *out = device->ordinal;
      return CUDA_SUCCESS;
    }
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

template <class Size>
CUresult total_memory(Size* out, CUdevice ordinal) {
  return answer(out, ordinal, [&](Device& device) {
    const std::uint64_t total = driver().shared->total(device.physical);
    *out = static_cast<Size>(std::min<std::uint64_t>(total, std::numeric_limits<Size>::max()));
    return CUDA_SUCCESS;
  });
}

CUresult compute_capability(int* major, int* minor, CUdevice ordinal) {
  if (!minor) return CUDA_ERROR_INVALID_VALUE;
  return answer(major, ordinal, [&](Device&) {
    *major = 9;
    *minor = 0;
    return CUDA_SUCCESS;
  });
}

CUresult get_attribute(int* out, CUdevice_attribute attribute, CUdevice ordinal) {
  return answer(out, ordinal, [&](Device& device) {
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
      *out = device.identity.pci_bus;
      return CUDA_SUCCESS;
    }
    if (attribute == CU_DEVICE_ATTRIBUTE_INTEGRATED) {
      *out = environment().integrated;
      return CUDA_SUCCESS;
    }
    switch (attribute) {
#define VGSIM_ATTRIBUTE(name, number, value) \
  case name:                                 \
    *out = value;                            \
    return CUDA_SUCCESS;
#include "tests/sim_driver/device_attributes.inc"
#undef VGSIM_ATTRIBUTE
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult get_properties(CUdevprop_v1* out, CUdevice ordinal) {
  return answer(out, ordinal, [&](Device&) {
    *out = CUdevprop_v1{
        1024, {1024, 1024, 64}, {2147483647, 65535, 65535}, 49152, 65536, 32, 2147483647, 65536, 1980000, 512};
    return CUDA_SUCCESS;
  });
}

CUresult driver_version(int* out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = kDriverVersion;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API_ALWAYS(cuInit, (unsigned int flags), init(flags))
VGSIM_API_ALWAYS(cuDriverGetVersion, (int* out), driver_version(out))
VGSIM_API(cuDeviceGet, (CUdevice * out, int ordinal), get(out, ordinal))
VGSIM_API(cuDeviceGetCount, (int* out), get_count(out))
VGSIM_API(cuDeviceGetName, (char* out, int length, CUdevice device), get_name(out, length, device))
VGSIM_API(cuDeviceGetUuid, (CUuuid * out, CUdevice device), get_uuid(out, device))
VGSIM_API(cuDeviceGetUuid_v2, (CUuuid * out, CUdevice device), get_uuid(out, device))
VGSIM_API(cuDeviceGetPCIBusId, (char* out, int length, CUdevice device), get_pci_bus_id(out, length, device))
VGSIM_API(cuDeviceGetByPCIBusId, (CUdevice * out, const char* id), get_by_pci_bus_id(out, id))
VGSIM_API(cuDeviceTotalMem, (unsigned int* out, CUdevice device), total_memory(out, device))
VGSIM_API(cuDeviceTotalMem_v2, (std::size_t * out, CUdevice device), total_memory(out, device))
VGSIM_API(cuDeviceComputeCapability, (int* major, int* minor, CUdevice device),
          compute_capability(major, minor, device))
VGSIM_API(cuDeviceGetAttribute, (int* out, CUdevice_attribute attribute, CUdevice device),
          get_attribute(out, attribute, device))
VGSIM_API(cuDeviceGetProperties, (CUdevprop_v1 * out, CUdevice device), get_properties(out, device))
