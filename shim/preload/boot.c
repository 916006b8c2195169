/* Loads the core at the first call that reaches an entry. No thread waits for another: each that finds no core loads it
 * itself (dlopen is idempotent), and the first to finish publishes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

#include "shim/preload/preload.h"

#define CORE_FILE "libvramguard-core.so"
enum { kPathMax = 4096 };

void* const* vg_core_functions __attribute__((visibility("hidden")));
const struct vg_c_api* vg_core_c_api __attribute__((visibility("hidden")));
__thread struct vg_thread_state vg_thread;

/* Only the offset is filled in at run time; whoever does writes the same. */
static struct vg_preload_api own_api = {
    .build = VRAMGUARD_VERSION,
    .function_count = VG_FUNCTION_COUNT,
    .chain_symbol = vg_chain_symbol,
    .driver_symbol = vg_driver_symbol,
    .entry = vg_entry,
    .run_on_error = vg_run_on_error,
};

static size_t length_of(const char* text) {
  const char* end = text;
  while (*end) ++end;
  return (size_t)(end - text);
}

/* Reads the absolute path of the file mapped at `address` from /proc/self/maps: the loader keeps the path as it was
 * given, and the process may have changed its folder since. */
static int mapped_path(const void* address, char* path) {
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return 0;
  char line[kPathMax + 128], chunk[1024];
  size_t used = 0;
  int found = 0;
  for (ssize_t got; !found && (got = read(maps, chunk, sizeof chunk)) > 0;) {
    for (ssize_t i = 0; i < got && !found; ++i) {
      if (chunk[i] != '\n') {
        if (used < sizeof line - 1) line[used++] = chunk[i];
        continue;
      }
      line[used] = 0;
      used = 0;
      uintptr_t bounds[2] = {0, 0};
      const char* c = line;
      for (int side = 0; side < 2; ++side, ++c)
        for (; *c && *c != '-' && *c != ' '; ++c)
          bounds[side] = bounds[side] * 16 + (uintptr_t)(*c <= '9' ? *c - '0' : *c - 'a' + 10);
      if ((uintptr_t)address < bounds[0] || (uintptr_t)address >= bounds[1]) continue;
      while (*c && *c != '/') ++c;
      size_t n = 0;
      for (; c[n] && n < kPathMax - 1; ++n) path[n] = c[n];
      path[n] = 0;
      found = n > 0;
    }
  }
  close(maps);
  return found;
}

/* As the loader was given it: relative or a link, where LD_PRELOAD says so. */
static int loaded_path(const void* address, char* path) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname || info.dli_fname[0] != '/') return 0;
  size_t n = 0;
  for (; info.dli_fname[n] && n < kPathMax - 1; ++n) path[n] = info.dli_fname[n];
  path[n] = 0;
  return 1;
}

/* Loads the core from the folder of `path`, which has room for kPathMax. */
static void* load_beside(char* path, const char** reason) {
  size_t folder = length_of(path);
  while (folder && path[folder - 1] != '/') --folder;
  if (folder + sizeof CORE_FILE > kPathMax) return NULL;
  for (size_t i = 0; i < sizeof CORE_FILE; ++i) path[folder + i] = CORE_FILE[i];
  void* core = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!core) *reason = dlerror();
  return core;
}

static void* const* attach_core(const char** reason) {
  char path[kPathMax];
  *reason = "cannot tell in which folder libvramguard.so lies";
  void* core = loaded_path(&own_api, path) ? load_beside(path, reason) : NULL;
  if (!core && mapped_path(&own_api, path)) core = load_beside(path, reason);
  if (!core) return NULL;
  __atomic_store_n(&own_api.thread_state_offset, (char*)&vg_thread - (char*)__builtin_thread_pointer(),
                   __ATOMIC_RELAXED);
  vg_core_attach_function attach = (vg_core_attach_function)vg_libc_dlsym()(core, VG_CORE_ATTACH);
  const struct vg_core_api* api = attach ? attach(&own_api) : NULL;
  if (!api || api->function_count != VG_FUNCTION_COUNT || !vg_same(api->build, VRAMGUARD_VERSION)) {
    *reason = CORE_FILE " beside libvramguard.so is of another version; install both from one build";
    return NULL;
  }
  __atomic_store_n(&vg_core_c_api, api->c_api, __ATOMIC_RELEASE);
  return api->functions;
}

static void* const* load_core(void) {
  static int failed;
  if (__atomic_load_n(&failed, __ATOMIC_ACQUIRE)) return NULL;
  const int error = errno;
  const char* reason = NULL;
  void* const* functions = attach_core(&reason);
  if (functions) {
    void* const* expected = NULL;
    __atomic_compare_exchange_n(&vg_core_functions, &expected, functions, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  } else if (!__atomic_exchange_n(&failed, 1, __ATOMIC_ACQ_REL)) {
    vg_say_core_failed(reason);
  }
  errno = error;
  return functions;
}

static int not_initialized(void) {
  return 3; /* CUDA_ERROR_NOT_INITIALIZED, NVML_ERROR_NOT_SUPPORTED: without a driver */
}

void* vg_boot(unsigned index) {
  if (!vg_library_handle(vg_function_name(index))) return (void*)not_initialized;
  if (!vg_disabled()) {
    void* const* functions = load_core();
    return functions ? functions[index] : vg_stand_in(index);
  }
  void* driver = vg_chain_symbol(vg_function_name(index));
  return driver ? driver : (void*)not_initialized;
}
