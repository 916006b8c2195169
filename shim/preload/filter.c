/* What dlsym and dlvsym answer for a name of our table. Everything else, and every doubtful case, is left to the next
 * dlsym: it is entered with the caller's own return address, so RTLD_NEXT and RTLD_DEFAULT keep their meaning. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "shim/preload/preload.h"

/* Returned in two registers; read by the assembly. */
struct answer {
  long answered; /* 0: go on to `address`, the next dlsym; 1: `address` is the answer */
  void* address;
};

static void* ask(void* handle, const char* name, const char* version) {
  return version ? vg_next_dlvsym()(handle, name, version) : vg_next_dlsym()(handle, name);
}

static int inside(const void* address, const void* library_address) {
  Dl_info caller, library;
  return dladdr(address, &caller) && dladdr(library_address, &library) && caller.dli_fbase == library.dli_fbase;
}

static int next_is_ours(const void* caller, const char* name) {
  Dl_info info;
  struct link_map* object = NULL;
  return dladdr1(caller, &info, (void**)&object, RTLD_DL_LINKMAP) && object && vg_next_is_ours(object, name);
}

/* Our exports stand in the global scope. They must not make a process without libcuda, or with one that lacks the
 * function, or one that is to be left alone, believe that it is there: then the answer is what stands behind us. That
 * look-up comes last, as dlerror must tell of it.
 */
static int hidden_from_global_scope(void* handle, const char* name, const void* caller, const char* version,
                                    void** answer) {
  if (!vg_disabled() && vg_driver_symbol(name)) return 0;
  if (handle == RTLD_NEXT ? !next_is_ours(caller, name) : !vg_is_entry(ask(handle, name, version))) return 0;
  *answer = ask(RTLD_NEXT, name, version);
  return 1;
}

struct answer vg_filter(void* handle, const char* name, const void* caller, const char* version) {
  struct answer pass = {0, version ? (void*)vg_next_dlvsym() : (void*)vg_next_dlsym()};
  if (!name || !(vg_starts_with(name, "cu") || vg_starts_with(name, "nvml"))) return pass;
  const int index = vg_function_index(name);
  if (index < 0) return pass;

  if (handle == RTLD_NEXT || handle == RTLD_DEFAULT || handle == (void*)_r_debug.r_map) {
    struct answer hidden = {1, NULL};
    return hidden_from_global_scope(handle, name, caller, version, &hidden.address) ? hidden : pass;
  }
  if (vg_disabled() || vg_thread.in_driver_call) return pass;
  void* found = ask(handle, name, version);
  if (!found || vg_is_entry(found) || inside(caller, found)) return pass; /* the driver looking itself up included */
  if (!vg_library_holds(name, found)) return pass;
  return (struct answer){1, vg_entry((unsigned)index)};
}
