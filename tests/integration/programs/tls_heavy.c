/* Loads copies of a library until static thread-local storage has run out, then uses the driver for the first time.
 * Usage: tls_heavy PREFIX: loads PREFIX0.so, PREFIX1.so and so on */
#include <dlfcn.h>
#include <string.h>

#include "tests/integration/programs/guest.h"

int main(int argc, char** argv) {
  must(argc == 2, "usage");
  int loaded = 0;
  char path[4096];
  const char* error = NULL;
  for (; !error; ++loaded) {
    snprintf(path, sizeof path, "%s%d.so", argv[1], loaded);
    if (!dlopen(path, RTLD_NOW)) error = dlerror();
  }
  must(strstr(error, "static TLS") != NULL, error);
  const struct driver cu = start_cuda();
  printf("%s, %d\n", loaded > 1 ? "exhausted" : "at once", ask_too_much(&cu));
  return 0;
}
