// A child forked after cuInit is told NOT_INITIALIZED by every call, as natively; its parent goes on.
#include <sys/wait.h>

#include "session.h"

static int child(const struct driver* cu, CUdeviceptr parents) {
  CUdeviceptr address = 0;
  size_t free_bytes = 0, total_bytes = 0;
  int codes[] = {cu->cuInit(0), cu->cuMemAlloc_v2(&address, MIB(1)), cu->cuMemGetInfo_v2(&free_bytes, &total_bytes),
                 cu->cuMemFree_v2(parents)};
  int wrong = 0;
  for (unsigned i = 0; i < sizeof codes / sizeof codes[0]; ++i) {
    if (codes[i] == CUDA_ERROR_NOT_INITIALIZED) continue;
    fprintf(stderr, "call %u in the child gave %d\n", i, codes[i]);
    ++wrong;
  }
  return wrong;
}

int main(void) {
  struct session session = session_start();
  CUdeviceptr before = 0, after = 0;
  MUST(session.cu.cuMemAlloc_v2(&before, MIB(64)));
  unsigned long long told = told_bytes(&session);
  pid_t pid = fork();
  if (pid == 0) exit(child(&session.cu, before));
  int status = 0;
  waitpid(pid, &status, 0);
  report(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child's calls", "all 3",
         WIFEXITED(status) ? "%d of 4 other codes" : "died of signal %d",
         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  unsigned long long told_after = told_bytes(&session);
  CUresult code = session.cu.cuMemAlloc_v2(&after, MIB(64));
  CUresult freed = session.cu.cuMemFree_v2(before);
  report(told == told_after && code == 0 && freed == 0, "the parent goes on", "books unchanged, codes 0",
         "%+lld bytes, codes %d and %d", (long long)(told_after - told), code, freed);
  return report_failures != 0;
}
