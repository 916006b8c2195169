/* A program while hooks run beside it or inside its calls. Usage: hook_host MODE [ARGUMENT...]
 *   beside MIB           allocates MIB, then allocates and frees until its stdin ends, with children of its own
 *   signal HOW MIB       HOW: default, ignored, handled or fetched (signalfd); allocates MIB, answers each line of
 * stdin together N MIB       N threads ask for MIB at once freed_by_other MIB   a request for MIB waits; 200 ms later
 * another thread frees what it needs mutex MIB            the same, but the other thread's free needs a mutex that the
 * waiting thread holds */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"

static struct driver cu;
static size_t wanted;

static long long now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000LL + time.tv_nsec / 1000;
}

static size_t mib(const char* text) { return (size_t)atoi(text) * kMiB; }

static int stdin_has_something(void) {
  struct pollfd in = {0, POLLIN, 0};
  return poll(&in, 1, 0) > 0;
}

/* --- beside */

/* The fewest of some counts: the log is open for the moment of a write. */
static int open_descriptors(void) {
  int fewest = 1 << 30;
  for (int i = 0; i < 20; ++i) {
    int count = 0;
    DIR* folder = opendir("/proc/self/fd");
    while (folder && readdir(folder)) ++count;
    if (folder) closedir(folder);
    if (count < fewest) fewest = count;
    usleep(100);
  }
  return fewest;
}

static volatile sig_atomic_t children_signals;

static void count_child(int signal) {
  (void)signal;
  ++children_signals;
}

static int beside(const char* bytes) {
  struct sigaction action = {.sa_handler = count_child};
  sigaction(SIGCHLD, &action, NULL);
  cu = start_cuda();
  const int descriptors = open_descriptors();
  allocate_bytes(&cu, mib(bytes));
  printf("ready\n");
  fflush(stdout);
  long long longest = 0;
  int foreign = 0, own = 0, calls = 0;
  while (!stdin_has_something()) {
    const long long before = now_us();
    CUdeviceptr address = 0;
    must(cu.cuMemAlloc_v2(&address, kMiB) == 0, "an allocation");
    must(cu.cuMemFree_v2(address) == 0, "a free");
    const long long took = now_us() - before;
    if (took > longest) longest = took;
    int status = 0;
    if (waitpid(-1, &status, WNOHANG) != -1 || errno != ECHILD) ++foreign;
    if (calls++ % 64 == 0) {
      const pid_t child = fork();
      if (child == 0) _exit(7);
      pid_t ended;
      while ((ended = waitpid(-1, &status, 0)) == -1 && errno == EINTR) {
      }
      if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) ++foreign;
      ++own;
    }
    usleep(1000);
  }
  printf("longest_us %lld\nforeign %d\nown %d signals %d\ndescriptors %d\n", longest, foreign, own,
         (int)children_signals, open_descriptors() - descriptors);
  return 0;
}

/* --- signal */

static volatile sig_atomic_t arrived, value;

static void note(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  value = info->si_value.sival_int;
  ++arrived;
}

static int with_signal(const char* how, const char* bytes) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  int fd = -1;
  struct sigaction action = {0};
  if (strcmp(how, "ignored") == 0) action.sa_handler = SIG_IGN;
  if (strcmp(how, "handled") == 0) {
    action.sa_sigaction = note;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
  }
  sigaction(SIGUSR1, &action, NULL);
  if (strcmp(how, "fetched") == 0) {
    sigprocmask(SIG_BLOCK, &set, NULL);
    fd = signalfd(-1, &set, SFD_NONBLOCK);
  }
  cu = start_cuda();
  allocate_bytes(&cu, mib(bytes));
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    struct signalfd_siginfo info;
    if (fd >= 0 && read(fd, &info, sizeof info) == sizeof info) {
      value = info.ssi_int;
      ++arrived;
    }
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    printf("arrived %d value %d %s\n", (int)arrived, (int)value,
           now.sa_sigaction == action.sa_sigaction ? "own" : "changed");
    fflush(stdout);
  }
  return 0;
}

/* --- budget */

static int set_budget(const char* bytes) {
  cu = start_cuda();
  int (*set)(int, uint64_t) = (int (*)(int, uint64_t))dlsym(RTLD_DEFAULT, "vramguard_set_budget");
  must(set && set(0, mib(bytes)) == 0, "vramguard_set_budget");
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
  }
  return 0;
}

/* --- together */

static pthread_barrier_t barrier;

static void* ask(void* result) {
  use_device(&cu, 0);
  CUdeviceptr address = 0;
  pthread_barrier_wait(&barrier);
  *(CUresult*)result = cu.cuMemAlloc_v2(&address, wanted);
  return NULL;
}

static int together(int count, const char* bytes) {
  enum { kMost = 64 };
  pthread_t threads[kMost];
  CUresult results[kMost];
  cu = start_cuda();
  wanted = mib(bytes);
  pthread_barrier_init(&barrier, NULL, (unsigned)count);
  for (int i = 0; i < count; ++i) pthread_create(&threads[i], NULL, ask, &results[i]);
  for (int i = 0; i < count; ++i) {
    pthread_join(threads[i], NULL);
    printf("%d\n", results[i]);
  }
  return 0;
}

/* --- freed_by_other, mutex */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static CUdeviceptr held;
static long long freed_at;

static void* free_later(void* needs_mutex) {
  use_device(&cu, 0);
  usleep(200000);
  if (needs_mutex) pthread_mutex_lock(&mutex);
  cu.cuMemFree_v2(held);
  freed_at = now_us();
  if (needs_mutex) pthread_mutex_unlock(&mutex);
  return NULL;
}

static int freed_by_other(const char* bytes, int needs_mutex) {
  cu = start_cuda();
  held = allocate_bytes(&cu, mib(bytes));
  pthread_t other;
  if (needs_mutex) pthread_mutex_lock(&mutex);
  pthread_create(&other, NULL, free_later, needs_mutex ? &mutex : NULL);
  CUdeviceptr address = 0;
  const long long began = now_us();
  const CUresult code = cu.cuMemAlloc_v2(&address, mib(bytes));
  const long long ended = now_us();
  if (needs_mutex) pthread_mutex_unlock(&mutex);
  pthread_join(other, NULL);
  printf("code %d\nwaited_ms %lld\nafter_free_ms %lld\n", code, (ended - began) / 1000, (ended - freed_at) / 1000);
  return 0;
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  const char* mode = argc > 2 ? argv[1] : "";
  if (strcmp(mode, "beside") == 0) return beside(argv[2]);
  if (strcmp(mode, "budget") == 0) return set_budget(argv[2]);
  if (strcmp(mode, "signal") == 0 && argc > 3) return with_signal(argv[2], argv[3]);
  if (strcmp(mode, "together") == 0 && argc > 3) return together(atoi(argv[2]), argv[3]);
  if (strcmp(mode, "freed_by_other") == 0) return freed_by_other(argv[2], 0);
  if (strcmp(mode, "mutex") == 0) return freed_by_other(argv[2], 1);
  return 2;
}
