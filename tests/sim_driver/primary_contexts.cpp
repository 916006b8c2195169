#include "tests/sim_driver/call.h"
#include "tests/sim_driver/contexts.h"

namespace vgsim {
namespace {

CUresult retain(CUcontext* out, CUdevice ordinal) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!device->primary.alive) {
    device->primary.flags = device->primary_flags;
    if (const CUresult result = start_context(device->primary); result != CUDA_SUCCESS) return result;
  }
  ++device->primary_retains;
  *out = handle_of(&device->primary);
  return CUDA_SUCCESS;
}

CUresult release(CUdevice ordinal) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary_retains == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (--device->primary_retains == 0 && device->primary.alive) end_context(device->primary);
  return CUDA_SUCCESS;
}

// The references stay: whoever retained the context may still release it.
CUresult reset(CUdevice ordinal) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary.alive) end_context(device->primary);
  return CUDA_SUCCESS;
}

CUresult get_state(CUdevice ordinal, unsigned int* flags, int* active) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (!flags || !active) return CUDA_ERROR_INVALID_VALUE;
  *flags = device->primary_flags;
  *active = device->primary.alive ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult set_flags(CUdevice ordinal, unsigned int flags, bool while_active) {
  Device* device = find_device(ordinal);
  if (!device) return CUDA_ERROR_INVALID_DEVICE;
  if (device->primary.alive && !while_active) return CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE;
  device->primary_flags = flags;
  device->primary.flags = flags;
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuDevicePrimaryCtxRetain, (CUcontext * out, CUdevice device), retain(out, device))
VGSIM_API(cuDevicePrimaryCtxRelease, (CUdevice device), release(device))
VGSIM_API(cuDevicePrimaryCtxRelease_v2, (CUdevice device), release(device))
VGSIM_API(cuDevicePrimaryCtxReset, (CUdevice device), reset(device))
VGSIM_API(cuDevicePrimaryCtxReset_v2, (CUdevice device), reset(device))
VGSIM_API(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int* flags, int* active),
          get_state(device, flags, active))
VGSIM_API(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned int flags), set_flags(device, flags, false))
VGSIM_API(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned int flags), set_flags(device, flags, true))
