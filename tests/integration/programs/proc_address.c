/* Asks cuGetProcAddress for every name at many versions and flags, and prints what it said. Usage: proc_address v1|v2
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/proc_state.h"

static const char* const kBases[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) #base,
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
    "cuNoSuchFunction", "cuMemAlloc_v2", "", "malloc"};
static const int kVersions[] = {2000, 3020, 4000, 7000, 9000, 11000, 11030, 11040, 12000, 12050, 13000, 13010, 99000};
static const cuuint64_t kFlags[] = {0, 1, 2, 3, 77};

static struct driver cu;
static int second_version;

static void ask(const char* name, int version, cuuint64_t flags) {
  void* found = (void*)7;
  CUdriverProcAddressQueryResult status = 77;
  const CUresult code = second_version ? cu.cuGetProcAddress_v2(name, &found, version, flags, &status)
                                       : cu.cuGetProcAddress(name, &found, version, flags);
  printf("%s %d %d %d %d", name ? name : "NULL", version, (int)flags, code, status);
  if (found == (void*)7) {
    printf(" untouched");
  } else {
    print_place(found);
  }
  printf("\n");
}

int main(int argc, char** argv) {
  second_version = argc > 1 && strcmp(argv[1], "v2") == 0;
  cu = find_driver("dlsym");
  const char* last = "";
  for (size_t i = 0; i < sizeof kBases / sizeof *kBases; ++i) {
    if (strcmp(kBases[i], last) == 0) continue;
    last = kBases[i];
    for (size_t v = 0; v < sizeof kVersions / sizeof *kVersions; ++v)
      for (size_t f = 0; f < sizeof kFlags / sizeof *kFlags; ++f) ask(kBases[i], kVersions[v], kFlags[f]);
  }
  ask(NULL, 12000, 0);
  void* found = (void*)7;
  CUdriverProcAddressQueryResult status = 77;
  if (second_version) {
    const CUresult code = cu.cuGetProcAddress_v2("cuMemAlloc", &found, 12000, 0, NULL);
    printf("no status %d", code);
    print_place(found);
    printf("\nno output %d", cu.cuGetProcAddress_v2("cuMemAlloc", NULL, 12000, 0, &status));
    printf("\nno both %d\n", cu.cuGetProcAddress_v2("cuMemAlloc", NULL, 12000, 0, NULL));
  } else {
    printf("no output %d\n", cu.cuGetProcAddress("cuMemAlloc", NULL, 12000, 0));
  }
  return 0;
}
