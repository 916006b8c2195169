/* Obtains every function of the table by each of the ways given, and prints where its address lies; or, as
 * `rows call WAY`, calls each with no arguments at all. Usage: rows WAY... */
#include <stdio.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"
#include "tests/integration/programs/proc_state.h"

static const char* const kSymbols[] = {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) #symbol,
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};

typedef CUresult (*any_function)(void*, void*, void*, void*, void*, void*);

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "call") == 0) {
    ((any_function)find_function(argv[2], "cuInit"))(0, 0, 0, 0, 0, 0);
    for (size_t i = 0; i < sizeof kSymbols / sizeof *kSymbols; ++i) {
      any_function function = (any_function)find_function(argv[2], kSymbols[i]);
      if (function) printf("%s %d\n", kSymbols[i], function(0, 0, 0, 0, 0, 0));
    }
    return 0;
  }
  for (int way = 1; way < argc; ++way) {
    for (size_t i = 0; i < sizeof kSymbols / sizeof *kSymbols; ++i) {
      printf("%s %s", argv[way], kSymbols[i]);
      print_place(find_function(argv[way], kSymbols[i]));
      printf("\n");
    }
  }
  return 0;
}
