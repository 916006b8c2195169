// getrandom and getentropy: glibc 2.25; arc4random: 2.36. std::random_device uses the last two.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t getrandom(void* buffer, size_t length, unsigned flags) { return syscall(SYS_getrandom, buffer, length, flags); }

// Before Linux 3.17.
static int read_device(unsigned char* at, size_t left) {
  int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  while (left > 0) {
    ssize_t got = read(file, at, left);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += got;
    left -= (size_t)got;
  }
  close(file);
  return left == 0 ? 0 : -1;
}

static int fill(void* buffer, size_t length) {
  unsigned char* at = buffer;
  while (length > 0) {
    ssize_t got = getrandom(at, length, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return read_device(at, length);
    at += got;
    length -= (size_t)got;
  }
  return 0;
}

int getentropy(void* buffer, size_t length) {
  if (length <= 256 && fill(buffer, length) == 0) return 0;
  errno = EIO;
  return -1;
}

void arc4random_buf(void* buffer, size_t length) {
  if (fill(buffer, length) != 0) abort();  // As glibc: the interface has no way to fail.
}

uint32_t arc4random(void) {
  uint32_t value;
  arc4random_buf(&value, sizeof value);
  return value;
}
