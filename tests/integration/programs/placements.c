/* Probes what can be created where, as communication libraries do when they start: every place, kind of handle and
 * size, each released at once. Prints every code, then what is used before and after, by the guard and by the driver.
 */
#include <string.h>

#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

typedef CUresult (*granularity_function)(size_t*, const CUmemAllocationProp*, int);
typedef CUresult (*any_function)(void*, void*, void*, void*, void*, void*);

static struct driver cu;

static void print_used(const char* when) {
  size_t free_bytes = 0, total_bytes = 0;
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  const int same = total_bytes - free_bytes == nvml_bytes(0);
  fprintf(stderr, "%s %zu %s\n", when, total_bytes - free_bytes, same ? "as the driver" : "NOT as the driver");
}

int main(void) {
  static const int kPlaces[] = {0, 1, 2, 3, 4, 99, -1}; /* none, device, host, a NUMA node, the nearest, unknown */
  static const int kIds[] = {0, 1, 2, 7, -1, 1 << 30};
  static const int kHandleTypes[] = {0, 1, 8, 9}; /* none, file descriptor, fabric, both */
  static const size_t kSizes[] = {0, 1, 2 << 20, 64 << 20};
  cu = start_cuda();
  granularity_function granularity = (granularity_function)find_function("dlsym", "cuMemGetAllocationGranularity");
  print_used("before");
  CUmemAllocationProp prop;
  memset(&prop, 0, sizeof prop);
  prop.type = 1;
  for (size_t i = 0; i < sizeof kPlaces / sizeof *kPlaces; ++i)
    for (size_t j = 0; j < sizeof kIds / sizeof *kIds; ++j)
      for (size_t k = 0; k < sizeof kHandleTypes / sizeof *kHandleTypes; ++k)
        for (size_t l = 0; l < sizeof kSizes / sizeof *kSizes; ++l) {
          CUmemGenericAllocationHandle handle = 0;
          size_t step = 0;
          prop.location.type = kPlaces[i];
          prop.location.id = kIds[j];
          prop.requestedHandleTypes = kHandleTypes[k];
          printf("%d %d %d %zu: %d", kPlaces[i], kIds[j], kHandleTypes[k], kSizes[l], granularity(&step, &prop, 0));
          const CUresult code = cu.cuMemCreate(&handle, kSizes[l], &prop, 0);
          printf(" %zu %d %d", step, code, code == 0 ? cu.cuMemRelease(handle) : handle != 0);
          printf(" %d\n", cu.cuMemCreate(NULL, kSizes[l], &prop, 0));
        }
  printf("%d\n", cu.cuMemCreate(NULL, 2 << 20, NULL, 0));
  /* Memory of the host that stays, and more of it than the budget. */
  for (int i = 0; i < 3; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp host = {1, 0, {i == 0 ? 2 : 3, 0}, NULL, {0, 0, 0, {0}}};
    printf("%d\n", cu.cuMemCreate(&handle, (size_t)1 << 30, &host, 0));
  }
  static const char* const kMulticast[] = {"cuMulticastCreate",   "cuMulticastAddDevice", "cuMulticastBindMem",
                                           "cuMulticastBindAddr", "cuMulticastUnbind",    "cuMulticastGetGranularity"};
  for (size_t i = 0; i < sizeof kMulticast / sizeof *kMulticast; ++i) {
    any_function function = (any_function)find_function("dlsym", kMulticast[i]);
    printf("%s %d\n", kMulticast[i], function ? function(0, 0, 0, 0, 0, 0) : -1);
  }
  print_used("after");
  return 0;
}
