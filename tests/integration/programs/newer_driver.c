/* Asks a driver for a memory function that it has in a newer version, before and after cuInit. */
#include <dlfcn.h>
#include <stdio.h>

typedef int (*look_up)(const char*, void**, int, unsigned long long, int*);

int main(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  look_up find = driver ? (look_up)dlsym(driver, "cuGetProcAddress_v2") : NULL;
  if (!find) return 2;
  void *init = NULL, *allocate[3] = {NULL, NULL, NULL};
  find("cuMemAlloc", &allocate[0], 14000, 0, NULL);
  find("cuMemAlloc", &allocate[1], 14000, 0, NULL);
  find("cuInit", &init, 2000, 0, NULL);
  printf("init %d\n", ((int (*)(unsigned))init)(0));
  find("cuMemAlloc", &allocate[2], 14000, 0, NULL);
  printf("same %d\n", allocate[0] && allocate[0] == allocate[1] && allocate[1] == allocate[2]);
  return 0;
}
