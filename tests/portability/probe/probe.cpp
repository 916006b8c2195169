#include "tests/portability/probe/probe.h"

#include <atomic>
#include <exception>

namespace {

std::atomic<int> checks{0};
std::atomic<int> failures{0};
std::atomic<int> destroyed{0};
void (*complain_)(const char*, const char*, int) = nullptr;

struct CountsDestruction {
  ~CountsDestruction() { destroyed.fetch_add(1); }
};

}  // namespace

namespace probe {

void expect(bool held, const char* expression, const char* file, int line) {
  checks.fetch_add(1);
  if (held) return;
  failures.fetch_add(1);
  complain_(expression, file, line);
}

}  // namespace probe

extern "C" {

__attribute__((visibility("default"))) int floor_probe_run(void (*complain)(const char*, const char*, int),
                                                           int* count) {
  complain_ = complain;
  // Without this, a stranger's exception or pthread_cancel that passes a frame of ours aborts: the unwinder that is
  // linked in statically fills its tables at its first throw only.
  try {
    throw 1;
  } catch (...) {
  }
  for (void (*checks_of)() : {probe::exceptions, probe::threads, probe::text, probe::containers, probe::system_calls}) {
    try {
      checks_of();
    } catch (const std::exception& error) {
      probe::expect(false, error.what(), __FILE__, __LINE__);
    }
  }
  *count += checks.load();
  return failures.load();
}

__attribute__((visibility("default"))) void floor_probe_call(void (*callback)(void*), void* argument) {
  CountsDestruction here;
  callback(argument);
}

__attribute__((visibility("default"))) int floor_probe_destroyed(void) { return destroyed.load(); }
}
