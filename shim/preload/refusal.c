/* What stands in for the core when it cannot be loaded: cuInit fails and says why, so that no program runs unguarded
 * without knowing it. Every other call goes to the driver, which answers as before any cuInit. */
#include <errno.h>
#include <stdint.h>
#include <unistd.h>

#include "shim/preload/preload.h"

enum { kNotPermitted = 800, kNotInitialized = 3, kNotFound = 500 };

static size_t append(char* line, size_t used, size_t room, const char* text) {
  while (*text && used < room) line[used++] = *text++;
  return used;
}

void vg_say_core_failed(const char* reason) {
  char line[1024];
  const size_t room = sizeof line - 1;
  size_t used = append(line, 0, room, "vramguard: error: the guard cannot be loaded: ");
  used = append(line, used, room - 200, reason ? reason : "unknown reason");
  used =
      append(line, used, room,
             vg_run_on_error() ? "; going on without a budget (VRAMGUARD_ON_ERROR=run)"
                               : "; cuInit fails (VRAMGUARD=0 switches vramguard off, VRAMGUARD_ON_ERROR=run goes on "
                                 "without a budget)");
  line[used++] = '\n';
  if (write(STDERR_FILENO, line, used) < 0) return; /* nobody is listening */
}

static int refuse_init(unsigned flags) {
  (void)flags;
  return kNotPermitted;
}

static int missing(void) { return kNotInitialized; }

/* The runtime takes cuInit from cuGetProcAddress: it must get the one that refuses. */
static void* without_driver_init(void* address) {
  return address == vg_driver_symbol("cuInit") ? vg_entry(VG_INDEX_cuInit) : address;
}

static int look_up(const char* symbol, void** pfn, int version, uint64_t flags) {
  int (*driver)(const char*, void**, int, uint64_t) = vg_chain_symbol("cuGetProcAddress");
  const int result = driver ? driver(symbol, pfn, version, flags) : kNotFound;
  if (result == 0 && pfn) *pfn = without_driver_init(*pfn);
  return result;
}

static int look_up_v2(const char* symbol, void** pfn, int version, uint64_t flags, int* status) {
  int (*driver)(const char*, void**, int, uint64_t, int*) = vg_chain_symbol("cuGetProcAddress_v2");
  const int result = driver ? driver(symbol, pfn, version, flags, status) : kNotFound;
  if (result == 0 && pfn) *pfn = without_driver_init(*pfn);
  return result;
}

void* vg_stand_in(unsigned index) {
  if (!vg_run_on_error()) {
    if (index == VG_INDEX_cuInit) return (void*)refuse_init;
    if (index == VG_INDEX_cuGetProcAddress) return (void*)look_up;
    if (index == VG_INDEX_cuGetProcAddress_v2) return (void*)look_up_v2;
  }
  void* driver = vg_chain_symbol(vg_function_name(index));
  return driver ? driver : (void*)missing;
}
