/* What the preloaded part and the core know of each other: one struct each way. */
#ifndef VRAMGUARD_PRELOAD_CONTRACT_H
#define VRAMGUARD_PRELOAD_CONTRACT_H

#include "shim/vramguard.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Thread-local data lives in the preloaded part alone: a host may have used up the static TLS that a library loaded
 * later would need. */
struct vg_thread_state {
  /* The stream that this thread used last and the device it was found on, while no stream has ended since. */
  const void* stream;
  uint64_t streams_ended;
  int stream_device;
  int in_driver_call; /* this thread is inside a driver call that we made: whatever comes back to us passes uncounted */
  struct vramguard_refusal refusal; /* the last one; its size is 0 before */
};

struct vg_preload_api {
  const char* build; /* VRAMGUARD_VERSION; the two files belong together only when it is equal */
  unsigned function_count;
  long thread_state_offset; /* of a thread's vg_thread_state from its thread pointer: static TLS, so equal for all
                               threads */
  /* What the program would reach without us: another interposer's function, or the driver's (NVML's for names that
   * begin with nvml). NULL if there is none, or its library is not loaded. */
  void* (*chain_symbol)(const char* name);
  /* The driver's own function, past every interposer. NULL if this driver does not export it. */
  void* (*driver_symbol)(const char* name);
  /* Our entry for row `index` of driver_functions.inc: what programs get in place of the driver's function. */
  void* (*entry)(unsigned index);
  /* 1 if VRAMGUARD_ON_ERROR=run: go on unguarded where the guard cannot start. */
  int (*run_on_error)(void);
};

/* The core's side of vramguard.h, function by function. */
struct vg_c_api {
  int (*device_count)(void);
  int (*get_statistics)(int, struct vramguard_statistics*);
  int (*reset_peak)(int);
  int (*last_refusal)(struct vramguard_refusal*);
  int (*set_budget)(int, uint64_t);
  int (*set_policy)(const char*);
  int (*set_device_policy)(int, const struct vramguard_policy*);
  int (*add_oom_hook)(const char*, int, uint64_t, vramguard_oom_hook, void*);
  int (*remove_oom_hook)(const char*);
  int (*register_hook)(const struct vramguard_hook*);
  int (*unregister_hook)(vramguard_oom_hook, void*);
  int (*set_checkpoint)(vramguard_checkpoint, void*);
  int (*remove_checkpoint)(vramguard_checkpoint, void*);
  int (*add_pressure_listener)(vramguard_pressure_listener, void*);
  int (*remove_pressure_listener)(vramguard_pressure_listener, void*);
  int (*reserve)(int, uint64_t);
  uint64_t (*release_reservation)(int);
  int (*has_reservation)(int);
};

struct vg_core_api {
  const char* build;
  unsigned function_count;
  void* const* functions; /* the wrapper of each row */
  const struct vg_c_api* c_api;
};

/* The only symbol that the core exports. Callable from several threads at once, any number of times; never blocks.
 * NULL when the two files do not belong together. */
typedef const struct vg_core_api* (*vg_core_attach_function)(const struct vg_preload_api*);
#define VG_CORE_ATTACH "vramguard_core_attach"

#ifdef __cplusplus
}
#endif

#endif
