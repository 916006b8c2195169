/* Prints what dlsym and dlvsym answer, so that two runs can be compared: the object and the place in it, or what
 * dlerror says. Of driver functions only whether dlerror says something. Usage: lookups [LIBRARY]: loaded for everybody
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char* base_name(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void print_answer(const char* call, const char* handle_name, const char* name, void* found) {
  const char* error = dlerror();
  Dl_info info;
  printf("%s %s %s: ", call, handle_name, name);
  if (!found && !error) printf("nothing, and no error\n");
  if (!found && error) printf("%s\n", strncmp(name, "cu", 2) == 0 ? "nothing" : error);
  if (found && error) printf("found, and an error: %s\n", error);
  if (found && !error && dladdr(found, &info))
    printf("%s+%#tx\n", base_name(info.dli_fname), (char*)found - (char*)info.dli_fbase);
}

static void ask_all(const char* handle_name, void* handle) {
  static const char* const kNames[] = {"puts",
                                       "cos",
                                       "malloc",
                                       "memcpy",
                                       "dlopen",
                                       "dladdr",
                                       "no_such_function",
                                       "",
                                       "c",
                                       "cu",
                                       "cuI",
                                       "cuInitX",
                                       "cuda",
                                       "cuda_function",
                                       "cuIni",
                                       "cuInit",
                                       "cuMemAlloc_v2",
                                       "cuGetProcAddress",
                                       "cuMemGetInfo_v2",
                                       "cuMemFree",
                                       "cuMemFreeHost",
                                       "cuMemAllocHost_v2",
                                       "cuInternal",
                                       "cuDriverGetVersion"};
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    dlerror();
    print_answer("dlsym", handle_name, kNames[i], dlsym(handle, kNames[i]));
  }
  static const char* const kVersioned[][2] = {
      {"memcpy", "GLIBC_2.14"}, {"memcpy", "GLIBC_2.2.5"}, {"puts", "GLIBC_2.2.5"}, {"puts", "GLIBC_9.99"},
      {"cos", "GLIBC_2.2.5"},   {"cuInit", "GLIBC_2.2.5"}, {"cuInit", "CUDA_ANY"}};
  for (size_t i = 0; i < sizeof kVersioned / sizeof *kVersioned; ++i) {
    dlerror();
    print_answer(kVersioned[i][1], handle_name, kVersioned[i][0], dlvsym(handle, kVersioned[i][0], kVersioned[i][1]));
  }
}

/* What an earlier failure left behind is seen, or not, as without a preload. */
static void print_pending(const char* what, const char* handle_name, void* handle, const char* name) {
  dlopen("/no/such/library.so", RTLD_NOW);
  void* found = dlsym(handle, name);
  const char* error = dlerror();
  printf("pending %s %s: %s, %s", what, handle_name, found ? "found" : "nothing", error ? "an error" : "no error");
  printf(", then %s\n", dlerror() ? "an error" : "no error");
}

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
  if (argc > 1 && !library) return 3;
  const struct {
    const char* name;
    void* handle;
  } handles[] = {{"RTLD_DEFAULT", RTLD_DEFAULT},          {"RTLD_NEXT", RTLD_NEXT},
                 {"program", dlopen(NULL, RTLD_NOW)},     {"libm", dlopen("libm.so.6", RTLD_NOW)},
                 {"libc", dlopen("libc.so.6", RTLD_NOW)}, {"library", library}};
  for (size_t i = 0; i < sizeof handles / sizeof *handles; ++i) {
    if (strcmp(handles[i].name, "library") == 0 && !library) continue;
    ask_all(handles[i].name, handles[i].handle);
    print_pending("puts", handles[i].name, handles[i].handle, "puts");
    print_pending("nothing", handles[i].name, handles[i].handle, "no_such_function");
    print_pending("cuInit", handles[i].name, handles[i].handle, "cuInit");
  }
  return 0;
}
