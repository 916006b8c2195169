/* What a program's own calls make of contexts and threads. Usage: contexts look|flags|fork|middle */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"

static int threads(void) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  int count = 0;
  while (fgets(line, sizeof line, status)) sscanf(line, "Threads: %d", &count);
  fclose(status);
  return count;
}

static void fork_then_use(void) {
  const pid_t child = fork();
  if (child == 0) {
    const struct driver cu = start_cuda();
    printf("child %d %d\n", getpid(), ask_too_much(&cu));
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("parent %d %d\n", getpid(), status);
}

int main(int argc, char** argv) {
  must(argc == 2, "usage");
  const char* what = argv[1];
  const struct driver cu = find_driver("dlsym");
  int version = 0;
  cu.cuDriverGetVersion(&version);
  printf("threads %d\n", threads());
  if (strcmp(what, "fork") == 0) {
    fork_then_use();
    return 0;
  }
  if (strcmp(what, "look") == 0) return 0;
  CUresult (*set_flags)(CUdevice, unsigned) =
      (CUresult(*)(CUdevice, unsigned))find_function("dlsym", "cuDevicePrimaryCtxSetFlags_v2");
  CUresult (*get_state)(CUdevice, unsigned*, int*) =
      (CUresult(*)(CUdevice, unsigned*, int*))find_function("dlsym", "cuDevicePrimaryCtxGetState");
  must(cu.cuInit(0) == 0, "cuInit");
  printf("threads %d\n", threads());
  if (strcmp(what, "flags") == 0) {
    size_t bytes = 0;
    cu.cuDeviceTotalMem_v2(&bytes, 0);
    unsigned flags = 0;
    int active = 0;
    get_state(0, &flags, &active);
    printf("active %d, set %d", active, set_flags(0, 4 /* blocking sync */));
    use_device(&cu, 0);
    get_state(0, &flags, &active);
    printf(", flags %u, active %d\n", flags, active);
    return 0;
  }
  use_device(&cu, 1);
  allocate_bytes(&cu, 10 * kMiB);
  printf("refused %d\n", ask_too_much(&cu));
  fflush(stdout);
  getchar(); /* until the test has looked */
  return 0;
}
