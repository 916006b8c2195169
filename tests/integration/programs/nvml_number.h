/* What NVML says of this process, to compare the guard's books with. */
#ifndef VRAMGUARD_TEST_NVML_NUMBER_H
#define VRAMGUARD_TEST_NVML_NUMBER_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct nvml_process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

static inline void* nvml_function(const char* name) {
  static void* library;
  if (!library) library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  void* function = library ? dlsym(library, name) : NULL;
  if (function) return function;
  fprintf(stderr, "no NVML: %s\n", name);
  exit(3);
}

static inline unsigned long long nvml_bytes(unsigned gpu) {
  static int (*init)(void), (*by_index)(unsigned, void**), (*processes)(void*, unsigned*, struct nvml_process*);
  if (!init) {
    *(void**)&by_index = nvml_function("nvmlDeviceGetHandleByIndex_v2");
    *(void**)&processes = nvml_function("nvmlDeviceGetComputeRunningProcesses_v3");
    *(void**)&init = nvml_function("nvmlInit_v2");
    init();
  }
  void* device = NULL;
  struct nvml_process list[64];
  unsigned count = 64;
  if (by_index(gpu, &device) || processes(device, &count, list)) exit(3);
  for (unsigned i = 0; i < count; ++i)
    if (list[i].pid == (unsigned)getpid()) return list[i].bytes;
  return 0;
}

#endif
