/* A malloc in front of libc's that asks dlsym where that is, at every call. */
#include <dlfcn.h>
#include <stddef.h>

static char bootstrap[65536];
static size_t bootstrap_used;
/* Volatile: dlsym is declared as one that never comes back here. */
static __thread volatile int asking __attribute__((tls_model("initial-exec")));

static int from_bootstrap(const void* memory) {
  return (const char*)memory >= bootstrap && (const char*)memory < bootstrap + sizeof bootstrap;
}

/* What dlsym itself needs meanwhile. */
static void* take(size_t bytes) {
  void* memory = bootstrap + __atomic_fetch_add(&bootstrap_used, (bytes + 15) & ~(size_t)15, __ATOMIC_RELAXED);
  return (char*)memory + bytes <= bootstrap + sizeof bootstrap ? memory : NULL;
}

static void* ask(const char* name) {
  asking = 1;
  void* found = dlsym(RTLD_NEXT, name);
  asking = 0;
  return found;
}

void* malloc(size_t bytes) { return asking ? take(bytes) : ((void* (*)(size_t))ask("malloc"))(bytes); }

void* calloc(size_t count, size_t bytes) {
  return asking ? take(count * bytes) : ((void* (*)(size_t, size_t))ask("calloc"))(count, bytes);
}

void free(void* memory) {
  if (!memory || from_bootstrap(memory) || asking) return;
  ((void (*)(void*))ask("free"))(memory);
}
