/* What a monitoring tool and a communication library ask: every function of NVML with good and bad arguments, peers,
 * pointers one attribute at a time and many at once. Prints codes and outputs, to be compared between two runs. */
#include <string.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

static const char* const kNvml[] = {
#define VGSIM_NVML_FUNCTION(symbol) #symbol,
#include "tests/sim_driver/nvml_functions.inc"
#undef VGSIM_NVML_FUNCTION
};

enum { kAttributes = 10, kOutputBytes = 256 };
static const int kPointerAttributes[kAttributes] = {1, 2, 6, 7, 8, 9, 10, 12, 13, 17};

typedef int (*three_arguments)(void*, void*, void*);
static struct driver cu;

/* A structure or a number as it is, whatever it means. */
static void print_bytes(const unsigned char* bytes, size_t size) {
  while (size > 0 && bytes[size - 1] == 0xee) --size;
  for (size_t i = 0; i < size; ++i) printf("%02x", bytes[i]);
}

static int shows_memory(const char* name) { return strstr(name, "MemoryInfo") && !strstr(name, "BAR1"); }

static void ask_nvml(void) {
  for (size_t i = 0; i < sizeof kNvml / sizeof *kNvml; ++i) {
    three_arguments function = (three_arguments)nvml_function(kNvml[i]);
    if (strstr(kNvml[i], "Shutdown") || strstr(kNvml[i], "ErrorString") || strstr(kNvml[i], "HandleBy")) continue;
    printf("%s %d", kNvml[i], function(NULL, NULL, NULL));
    for (unsigned index = 0; index < 2 && strncmp(kNvml[i], "nvmlDevice", 10) == 0; ++index) {
      unsigned char output[kOutputBytes];
      unsigned count = 4; /* of processes; for the rest it is the output itself */
      struct nvml_process list[4];
      memset(output, 0xee, sizeof output);
      memset(list, 0, sizeof list);
      if (shows_memory(kNvml[i])) {
        printf(" %d", function((void*)77, output, NULL));
      } else if (strstr(kNvml[i], "Processes")) {
        printf(" %d %u", function(nvml_device(index), &count, list), count);
      } else if (strcmp(kNvml[i], "nvmlDeviceGetUUID") == 0 || strcmp(kNvml[i], "nvmlDeviceGetName") == 0) {
        printf(" %d %s", function(nvml_device(index), output, (void*)(size_t)kOutputBytes), (char*)output);
      } else if (!strstr(kNvml[i], "Count")) {
        printf(" %d ", function(nvml_device(index), output, NULL));
        print_bytes(output, sizeof output);
      }
    }
    printf("\n");
  }
}

static void ask_peers(void) {
  CUresult (*attribute)(int*, int, CUdevice, CUdevice);
  *(void**)&attribute = find_function("dlsym", "cuDeviceGetP2PAttribute");
  for (int i = 0; i < 6; ++i)
    for (CUdevice device = 0; device < 3; ++device)
      for (CUdevice peer = 0; peer < 3; ++peer) {
        int value = 77, can = 77;
        printf("peer %d %d %d %d", i, device, peer, attribute(&value, i, device, peer));
        printf(" %d %d", value, cu.cuDeviceCanAccessPeer(&can, device, peer));
        printf(" %d\n", can);
      }
}

/* Outputs hold addresses, which differ between runs: what is compared is whether single and multiple query agree, and
 * the numbers that are no address. */
static void ask_pointer(const char* what, CUdeviceptr address) {
  unsigned long long single[kAttributes], multiple[kAttributes];
  void* outputs[kAttributes];
  CUresult (*attributes)(unsigned, int*, void**, CUdeviceptr);
  *(void**)&attributes = find_function("dlsym", "cuPointerGetAttributes");
  int list[kAttributes];
  memset(single, 0, sizeof single);
  memset(multiple, 0, sizeof multiple);
  for (int i = 0; i < kAttributes; ++i) {
    list[i] = kPointerAttributes[i];
    outputs[i] = &multiple[i];
  }
  printf("%s %d", what, attributes(kAttributes, list, outputs, address));
  for (int i = 0; i < kAttributes; ++i) {
    const CUresult code = cu.cuPointerGetAttribute(&single[i], kPointerAttributes[i], address);
    printf(" %d:%d:%s", kPointerAttributes[i], code, code || single[i] == multiple[i] ? "same" : "different");
    if (single[i] < 1u << 20) printf(":%llu", single[i]);
  }
  printf("\n");
}

int main(void) {
  CUdeviceptr managed = 0, pooled = 0;
  CUstream stream = NULL;
  cu = start_cuda();
  const CUdeviceptr linear = allocate_bytes(&cu, 3 * kMiB);
  must(cu.cuMemAllocManaged(&managed, 5 * kMiB, 1) == 0, "cuMemAllocManaged");
  must(cu.cuStreamCreate(&stream, 1) == 0, "cuStreamCreate");
  must(cu.cuMemAllocAsync(&pooled, kMiB, stream) == 0, "cuMemAllocAsync");
  ask_pointer("linear", linear);
  ask_pointer("inside", linear + 4096);
  ask_pointer("managed", managed);
  ask_pointer("pooled", pooled);
  ask_pointer("nothing", 4096);
  ask_peers();
  ask_nvml();
  return 0;
}
