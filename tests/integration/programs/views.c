/* What every surface that shows memory says of every device, as its standard input asks:
 *   use ORDINAL BYTES  takes BYTES on a device        look   prints all surfaces
 *   fill ORDINAL MIB   takes MIB until refused        nulls  prints the codes of queries without outputs */
#include <string.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

static struct driver cu;

struct memory_v2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

static void print_uuid(CUdevice device) {
  CUuuid uuid;
  must(cu.cuDeviceGetUuid(&uuid, device) == 0, "cuDeviceGetUuid");
  printf("GPU");
  for (int i = 0; i < 16; ++i)
    printf("%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)uuid.bytes[i]);
}

/* cuda ORDINAL UUID TOTAL FREE TOTAL_OF_INFO, and the same of 32 bits */
static void look_through_cuda(void) {
  int count = 0;
  must(cu.cuDeviceGetCount(&count) == 0, "cuDeviceGetCount");
  for (CUdevice device = 0; device < count; ++device) {
    size_t total = 0, free_bytes = 0, info_total = 0;
    unsigned low_total = 0, low_free = 0, low_info = 0;
    use_device(&cu, device);
    printf("cuda %d ", device);
    print_uuid(device);
    const CUresult code = cu.cuDeviceTotalMem_v2(&total, device);
    must(code == 0 && cu.cuMemGetInfo_v2(&free_bytes, &info_total) == 0, "the query of memory");
    printf(" %zu %zu %zu", total, free_bytes, info_total);
    must(cu.cuDeviceTotalMem(&low_total, device) == 0, "cuDeviceTotalMem");
    must(cu.cuMemGetInfo(&low_free, &low_info) == 0, "cuMemGetInfo");
    printf(" %u %u %u\n", low_total, low_free, low_info);
  }
}

/* nvml INDEX UUID CODE TOTAL FREE USED CODE TOTAL FREE USED, by both versions */
static void look_through_nvml(void) {
  int (*count)(unsigned*), (*uuid)(void*, char*, unsigned);
  int (*memory)(void*, struct nvml_memory_numbers*), (*memory_v2)(void*, struct memory_v2*);
  *(void**)&count = nvml_function("nvmlDeviceGetCount_v2");
  *(void**)&uuid = nvml_function("nvmlDeviceGetUUID");
  *(void**)&memory = nvml_function("nvmlDeviceGetMemoryInfo");
  *(void**)&memory_v2 = nvml_function("nvmlDeviceGetMemoryInfo_v2");
  unsigned devices = 0;
  nvml_device(0); /* initialises */
  must(count(&devices) == 0, "nvmlDeviceGetCount_v2");
  for (unsigned index = 0; index < devices; ++index) {
    char text[96] = "";
    struct nvml_memory_numbers one = {7, 7, 7}; /* what a call that fails leaves there */
    struct memory_v2 two = {sizeof two | 2u << 24, 7, 7, 7, 7};
    void* device = nvml_device(index);
    must(uuid(device, text, sizeof text) == 0, "nvmlDeviceGetUUID");
    const int code = memory(device, &one), code_v2 = memory_v2(device, &two);
    printf("nvml %u %s %d %llu %llu %llu", index, text, code, one.total, one.free, one.used);
    printf(" %d %llu %llu %llu\n", code_v2, two.total, two.free, two.used);
  }
}

static void ask_for_nothing(void) {
  int (*memory)(void*, void*), (*memory_v2)(void*, void*);
  *(void**)&memory = nvml_function("nvmlDeviceGetMemoryInfo");
  *(void**)&memory_v2 = nvml_function("nvmlDeviceGetMemoryInfo_v2");
  size_t bytes = 7;
  unsigned low = 7;
  struct memory_v2 old = {0, 7, 7, 7, 7}; /* of no version */
  printf("nulls %d", cu.cuMemGetInfo_v2(NULL, &bytes));
  printf(" %d %d", cu.cuMemGetInfo_v2(&bytes, NULL), cu.cuMemGetInfo_v2(NULL, NULL));
  printf(" %d %d", cu.cuMemGetInfo(NULL, &low), cu.cuMemGetInfo(&low, NULL));
  printf(" %d", cu.cuMemGetInfo(NULL, NULL));
  printf(" %d %d", cu.cuDeviceTotalMem_v2(NULL, 0), cu.cuDeviceTotalMem_v2(NULL, 77));
  printf(" %d %d", cu.cuDeviceTotalMem(NULL, 0), cu.cuDeviceTotalMem_v2(&bytes, 77));
  printf(" %d %d", memory(nvml_device(0), NULL), memory_v2(nvml_device(0), NULL));
  printf(" %d %d", memory(NULL, NULL), memory_v2(NULL, NULL));
  printf(" %d %llu\n", memory_v2(nvml_device(0), &old), old.total);
}

int main(void) {
  char line[128];
  setvbuf(stdout, NULL, _IOLBF, 0);
  cu = start_cuda();
  while (fgets(line, sizeof line, stdin)) {
    int device = 0;
    size_t size = 0;
    if (sscanf(line, "use %d %zu", &device, &size) == 2) {
      use_device(&cu, device);
      allocate_bytes(&cu, size);
    } else if (sscanf(line, "fill %d %zu", &device, &size) == 2) {
      CUdeviceptr address = 0;
      CUresult code = 0;
      int count = 0;
      use_device(&cu, device);
      while ((code = cu.cuMemAlloc_v2(&address, size << 20)) == 0) ++count;
      printf("fill %d %d\n", code, count);
    } else if (strcmp(line, "nulls\n") == 0) {
      ask_for_nothing();
    } else {
      look_through_cuda();
      look_through_nvml();
      printf("end\n");
    }
  }
  return 0;
}
