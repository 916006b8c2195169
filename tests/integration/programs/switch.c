/* Where the driver's functions come from, and what else is in the process. Usage: switch [setenv]: switches off too
 * late */
#include <dlfcn.h>
#include <string.h>

#include "tests/integration/programs/guest.h"

static void print_origin(const char* way, void* function) {
  Dl_info info;
  must(function && dladdr(function, &info), way);
  printf("%s %s\n", way, strrchr(info.dli_fname, '/') + 1);
}

/* Lines of a file in /proc that have `word`. */
static int lines_with(const char* path, const char* word) {
  FILE* file = fopen(path, "r");
  char line[4096];
  int count = 0;
  while (fgets(line, sizeof line, file)) count += strstr(line, word) != NULL;
  fclose(file);
  return count;
}

static int threads(void) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  int count = 0;
  while (fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &count);
  fclose(status);
  return count;
}

int main(int argc, char** argv) {
  (void)argv;
  must(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != NULL, "libcuda");
  find_function("dlsym", "cuInit");
  if (argc > 1) setenv("VRAMGUARD", "0", 1);
  print_origin("handle", find_function("dlsym", "cuMemAlloc_v2"));
  print_origin("default", dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
  print_origin("program", dlsym(dlopen(NULL, RTLD_NOW), "cuMemAlloc_v2"));
  print_origin("proc", find_function("proc", "cuMemAlloc_v2"));
  print_origin("proc_v2", find_function("proc_v2", "cuMemAlloc_v2"));
  const struct driver cu = start_cuda();
  printf("refused %d\n", ask_too_much(&cu));
  printf("threads %d\n", threads());
  printf("core %s\n", lines_with("/proc/self/maps", "libvramguard-core") ? "loaded" : "not loaded");
  return 0;
}
