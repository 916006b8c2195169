/* A library that finds driver functions by weak references, as those do that work with and without a card. Not a
 * program: the linker settles a program's weak references for good. */
#include <stdio.h>

#include "tests/integration/programs/driver_api.h"

#define VG_DRIVER_FUNCTION(symbol, since, parameters) extern CUresult symbol parameters __attribute__((weak));
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION

typedef CUresult (*any_function)(void*, void*, void*, void*, void*, void*);

static void* const kFunctions[] = {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) (void*)symbol,
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};

/* Prints whether it sees them, and how many do not answer NOT_INITIALIZED. */
void call_all(void) {
  int seen = 0, not_initialized = 0;
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) {
    if (!kFunctions[i]) continue;
    ++seen;
    not_initialized += ((any_function)kFunctions[i])(0, 0, 0, 0, 0, 0) == 3;
  }
  printf("%s %d\n", seen == 0 ? "none" : "all", (int)(sizeof kFunctions / sizeof *kFunctions) - not_initialized);
}
