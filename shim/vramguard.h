/* vramguard for programs that know of it: numbers, settings and callbacks of the guard in this process.
 *
 * The functions are weak: a program that is linked without vramguard runs without it, and finds them null.
 *
 *     #include <vramguard/vramguard.h>
 *     if (vramguard_set_checkpoint) vramguard_set_checkpoint(save_everything, state);
 *
 * They are there where the library is preloaded, and work from the moment when CUDA has been initialised; before that,
 * with VRAMGUARD=0, and in a forked child until its own cuInit, they return VRAMGUARD_NOT_RUNNING. All are thread-safe.
 * None calls the driver but those of the reservation. `device` is CUDA's number of a device, as the program sees
 * it. Sizes are bytes. */
#ifndef VRAMGUARD_VRAMGUARD_H
#define VRAMGUARD_VRAMGUARD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef VRAMGUARD_API
#define VRAMGUARD_API __attribute__((weak))
#endif

#define VRAMGUARD_UNLIMITED UINT64_MAX

enum vramguard_result {
  VRAMGUARD_OK = 0,
  VRAMGUARD_NOT_RUNNING = -1, /* no guard in this process, or not yet */
  VRAMGUARD_NO_DEVICE = -2,   /* no device of that number */
  VRAMGUARD_INVALID = -3,     /* an argument that cannot be */
  VRAMGUARD_NOT_FOUND = -4,   /* no hook of that name */
  VRAMGUARD_NO_MEMORY = -5
};

enum vramguard_level {
  VRAMGUARD_LEVEL_NONE = 0,
  VRAMGUARD_LEVEL_LOW,
  VRAMGUARD_LEVEL_MEDIUM,
  VRAMGUARD_LEVEL_HIGH,
  VRAMGUARD_LEVEL_CRITICAL
};

/* Set `size` to sizeof(struct vramguard_statistics) before the call: a later version may know more fields, and fills in
 * those that the caller knows. */
struct vramguard_statistics {
  size_t size;
  uint64_t budget; /* VRAMGUARD_UNLIMITED: none */
  uint64_t used;   /* by this process, contexts included, the sentinel not */
  uint64_t peak;   /* the most of it */
  uint64_t sentinel;
  uint64_t device_total;
  uint64_t device_free; /* as last seen; VRAMGUARD_UNLIMITED: unknown */
  uint64_t allocations; /* calls that took memory */
  uint64_t frees;
  uint64_t refused;         /* requests that did not fit */
  uint64_t recovered;       /* of those: served after all */
  int level;                /* enum vramguard_level */
  uint64_t spilled;         /* host memory that serves requests under the policy spill, of all devices together */
  uint64_t sentinel_wanted; /* VRAMGUARD_UNLIMITED: all of the budget that is unused */
};

/* A request that does not fit, as a callback is told of it. Valid during the callback. */
struct vramguard_request {
  size_t size; /* of this struct, as the library knows it */
  int device;
  uint64_t requested;
  uint64_t missing; /* what would have to be freed */
  uint64_t budget;  /* VRAMGUARD_UNLIMITED: none; then the card is full */
  uint64_t used;
  unsigned attempt;     /* how often it was tried */
  unsigned deadline_ms; /* how long it can still wait */
  uint64_t device_free; /* VRAMGUARD_UNLIMITED: unknown */
};

enum vramguard_scope {
  VRAMGUARD_SCOPE_BUDGET = 0,
  VRAMGUARD_SCOPE_LEAVE_FREE, /* the card is to keep so much */
  VRAMGUARD_SCOPE_DEVICE      /* the card is full */
};

/* Why a request was refused. Set `size` before the call, as of vramguard_statistics. */
struct vramguard_refusal {
  size_t size;
  int device;
  int scope;    /* enum vramguard_scope: what was full */
  int deferred; /* 1: hooks and policy act when this thread asks for as much again (defer_first_refusal) */
  uint64_t requested;
  uint64_t missing; /* of the budget */
  uint64_t budget;  /* VRAMGUARD_UNLIMITED: none */
  uint64_t used;
  uint64_t sentinel;
};

struct vramguard_pressure {
  size_t size; /* of this struct, as the library knows it */
  int device;
  int from, to; /* enum vramguard_level */
  uint64_t budget, used, free;
};

/* Called in the refused call, on its thread, possibly on several threads at once. It may use CUDA and free memory; its
 * own requests that do not fit are refused at once. It must not throw. Returns what it believes it has freed: only what
 * really is free counts; or VRAMGUARD_HOOK_FAILED, and after three in a row it rests for 30 s and longer. */
#define VRAMGUARD_HOOK_FAILED UINT64_MAX
typedef uint64_t (*vramguard_oom_hook)(const struct vramguard_request* request, void* context);
/* The same, once per process, under the policy checkpoint-and-fail, before the program is told that there is no memory.
 */
typedef void (*vramguard_checkpoint)(const struct vramguard_request* request, void* context);
/* Called on the guard's own thread after each published change. It must be quick, and must not use CUDA. */
typedef void (*vramguard_pressure_listener)(const struct vramguard_pressure* change, void* context);

/* Set `size` before the call. What a later version adds is 0 for those that do not know it. */
struct vramguard_hook {
  size_t size;
  const char* name; /* for the log, at most 64 bytes */
  int device;       /* runs for requests on this device alone; -1: on any */
  int64_t priority; /* lowest first */
  uint64_t estimated_free;
  uint64_t overhead; /* it is skipped while less than that is free of the budget */
  vramguard_oom_hook hook;
  void* context;
};

struct vramguard_policy {
  size_t size;
  const char* name;         /* as of vramguard_set_policy */
  unsigned wait_timeout_ms; /* of wait-and-retry alone; at most ten minutes */
  uint64_t spill_limit;     /* of spill alone: of all devices together */
};

/* "0.1.0". Works always. */
VRAMGUARD_API const char* vramguard_version(void);
/* The number of guarded devices, or VRAMGUARD_NOT_RUNNING. */
VRAMGUARD_API int vramguard_device_count(void);
VRAMGUARD_API int vramguard_get_statistics(int device, struct vramguard_statistics* statistics);
/* From now on `peak` is the most that is used after this call. */
VRAMGUARD_API int vramguard_reset_peak(int device);
/* Of the calling thread, the last one; VRAMGUARD_NOT_FOUND: none yet. */
VRAMGUARD_API int vramguard_last_refusal(struct vramguard_refusal* refusal);

/* Holds for the next request. A budget below what is used frees nothing: it refuses until use is back under it. The
 * administrator's cap stays. 0 is VRAMGUARD_INVALID. */
VRAMGUARD_API int vramguard_set_budget(int device, uint64_t bytes);
/* "fail", "retry-after-free", "wait-and-retry", "checkpoint-and-fail" or "spill"; for all devices. */
VRAMGUARD_API int vramguard_set_policy(const char* policy);
/* The same for one device, with what the policy needs to know. */
VRAMGUARD_API int vramguard_set_device_policy(int device, const struct vramguard_policy* policy);

/* `name` of at most 64 bytes; hooks of one name replace each other; those of the
 * configuration are left alone. Lowest `priority` first, then the larger estimate.
 */
VRAMGUARD_API int vramguard_add_oom_hook(const char* name, int priority, uint64_t estimated_free,
                                         vramguard_oom_hook hook, void* context);
/* Here and below: when it returns, the one before is not running any more, and never runs again. So a callback must not
 * wait for a thread that removes it. */
VRAMGUARD_API int vramguard_remove_oom_hook(const char* name);
/* A hook with more to say. It goes by its function and context: neither a name nor the two functions above touch it. */
VRAMGUARD_API int vramguard_register_hook(const struct vramguard_hook* hook);
VRAMGUARD_API int vramguard_unregister_hook(vramguard_oom_hook hook, void* context);
/* Null: the configuration's own again. */
VRAMGUARD_API int vramguard_set_checkpoint(vramguard_checkpoint checkpoint, void* context);
/* The configuration's own again, unless another one was set meanwhile. */
VRAMGUARD_API int vramguard_remove_checkpoint(vramguard_checkpoint checkpoint, void* context);
VRAMGUARD_API int vramguard_add_pressure_listener(vramguard_pressure_listener listener, void* context);
/* The listener with this context. A program whose callbacks end before the process does, as an interpreter's do, must
 * remove them first. */
VRAMGUARD_API int vramguard_remove_pressure_listener(vramguard_pressure_listener listener, void* context);

/* Holds a sentinel of so many bytes from now on, whatever the configuration says, inside the budget; taken or given
 * back at once, as far as that goes. A sentinel of "all" stays that, and the administrator's cap holds. */
VRAMGUARD_API int vramguard_reserve(int device, uint64_t bytes);
/* What the sentinel held and gives back now, until vramguard_reserve; 0 if there was nothing, or no guard. */
VRAMGUARD_API uint64_t vramguard_release_reservation(int device);
/* 1 or 0. */
VRAMGUARD_API int vramguard_has_reservation(int device);

#ifdef __cplusplus
}
#endif

#endif
