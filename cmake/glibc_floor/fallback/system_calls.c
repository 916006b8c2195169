// Thin wrappers that glibc got late: memfd_create 2.27, gettid and tgkill 2.30, close_range 2.34.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

int tgkill(pid_t process, pid_t thread, int signal) { return (int)syscall(SYS_tgkill, process, thread, signal); }

int memfd_create(const char* name, unsigned flags) { return (int)syscall(SYS_memfd_create, name, flags); }

int close_range(unsigned first, unsigned last, int flags) { return (int)syscall(SYS_close_range, first, last, flags); }
