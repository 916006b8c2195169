/* The two settings that must be known before the core is loaded. Decided once, when the process first comes
 * near the driver: a change of the environment after that has no effect. */
#include "shim/preload/preload.h"

extern char** environ;

static int environment_says(const char* assignment) {
  for (char** entry = environ; entry && *entry; ++entry)
    if (vg_same(*entry, assignment)) return 1;
  return 0;
}

enum { kUnknown = 0, kNo = 1, kYes = 2 };

static int decided(int* state, const char* assignment) {
  int value = __atomic_load_n(state, __ATOMIC_RELAXED);
  if (value == kUnknown && environ) { /* before libc has set it, nothing can be decided */
    value = environment_says(assignment) ? kYes : kNo;
    __atomic_store_n(state, value, __ATOMIC_RELAXED);
  }
  return value == kYes;
}

int vg_disabled(void) {
  static int state;
  return decided(&state, "VRAMGUARD=0");
}

int vg_run_on_error(void) {
  static int state;
  return decided(&state, "VRAMGUARD_ON_ERROR=run");
}
