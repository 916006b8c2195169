/* What a test program tells of its own process. */
#ifndef VRAMGUARD_TEST_PROC_STATE_H
#define VRAMGUARD_TEST_PROC_STATE_H

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* "libvramguard.so cuMemAlloc_v2 exact": the library that an address lies in, the symbol before it, and whether the
 * address is that symbol's. "none" for NULL. */
static inline void print_place(const void* address) {
  Dl_info info;
  if (!address) {
    printf(" none");
  } else if (!dladdr(address, &info) || !info.dli_sname) {
    printf(" unknown");
  } else {
    const char* base = strrchr(info.dli_fname, '/');
    printf(" %s %s %s", base ? base + 1 : info.dli_fname, info.dli_sname,
           info.dli_saddr == address ? "exact" : "inside");
  }
}

static inline int thread_count(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return -1;
  for (struct dirent* entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static inline int maps_contain(const char* text) {
  FILE* maps = fopen("/proc/self/maps", "r");
  if (!maps) return -1;
  char line[4096];
  int found = 0;
  while (fgets(line, sizeof line, maps)) found |= strstr(line, text) != NULL;
  fclose(maps);
  return found;
}

#endif
