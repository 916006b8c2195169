/* Loads a driver that looks itself up, and a backend that has names of the driver's. Prints what the calls return. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* backend = dlopen(argv[1], RTLD_NOW);
  if (!driver || !backend) return 3;
  int (*self_check)(void) = (int (*)(void))dlsym(driver, "cuSelfCheck");
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int (*backend_create)(void) = (int (*)(void))dlsym(backend, "backendCreate");
  int (*backend_init)(unsigned) = (int (*)(unsigned))dlsym(backend, "cuInit");
  printf("before %d\n", self_check());
  printf("init %d\n", init(0));
  printf("again %d\n", init(0));
  printf("after %d\n", self_check());
  printf("backend %d %d\n", backend_create(), backend_init(0));
  return 0;
}
