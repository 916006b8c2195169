// glibc 2.33; before, these were inline calls of __xstat and its like. On 64-bit systems the kernel's struct is
// glibc's.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "64-bit systems have one layout");

int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, result, flags);
}

int fstatat64(int folder, const char* path, struct stat64* result, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, result, flags);
}

int stat(const char* path, struct stat* result) { return fstatat(AT_FDCWD, path, result, 0); }

int stat64(const char* path, struct stat64* result) { return fstatat64(AT_FDCWD, path, result, 0); }

int lstat(const char* path, struct stat* result) { return fstatat(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW); }

int lstat64(const char* path, struct stat64* result) { return fstatat64(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW); }

int fstat(int file, struct stat* result) { return (int)syscall(SYS_fstat, file, result); }

int fstat64(int file, struct stat64* result) { return (int)syscall(SYS_fstat, file, result); }
