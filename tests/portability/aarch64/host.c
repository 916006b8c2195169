// A program under the preload: host guarded | off | no-core. Prints what is wrong; exits 1 if anything is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/portability/aarch64/arguments.h"

static const char* const kNames[] = {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) #symbol,
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
};
enum { kCount = sizeof kNames / sizeof kNames[0] };

static int failed;

static void expect(int held, const char* what, const char* name) {
  if (held) return;
  ++failed;
  printf("failed: %s (%s)\n", what, name);
}

static int lies_in(void* address, const char* library) {
  Dl_info info;
  return address && dladdr(address, &info) && strstr(info.dli_fname, library) != NULL;
}

static void other_names_are_left_alone(void) {
  void* real = dlvsym(RTLD_DEFAULT, "puts", "GLIBC_2.17");
  expect(lies_in(real, "libc.so"), "dlvsym finds libc's function", "puts");
  expect(dlsym(RTLD_DEFAULT, "puts") == real, "dlsym finds libc's function", "puts");
  expect(dlsym(RTLD_NEXT, "puts") == real, "RTLD_NEXT means behind the program", "puts");
  expect(dlsym(RTLD_DEFAULT, "no_such_name") == NULL && dlerror() != NULL, "a missing name is missing", "no_such_name");
  expect(dlsym(RTLD_DEFAULT, "cuInit") == NULL, "no driver function without a driver", "cuInit");
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  const int guarded = strcmp(mode, "guarded") == 0;
  const int off = strcmp(mode, "off") == 0;
  other_names_are_left_alone();

  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == NULL) {
    printf("%s\n", dlerror());
    return 2;
  }
  for (int row = 0; row < kCount; ++row) {
    any_function function = (any_function)dlsym(driver, kNames[row]);
    expect(lies_in((void*)function, off ? "libcuda.so" : "libvramguard.so"), "dlsym answers from the right library",
           kNames[row]);
    if (function == NULL) continue;
    if (!guarded && !off) {
      // Those that the preloaded part answers itself would take the numbers for pointers.
      if (strncmp(kNames[row], "cuGetProcAddress", 16) == 0) continue;
      const int expected = strcmp(kNames[row], "cuInit") == 0 ? 800 : kFromDriver + row;
      expect(function(ARGUMENTS) == expected, "without a core cuInit is refused, the rest forwarded", kNames[row]);
      continue;
    }
    const int expected = (guarded ? kFromCore : kFromDriver) + row;
    // The first call finds no core and takes the long way.
    for (int call = 0; call < 3; ++call)
      expect(function(ARGUMENTS) == expected, "the call arrives with its arguments", kNames[row]);
  }
  expect(lies_in(dlsym(driver, "cuNotWrapped"), "libcuda.so"), "what is not wrapped is the driver's", "cuNotWrapped");
  printf("%s: %d functions, %d failed\n", mode, kCount, failed);
  return failed != 0;
}
