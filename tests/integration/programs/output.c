/* Has its own plans for descriptors. Usage: output json|reuse|closefrom|first_refusal FILE... */
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/integration/programs/guest.h"

static void put(int fd, const char* text) { must(write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write"); }

static int create(const char* path, int expected) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
  must(fd == expected, "the descriptor that is free");
  return fd;
}

/* And gives the guard's thread the time to say something. */
static void refuse_some(const struct driver* cu) {
  for (int i = 0; i < 5; ++i) must(ask_too_much(cu) == 2, "OUT_OF_MEMORY");
  usleep(100 * 1000);
}

int main(int argc, char** argv) {
  must(argc >= 2, "usage");
  const char* what = argv[1];
  if (strcmp(what, "reuse") == 0) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    for (int i = 0; i < 3; ++i) create(argv[2 + i], i);
    for (int i = 0; i < 3; ++i) put(i, "before\n");
    const struct driver cu = start_cuda();
    refuse_some(&cu);
    for (int i = 0; i < 3; ++i) put(i, "after\n");
    return 0;
  }
  const struct driver cu = start_cuda();
  refuse_some(&cu);
  if (strcmp(what, "closed") == 0) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    refuse_some(&cu);
    return 7;
  }
  if (strcmp(what, "closefrom") == 0) {
    for (int round = 0; round < 3; ++round) {
      must(syscall(SYS_close_range, 3u, ~0u, 0u) == 0, "close_range");
      const int fd = create(argv[2], 3);
      put(fd, "mine\n");
      refuse_some(&cu);
      put(fd, "mine\n");
    }
    return 0;
  }
  printf("{\"refused\": %d}\n", ask_too_much(&cu));
  return 0;
}
