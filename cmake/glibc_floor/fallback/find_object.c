// glibc 2.35. The unwinder of libgcc 12 and later asks here, and nowhere else, for the tables of a code address.
#define _GNU_SOURCE
#include <features.h>

#if __GLIBC_PREREQ(2, 35)
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct search {
  uintptr_t address;
  struct dl_find_object* result;
};

static int visit(struct dl_phdr_info* info, size_t size, void* data) {
  (void)size;
  struct search* search = data;
  uintptr_t low = UINTPTR_MAX;
  uintptr_t high = 0;
  int found = 0;
  void* eh_frame = NULL;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)* header = &info->dlpi_phdr[i];
    uintptr_t start = info->dlpi_addr + header->p_vaddr;
    uintptr_t end = start + header->p_memsz;
    if (header->p_type == PT_GNU_EH_FRAME) eh_frame = (void*)start;
    if (header->p_type != PT_LOAD) continue;
    if (start < low) low = start;
    if (end > high) high = end;
    if (search->address >= start && search->address < end) found = 1;
  }
  if (!found) return 0;
  if (eh_frame == NULL) return -1;
  search->result->dlfo_flags = 0;
  search->result->dlfo_map_start = (void*)low;
  search->result->dlfo_map_end = (void*)high;
  search->result->dlfo_link_map = NULL;  // The unwinder does not read it.
  search->result->dlfo_eh_frame = eh_frame;
  return 1;
}

int _dl_find_object(void* address, struct dl_find_object* result) {
  struct search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(visit, &search) == 1 ? 0 : -1;
}
#else
typedef int nothing_to_replace;
#endif
