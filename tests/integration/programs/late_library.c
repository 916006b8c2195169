/* Uses the driver itself; loaded and unloaded by a program. */
#include "tests/integration/programs/guest.h"

int use_late(void) {
  const struct driver cu = start_cuda();
  allocate_bytes(&cu, 10 * kMiB);
  return ask_too_much(&cu);
}
