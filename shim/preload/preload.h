/* The preloaded part: what its files share. libc only; no constructor, no malloc, nothing of the loader in the way of
 * a program that never uses CUDA. */
#ifndef VRAMGUARD_PRELOAD_H
#define VRAMGUARD_PRELOAD_H

#include <stddef.h>

#include "shim/preload/contract.h"

struct link_map;

typedef void* (*vg_dlsym_function)(void* handle, const char* name);
typedef void* (*vg_dlvsym_function)(void* handle, const char* name, const char* version);

enum {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) VG_INDEX_##symbol,
#define VG_NVML_FUNCTION VG_DRIVER_FUNCTION
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
  VG_FUNCTION_COUNT
};

/* entries_<machine>.S */
void* vg_entry(unsigned index);
int vg_is_entry(const void* address);

/* symbols.c: a look-up of our own, because the loader's starts with dlsym. */
vg_dlsym_function vg_next_dlsym(void); /* the dlsym behind ours: another interposer's, or libc's */
vg_dlvsym_function vg_next_dlvsym(void);
vg_dlsym_function vg_libc_dlsym(void); /* libc's, past every interposer */
/* Whether RTLD_NEXT, asked from `object`, comes to us before it comes to another definition of `name`. */
int vg_next_is_ours(const struct link_map* object, const char* name);

/* driver_library.c */
int vg_library_holds(const char* symbol,
                     const void* address);   /* inside the library of that symbol that we forward to */
void* vg_library_handle(const char* symbol); /* its handle; NULL while it is not loaded */
void* vg_chain_symbol(const char* name);
void* vg_driver_symbol(const char* name);

/* names.c */
int vg_function_index(const char* name); /* the row of that name, or -1 */
const char* vg_function_name(unsigned index);

/* settings.c: the environment, read once. */
int vg_disabled(void);     /* VRAMGUARD=0 */
int vg_run_on_error(void); /* VRAMGUARD_ON_ERROR=run */

/* boot.c */
extern __thread struct vg_thread_state vg_thread;
extern void* const*
    vg_core_functions; /* the core's wrappers; NULL until it is loaded. Written once, read by every entry */
extern const struct vg_c_api* vg_core_c_api; /* published after the wrappers; NULL until then */
void* vg_boot(unsigned index);               /* where an entry goes while the core is not loaded */

/* refusal.c: what stands in for the core when it cannot be loaded. */
void vg_say_core_failed(const char* reason);
void* vg_stand_in(unsigned index);

/* A string compare that the compiler may not turn into a call: sanitizers intercept strcmp before they are ready. */
static inline int vg_same(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}
static inline int vg_starts_with(const char* text, const char* prefix) {
  while (*prefix && *text == *prefix) ++text, ++prefix;
  return !*prefix;
}

#endif
