// Names the driver, the card and its size, and counts the cards, for the head of the result file. Fails where there is
// no usable card.
#include "session.h"

int main(void) {
  struct session session = session_without_context();
  char name[128] = "", version[96] = "unknown";
  size_t total = 0;
  int devices = 0;
  MUST(session.cu.cuDeviceGetName(name, sizeof name, session.device));
  MUST(session.cu.cuDeviceTotalMem_v2(&total, session.device));
  MUST(session.cu.cuDeviceGetCount(&devices));
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  int (*driver_version)(char*, unsigned);
  *(void**)&driver_version = dlsym(library, "nvmlSystemGetDriverVersion");
  if (driver_version) driver_version(version, sizeof version);
  printf("driver=%s\ndevices=%d\ntotal_bytes=%zu\nname=%s\n", version, devices, total, name);
  return 0;
}
