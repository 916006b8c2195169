// A libvramguard-core.so whose wrappers answer with their row.
#include <stddef.h>

#include "shim/preload/contract.h"
#include "tests/portability/aarch64/arguments.h"

enum {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) VG_INDEX_##symbol,
#define VG_NVML_FUNCTION VG_DRIVER_FUNCTION
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
  VG_FUNCTION_COUNT
};

#define VG_DRIVER_FUNCTION(symbol, since, parameters) \
  static int wrapped_##symbol(PARAMETERS) { return ARRIVED ? kFromCore + VG_INDEX_##symbol : kBroken; }
#define VG_NVML_FUNCTION VG_DRIVER_FUNCTION
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION

static void* const kFunctions[] = {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) (void*)wrapped_##symbol,
#define VG_NVML_FUNCTION VG_DRIVER_FUNCTION
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};

static const struct vg_core_api kCore = {
    .build = VRAMGUARD_VERSION, .function_count = VG_FUNCTION_COUNT, .functions = kFunctions};

const struct vg_core_api* vramguard_core_attach(const struct vg_preload_api* preload) {
  const struct vg_thread_state* state =
      (const struct vg_thread_state*)((const char*)__builtin_thread_pointer() + preload->thread_state_offset);
  return state->in_driver_call == 0 ? &kCore : NULL;
}
