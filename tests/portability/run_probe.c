// Loads the probe as the preloaded part loads the core, into a process without libstdc++, and lets it test itself.
// Prints "N checks, N failed"; exits 1 if any failed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void complain(const char* expression, const char* file, int line) {
  fprintf(stderr, "%s:%d: failed: %s\n", file, line, expression);
}

static int checks;
static int failed;

static void expect(int held, const char* what) {
  ++checks;
  if (held) return;
  ++failed;
  fprintf(stderr, "failed: %s\n", what);
}

static void (*call)(void (*)(void*), void*);
static pthread_barrier_t ready;

static void wait_to_be_cancelled(void* unused) {
  (void)unused;
  pthread_barrier_wait(&ready);
  for (;;) pthread_testcancel();
}

static void leave(void* unused) {
  (void)unused;
  pthread_exit((void*)7L);
}

static void* cancelled(void* unused) {
  call(wait_to_be_cancelled, unused);
  return NULL;
}

static void* left(void* unused) {
  call(leave, unused);
  return NULL;
}

// What unwinds the host's threads passes the probe's frames, whose tables the static unwinder reads.
static void unwinding_threads(int (*destroyed)(void)) {
  pthread_barrier_init(&ready, NULL, 2);
  for (int round = 1; round <= 8; ++round) {
    pthread_t thread;
    void* result = NULL;
    pthread_create(&thread, NULL, cancelled, NULL);
    pthread_barrier_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    expect(result == PTHREAD_CANCELED, "a thread is cancelled below a frame of the library");
    expect(destroyed() == 2 * round - 1, "the cancelled thread's destructor ran");
    pthread_create(&thread, NULL, left, NULL);
    pthread_join(thread, &result);
    expect(result == (void*)7L, "a thread leaves by pthread_exit below a frame of the library");
    expect(destroyed() == 2 * round, "the leaving thread's destructor ran");
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  int (*run)(void (*)(const char*, const char*, int), int*);
  int (*destroyed)(void);
  *(void**)&run = dlsym(library, "floor_probe_run");
  *(void**)&call = dlsym(library, "floor_probe_call");
  *(void**)&destroyed = dlsym(library, "floor_probe_destroyed");
  if (run == NULL || call == NULL || destroyed == NULL) return 2;

  failed += run(complain, &checks);
  unwinding_threads(destroyed);
  printf("%d checks, %d failed\n", checks, failed);
  return failed != 0;
}
