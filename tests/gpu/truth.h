// What this process really takes from the device, told by NVML: the number that our books are held against.
#pragma once

#include <string.h>
#include <unistd.h>

#include "driver.h"

typedef struct nvmlDevice_st* nvmlDevice_t;
struct nvml_process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};
struct nvml_memory {
  unsigned long long total, free, used;
};

// `by_process` is false where NVML hides this process (some containers); then it is the whole card's difference since
// truth_open(), right only while nobody else uses the card.
struct truth {
  nvmlDevice_t device;
  int (*processes)(nvmlDevice_t, unsigned*, struct nvml_process*);
  int (*memory)(nvmlDevice_t, struct nvml_memory*);
  unsigned long long card_used_before;
  int by_process;
};

static inline unsigned long long truth_card_used(const struct truth* truth) {
  struct nvml_memory memory = {0, 0, 0};
  if (truth->memory(truth->device, &memory) != 0) {
    fprintf(stderr, "nvmlDeviceGetMemoryInfo failed\n");
    exit(3);
  }
  return memory.used;
}

// Call before cuInit's first context. `pci_bus_id` may be null: the first card.
static inline struct truth truth_open(const char* pci_bus_id) {
  struct truth truth;
  memset(&truth, 0, sizeof truth);
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) {
    fprintf(stderr, "no NVML: %s\n", dlerror());
    exit(3);
  }
  int (*init)(void);
  int (*by_index)(unsigned, nvmlDevice_t*);
  int (*by_pci)(const char*, nvmlDevice_t*);
  *(void**)&init = dlsym(library, "nvmlInit_v2");
  *(void**)&by_index = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
  *(void**)&by_pci = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void**)&truth.processes = dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3");
  *(void**)&truth.memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
  if (!init || !truth.memory || init() != 0) {
    fprintf(stderr, "NVML cannot be used\n");
    exit(3);
  }
  int found = pci_bus_id && by_pci && by_pci(pci_bus_id, &truth.device) == 0;
  if (!found && (!by_index || by_index(0, &truth.device) != 0)) {
    fprintf(stderr, "NVML does not find the card\n");
    exit(3);
  }
  truth.card_used_before = truth_card_used(&truth);
  return truth;
}

static inline int truth_process_bytes(const struct truth* truth, unsigned long long* bytes) {
  struct nvml_process list[256];
  unsigned count = sizeof list / sizeof list[0];
  if (!truth->processes || truth->processes(truth->device, &count, list) != 0) return 0;
  for (unsigned i = 0; i < count; ++i) {
    if (list[i].pid != (unsigned)getpid() || list[i].bytes == ~0ULL || list[i].bytes == 0) continue;
    *bytes = list[i].bytes;
    return 1;
  }
  return 0;
}

// Once a context exists: can NVML tell this process's own number?
static inline const char* truth_choose_source(struct truth* truth) {
  unsigned long long bytes;
  truth->by_process = truth_process_bytes(truth, &bytes);
  return truth->by_process ? "nvml-process" : "nvml-card";
}

static inline unsigned long long truth_taken_bytes(const struct truth* truth) {
  unsigned long long bytes = 0;
  if (truth->by_process) {
    // No record means that this process holds nothing at the moment (no context).
    return truth_process_bytes(truth, &bytes) ? bytes : 0;
  }
  bytes = truth_card_used(truth);
  return bytes > truth->card_used_before ? bytes - truth->card_used_before : 0;
}
