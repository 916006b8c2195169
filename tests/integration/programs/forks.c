/* Forks in every way while 16 threads allocate and are refused. Usage: forks COUNT. Prints what became of the children.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"

enum { kThreads = 16, kDeadlineMs = 2000 };

extern char** environ;

static struct driver cu;
static volatile int stopping;
static int broken;

static void* allocate_all_the_time(void* unused) {
  (void)unused;
  use_device(&cu, 0);
  while (!stopping) {
    CUdeviceptr address = 0;
    const CUresult code = cu.cuMemAlloc_v2(&address, 200 * kMiB);
    if (code != 0 && code != 2) __atomic_store_n(&broken, code, __ATOMIC_RELAXED);
    if (code == 0 && cu.cuMemFree_v2(address) != 0) __atomic_store_n(&broken, -1, __ATOMIC_RELAXED);
    ask_too_much(&cu);
    usleep(500);
  }
  return NULL;
}

/* After fork() a child may use all of libc; after _Fork and clone its locks may be held for ever. */
static void live_as_child(int bare, int leave_by_exit) {
  if (!bare) {
    char* memory = malloc(100000);
    memset(memory, 1, 100000);
    free(memory);
    setenv("VRAMGUARD_TEST_CHILD", "1", 1);
  }
  CUdeviceptr address = 0;
  size_t free_bytes = 0, total_bytes = 0;
  const int right = cu.cuMemAlloc_v2(&address, kMiB) == 3 && cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 3 &&
                    cu.cuMemFree_v2(4096) == 3 && cu.cuInit(0) == 3;
  if (!bare && leave_by_exit) exit(right ? 0 : 9);
  _exit(right ? 0 : 9);
}

static pid_t start_child(int i) {
  static char* const kTrue[] = {"true", NULL};
  pid_t child = -1;
  switch (i % 5) {
    case 0:
      child = fork();
      if (child == 0) live_as_child(0, i % 2);
      break;
    case 1:
      child = vfork();
      if (child == 0) {
        execve("/bin/true", kTrue, environ);
        _exit(8);
      }
      break;
    case 2:
      if (posix_spawn(&child, "/bin/true", NULL, NULL, kTrue, environ) != 0) child = -1;
      break;
    case 3:
      child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
      if (child == 0) live_as_child(1, 0);
      break;
    default: {
      pid_t (*bare_fork)(void) = (pid_t(*)(void))dlsym(RTLD_DEFAULT, "_Fork");
      child = bare_fork ? bare_fork() : fork();
      if (child == 0) live_as_child(1, 0);
    }
  }
  return child;
}

/* 0 when it ended well, 1 when not, 2 when it had to be killed. */
static int outcome(pid_t child) {
  int status = 0;
  for (int waited = 0; waitpid(child, &status, WNOHANG) == 0; ++waited) {
    if (waited >= kDeadlineMs) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return 2;
    }
    usleep(1000);
  }
  return status == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  must(argc == 2, "usage");
  cu = start_cuda();
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i)
    must(pthread_create(&threads[i], NULL, allocate_all_the_time, NULL) == 0, "pthread_create");
  int counts[3] = {0, 0, 0};
  for (int i = 0; i < atoi(argv[1]); ++i) {
    const pid_t child = start_child(i);
    must(child > 0, "a child");
    const int result = outcome(child);
    if (result != 0) fprintf(stderr, "child of kind %d: %s\n", i % 5, result == 1 ? "wrong" : "stuck");
    ++counts[result];
  }
  stopping = 1;
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  printf("pid %d\nwell %d wrong %d stuck %d\n", getpid(), counts[0], counts[1], counts[2]);
  printf("parent %d %d\n", broken, ask_too_much(&cu));
  return 0;
}
