/* The ways in which programs get at the driver's functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/integration/programs/driver_api.h"

typedef CUresult (*get_function)(const char*, void**, int, cuuint64_t);
typedef CUresult (*get_function_v2)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

enum { kPerThread = 2, kLegacy = 1 };

/* How cuGetProcAddress knows each exported symbol. */
static const struct known {
  const char *symbol, *base;
  int version;
  const char* stream;
} kKnown[] = {
#define VGSIM_FUNCTION(symbol, base, version, stream) {#symbol, #base, version, #stream},
#define VGSIM_NOT_SIMULATED VGSIM_FUNCTION
#include "tests/sim_driver/functions.inc"
#undef VGSIM_NOT_SIMULATED
#undef VGSIM_FUNCTION
};

#ifdef LINKED_DRIVER
#define VG_DRIVER_FUNCTION(symbol, since, parameters) extern CUresult symbol parameters __attribute__((weak));
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define OTHER(symbol, parameters) extern CUresult symbol parameters __attribute__((weak));
OTHER_DRIVER_FUNCTIONS(OTHER)
#undef OTHER
static void* find_linked(const char* name) {
#define VG_DRIVER_FUNCTION(symbol, since, parameters) \
  if (strcmp(name, #symbol) == 0) return (void*)symbol;
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define OTHER(symbol, parameters) \
  if (strcmp(name, #symbol) == 0) return (void*)symbol;
  OTHER_DRIVER_FUNCTIONS(OTHER)
#undef OTHER
  return NULL;
}
#endif

static void* driver_handle(int scope) {
  void* handle = dlopen("libcuda.so.1", RTLD_NOW | scope);
  if (handle) return handle;
  fprintf(stderr, "no driver: %s\n", dlerror());
  exit(3);
}

static void* need(void* function, const char* what) {
  if (function) return function;
  fprintf(stderr, "no %s\n", what);
  exit(3);
}

/* The function that a program of version 12.0 gets when it asks for cuGetProcAddress itself. */
static get_function_v2 asked_of_itself(void* handle) {
  get_function_v2 first = (get_function_v2)need(dlsym(handle, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
  void* second = NULL;
  first("cuGetProcAddress", &second, 12000, 0, NULL);
  return (get_function_v2)need(second, "cuGetProcAddress by itself");
}

static void* ask(const char* way, const char* symbol) {
  void* handle = driver_handle(RTLD_LOCAL);
  for (size_t i = 0; i < sizeof kKnown / sizeof *kKnown; ++i) {
    const struct known* row = &kKnown[i];
    if (strcmp(row->symbol, symbol) != 0) continue;
    const cuuint64_t flags = strcmp(row->stream, "PerThread") == 0 ? kPerThread : kLegacy;
    void* found = NULL;
    if (strcmp(way, "proc") == 0) {
      get_function get = (get_function)need(dlsym(handle, "cuGetProcAddress"), "cuGetProcAddress");
      get(row->base, &found, row->version, flags);
    } else {
      get_function_v2 get = strcmp(way, "proc_self") == 0
                                ? asked_of_itself(handle)
                                : (get_function_v2)need(dlsym(handle, "cuGetProcAddress_v2"), "cuGetProcAddress_v2");
      get(row->base, &found, row->version, flags, NULL);
    }
    return found;
  }
  return NULL;
}

void* find_function(const char* way, const char* symbol) {
#ifdef LINKED_DRIVER
  if (strcmp(way, "link") == 0) return find_linked(symbol);
#endif
  if (strcmp(way, "dlsym") == 0) return dlsym(driver_handle(RTLD_LOCAL), symbol);
  if (strcmp(way, "dlvsym") == 0) return dlvsym(driver_handle(RTLD_LOCAL), symbol, "CUDA_TEST");
  if (strcmp(way, "default") == 0) {
    driver_handle(RTLD_GLOBAL);
    return dlsym(RTLD_DEFAULT, symbol);
  }
  if (strcmp(way, "next") == 0) {
    driver_handle(RTLD_GLOBAL);
    return dlsym(RTLD_NEXT, symbol);
  }
  if (strncmp(way, "proc", 4) == 0) return ask(way, symbol);
  fprintf(stderr, "no way %s\n", way);
  exit(3);
}

struct driver find_driver(const char* way) {
  struct driver driver;
#define VG_DRIVER_FUNCTION(symbol, since, parameters) *(void**)&driver.symbol = find_function(way, #symbol);
#include "shim/driver_functions.inc"
#undef VG_DRIVER_FUNCTION
#define OTHER(symbol, parameters) *(void**)&driver.symbol = find_function(way, #symbol);
  OTHER_DRIVER_FUNCTIONS(OTHER)
#undef OTHER
  return driver;
}
