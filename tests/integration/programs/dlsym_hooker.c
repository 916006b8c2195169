/* Another tool that stands in dlsym. Says at the end how often it was asked for cuInit. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int asked;

#if defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#else
#define OLDEST "GLIBC_2.2.5"
#endif

void* dlsym(void* handle, const char* name) {
  static void* (*next)(void*, const char*);
  if (!next) next = (void* (*)(void*, const char*))dlvsym(RTLD_NEXT, "dlsym", OLDEST);
  if (strcmp(name, "cuInit") == 0 && handle != RTLD_NEXT) ++asked;
  return next(handle, name);
}

__attribute__((destructor)) static void say(void) {
  char line[64];
  const int length = snprintf(line, sizeof line, "hooker %s\n", asked ? "was asked" : "was passed over");
  if (write(STDERR_FILENO, line, (size_t)length) < 0) return;
}
