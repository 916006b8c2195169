/* Addresses of the entries: they stand one after another, each VG_ENTRY_BYTES long. */
#include <stdint.h>

#include "shim/preload/entry_layout.h"
#include "shim/preload/preload.h"

extern const char vg_entries[] __attribute__((visibility("hidden")));

void* vg_entry(unsigned index) { return (void*)(vg_entries + (size_t)index * VG_ENTRY_BYTES); }

int vg_is_entry(const void* address) {
  return (uintptr_t)address - (uintptr_t)vg_entries < (uintptr_t)VG_FUNCTION_COUNT * VG_ENTRY_BYTES;
}
