/* Loads a plugin for itself alone and lets it fill the card. Usage: plugin_host PLUGIN BYTES */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  int (*fill)(unsigned long long, int*) = (int (*)(unsigned long long, int*))dlsym(plugin, "plugin_fill");
  int count = 0;
  const int code = fill(strtoull(argv[2], NULL, 0), &count);
  printf("fill %d %d\n", code, count);
  return 0;
}
