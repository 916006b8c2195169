#include "tests/sim_driver/call.h"

namespace vgsim {
namespace {

CUresult can_access(int* out, CUdevice device, CUdevice peer) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!find_device(device) || !find_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *out = device != peer ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult p2p_attribute(int* out, CUdevice device, CUdevice peer) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  if (!find_device(device) || !find_device(peer) || device == peer) return CUDA_ERROR_INVALID_DEVICE;
  *out = 1;
  return CUDA_SUCCESS;
}

CUresult find_pair(CUcontext peer_handle, Context*& context, Context*& peer) {
  if (const CUresult result = current_context(context); result != CUDA_SUCCESS) return result;
  peer = find_context(peer_handle);
  if (!peer || !peer->alive) return CUDA_ERROR_INVALID_CONTEXT;
  return peer->device == context->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

// Costs no memory on either device, as measured.
CUresult enable(CUcontext handle, unsigned int flags) {
  Context *context = nullptr, *peer = nullptr;
  if (const CUresult result = find_pair(handle, context, peer); result != CUDA_SUCCESS) return result;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult disable(CUcontext handle) {
  Context *context = nullptr, *peer = nullptr;
  if (const CUresult result = find_pair(handle, context, peer); result != CUDA_SUCCESS) return result;
  return context->peers.erase(peer) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

}  // namespace
}  // namespace vgsim

using namespace vgsim;

VGSIM_API(cuDeviceCanAccessPeer, (int* out, CUdevice device, CUdevice peer), can_access(out, device, peer))
VGSIM_API(cuDeviceGetP2PAttribute, (int* out, CUdevice_P2PAttribute, CUdevice device, CUdevice peer),
          p2p_attribute(out, device, peer))
VGSIM_API(cuCtxEnablePeerAccess, (CUcontext peer, unsigned int flags), enable(peer, flags))
VGSIM_API(cuCtxDisablePeerAccess, (CUcontext peer), disable(peer))
