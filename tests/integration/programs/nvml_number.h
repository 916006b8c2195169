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

struct nvml_memory_numbers {
  unsigned long long total, free, used;
};

static inline void* nvml_device(unsigned gpu) {
  int (*init)(void), (*by_index)(unsigned, void**);
  *(void**)&init = nvml_function("nvmlInit_v2");
  *(void**)&by_index = nvml_function("nvmlDeviceGetHandleByIndex_v2");
  void* device = NULL;
  if (init() || by_index(gpu, &device)) exit(3);
  return device;
}

static inline struct nvml_memory_numbers nvml_memory(unsigned gpu) {
  int (*get)(void*, struct nvml_memory_numbers*);
  *(void**)&get = nvml_function("nvmlDeviceGetMemoryInfo");
  struct nvml_memory_numbers numbers;
  if (get(nvml_device(gpu), &numbers)) exit(3);
  return numbers;
}

static inline struct nvml_memory_numbers nvml_memory_v2(unsigned gpu) {
  struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
  } memory = {sizeof memory | 2u << 24, 0, 0, 0, 0};
  int (*get)(void*, void*);
  *(void**)&get = nvml_function("nvmlDeviceGetMemoryInfo_v2");
  if (get(nvml_device(gpu), &memory)) exit(3);
  return (struct nvml_memory_numbers){memory.total, memory.free, memory.used};
}

#endif
