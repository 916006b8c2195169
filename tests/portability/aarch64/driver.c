// A libcuda.so.1 whose functions answer with their row.
#include "tests/portability/aarch64/arguments.h"

enum {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) VG_INDEX_##symbol,
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};

#define VG_DRIVER_FUNCTION(symbol, since, parameters) \
  int symbol(PARAMETERS) { return ARRIVED ? kFromDriver + VG_INDEX_##symbol : kBroken; }
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION

int cuNotWrapped(void) { return 0; }
