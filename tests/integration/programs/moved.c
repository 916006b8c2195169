/* Changes its folder before it uses the driver. */
#include <unistd.h>

#include "tests/integration/programs/guest.h"

int main(void) {
  must(chdir("/") == 0, "chdir");
  const struct driver cu = start_cuda();
  printf("%d\n", ask_too_much(&cu));
  return 0;
}
