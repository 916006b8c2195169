/* Which libcuda and which libnvidia-ml we forward to: the first one that a look-up or a linked program brings. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "shim/preload/preload.h"

struct library {
  const char *file, *any_version;
  struct link_map* bound; /* in glibc a handle is its link_map */
};

static struct library cuda = {"libcuda.so.1", "libcuda.so", NULL};
static struct library nvml = {"libnvidia-ml.so.1", "libnvidia-ml.so", NULL};

static struct library* library_for(const char* symbol) { return vg_starts_with(symbol, "nvml") ? &nvml : &cuda; }

static const char* base_name(const char* path) {
  const char* base = path;
  for (; *path; ++path)
    if (*path == '/') base = path + 1;
  return base;
}

static struct link_map* object_of(const void* address, const struct library* library) {
  Dl_info info;
  struct link_map* object = NULL;
  if (!dladdr1(address, &info, (void**)&object, RTLD_DL_LINKMAP)) return NULL;
  return object && object->l_name && vg_starts_with(base_name(object->l_name), library->any_version) ? object : NULL;
}

/* A copy in another dlmopen namespace cannot be reached from here, so it is not ours to answer for. */
static int adopt(struct library* library, struct link_map* object) {
  struct link_map* bound = __atomic_load_n(&library->bound, __ATOMIC_ACQUIRE);
  if (bound) return bound == object;
  if (dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD) != (void*)object) return 0;
  struct link_map* expected = NULL;
  return __atomic_compare_exchange_n(&library->bound, &expected, object, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ||
         expected == object;
}

int vg_library_holds(const char* symbol, const void* address) {
  struct library* library = library_for(symbol);
  struct link_map* object = object_of(address, library);
  return object && adopt(library, object);
}

void* vg_library_handle(const char* symbol) {
  struct library* library = library_for(symbol);
  struct link_map* bound = __atomic_load_n(&library->bound, __ATOMIC_ACQUIRE);
  if (bound) return bound;
  void* handle = dlopen(library->file, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return NULL;
  adopt(library, handle);
  return __atomic_load_n(&library->bound, __ATOMIC_ACQUIRE);
}

void* vg_driver_symbol(const char* name) {
  void* handle = vg_library_handle(name);
  return handle ? vg_libc_dlsym()(handle, name) : NULL;
}

void* vg_chain_symbol(const char* name) {
  void* next = vg_next_dlsym()(RTLD_NEXT, name); /* RTLD_NEXT as seen from this library */
  if (next) return next;
  void* handle = vg_library_handle(name);
  return handle ? vg_next_dlsym()(handle, name) : NULL;
}
