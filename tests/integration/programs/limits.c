/* Lives under limits. Usage: limits sigwait|no_threads|file_size|plain */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"

static void* nothing(void* unused) { return unused; }

/* As at the limit of processes of a user or a container. */
static void forbid_threads(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0,
       "seccomp");
  pthread_t thread;
  must(pthread_create(&thread, NULL, nothing, NULL) != 0, "no thread");
}

/* Threads besides this one, and how many of them would take SIGUSR1. */
static void count_threads(int* others, int* would_take_signal) {
  DIR* tasks = opendir("/proc/self/task");
  *others = *would_take_signal = 0;
  for (struct dirent* task; (task = readdir(tasks));) {
    if (task->d_name[0] == '.' || atoi(task->d_name) == getpid()) continue;
    char path[512], line[256];
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task->d_name);
    FILE* status = fopen(path, "r");
    unsigned long long blocked = 0;
    while (status && fgets(line, sizeof line, status)) sscanf(line, "SigBlk: %llx", &blocked);
    if (status) fclose(status);
    ++*others;
    if ((blocked & (1ULL << (SIGUSR1 - 1))) == 0) ++*would_take_signal;
  }
  closedir(tasks);
}

int main(int argc, char** argv) {
  must(argc == 2, "usage");
  const char* what = argv[1];
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  if (strcmp(what, "no_threads") == 0) forbid_threads();
  if (strcmp(what, "file_size") == 0) {
    const struct rlimit limit = {0, 0};
    must(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
  }
  const struct driver cu = start_cuda();
  if (strcmp(what, "sigwait") == 0) {
    int others = 0, would_take_signal = 0, signal = 0;
    count_threads(&others, &would_take_signal);
    printf("threads %d, open to signals %d\n", others, would_take_signal);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < 100; ++i) {
      kill(getpid(), SIGUSR1);
      must(ask_too_much(&cu) == 2, "OUT_OF_MEMORY");
      must(sigwait(&set, &signal) == 0 && signal == SIGUSR1, "sigwait");
    }
  }
  const CUdeviceptr block = allocate_bytes(&cu, kMiB);
  printf("refused %d, freed %d\n", ask_too_much(&cu), cu.cuMemFree_v2(block));
  fflush(stdout);
  if (strcmp(what, "no_threads") == 0) _exit(0); /* nothing of ours runs then */
  return 0;
}
