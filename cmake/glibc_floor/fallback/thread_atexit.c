// glibc 2.18: destructors of thread_local objects. Here they run when a thread ends, but not for the thread that calls
// exit(), which ends the process anyway.
#include <pthread.h>
#include <stdlib.h>

struct entry {
  void (*destroy)(void*);
  void* object;
  struct entry* next;
};

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static int key_error;

static void run(void* newest) {
  struct entry* entry = newest;
  while (entry != NULL) {
    pthread_setspecific(key, entry->next);  // A destructor may register more.
    entry->destroy(entry->object);
    free(entry);
    entry = pthread_getspecific(key);
  }
}

static void make_key(void) { key_error = pthread_key_create(&key, run); }

int __cxa_thread_atexit_impl(void (*destroy)(void*), void* object, void* library) {
  (void)library;  // The libraries that this is linked into are never unloaded (-z nodelete).
  pthread_once(&key_once, make_key);
  if (key_error != 0) return -1;
  struct entry* entry = malloc(sizeof *entry);
  if (entry == NULL) return -1;
  *entry = (struct entry){destroy, object, pthread_getspecific(key)};
  if (pthread_setspecific(key, entry) == 0) return 0;
  free(entry);
  return -1;
}
