/* Which libcuda we forward to: the first one that a look-up or a linked program brings. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "shim/preload/preload.h"

static struct link_map* driver_library; /* in glibc a handle is its link_map */

static const char* base_name(const char* path) {
  const char* base = path;
  for (; *path; ++path)
    if (*path == '/') base = path + 1;
  return base;
}

static struct link_map* library_of(const void* address) {
  Dl_info info;
  struct link_map* library = NULL;
  if (!dladdr1(address, &info, (void**)&library, RTLD_DL_LINKMAP)) return NULL;
  return library && library->l_name && vg_starts_with(base_name(library->l_name), "libcuda.so") ? library : NULL;
}

/* A copy in another dlmopen namespace cannot be reached from here, so it is not ours to answer for. */
static int adopt(struct link_map* library) {
  struct link_map* bound = __atomic_load_n(&driver_library, __ATOMIC_ACQUIRE);
  if (bound) return bound == library;
  if (dlopen(library->l_name, RTLD_LAZY | RTLD_NOLOAD) != (void*)library) return 0;
  struct link_map* expected = NULL;
  return __atomic_compare_exchange_n(&driver_library, &expected, library, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         expected == library;
}

int vg_driver_library_holds(const void* address) {
  struct link_map* library = library_of(address);
  return library && adopt(library);
}

void* vg_driver_handle(void) {
  struct link_map* bound = __atomic_load_n(&driver_library, __ATOMIC_ACQUIRE);
  if (bound) return bound;
  void* handle = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return NULL;
  adopt(handle);
  return __atomic_load_n(&driver_library, __ATOMIC_ACQUIRE);
}

void* vg_driver_symbol(const char* name) {
  void* handle = vg_driver_handle();
  return handle ? vg_libc_dlsym()(handle, name) : NULL;
}

void* vg_chain_symbol(const char* name) {
  void* next = vg_next_dlsym()(RTLD_NEXT, name); /* RTLD_NEXT as seen from this library */
  if (next) return next;
  void* handle = vg_driver_handle();
  return handle ? vg_next_dlsym()(handle, name) : NULL;
}
