/* The names of the table. A linear search: it runs only for names that begin with "cu" or "nvml", a few hundred times a
 * process.
 */
#include "shim/preload/preload.h"

static const char kNames[] =
#define VG_DRIVER_FUNCTION(symbol, since, parameters) #symbol "\0"
#define VG_NVML_FUNCTION VG_DRIVER_FUNCTION
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
    ;

int vg_function_index(const char* name) {
  const char* candidate = kNames;
  for (int index = 0; index < VG_FUNCTION_COUNT; ++index) {
    if (vg_same(candidate, name)) return index;
    while (*candidate) ++candidate;
    ++candidate;
  }
  return -1;
}

const char* vg_function_name(unsigned index) {
  const char* name = kNames;
  while (index--) {
    while (*name) ++name;
    ++name;
  }
  return name;
}
