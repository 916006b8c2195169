/* What NVML says of every device to a process that never calls CUDA: UUID TOTAL, with the argument "used" also USED.
 * With the argument "cuda" CUDA is started first. */
#include <string.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

int main(int argc, char** argv) {
  int (*count)(unsigned*), (*uuid)(void*, char*, unsigned);
  const int shows_use = argc > 1 && strcmp(argv[1], "used") == 0;
  if (argc > 1 && !shows_use) start_cuda();
  *(void**)&count = nvml_function("nvmlDeviceGetCount_v2");
  *(void**)&uuid = nvml_function("nvmlDeviceGetUUID");
  nvml_device(0); /* initialises */
  unsigned devices = 0;
  must(count(&devices) == 0, "nvmlDeviceGetCount_v2");
  for (unsigned index = 0; index < devices; ++index) {
    char text[96] = "";
    must(uuid(nvml_device(index), text, sizeof text) == 0, "nvmlDeviceGetUUID");
    printf("%s %llu", text, nvml_memory(index).total);
    if (shows_use) printf(" %llu", nvml_memory(index).used);
    printf("\n");
  }
  return 0;
}
