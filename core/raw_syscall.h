// System calls that touch nothing but the kernel: no errno, no libc, so that a helper may share a stranger's TLS.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace vramguard {

// The kernel's answer: -4095 to -1 is a negative errno.
inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) noexcept {
#if defined(__x86_64__)
  long result = number;
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  asm volatile("syscall" : "+a"(result) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "write raw_syscall and raw_clone for this processor"
#endif
}

template <class T>
long raw_argument(T* pointer) noexcept {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

// A new process with CLONE_VM that runs `entry(argument)`, which never returns, on a stack of its own. `stack_end` is
// aligned to 16 bytes. Not libc's clone: up to 2.24 that one writes into the TLS which both then share.
inline long raw_clone(long flags, void* stack_end, std::uint32_t* child_tid, void (*entry)(void*) noexcept,
                      void* argument) noexcept {
#if defined(__x86_64__)
  long result = SYS_clone;
  register long r10 asm("r10") = raw_argument(child_tid);
  register long r8 asm("r8") = 0;
  register void (*r12)(void*) noexcept asm("r12") = entry;
  register void* r13 asm("r13") = argument;
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "hlt\n"
      "1:"
      : "+a"(result)
      : "D"(flags), "S"(stack_end), "d"(0L), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
      : "rcx", "r11", "memory", "cc");
  return result;
#else
  register long x8 asm("x8") = SYS_clone;
  register long x0 asm("x0") = flags;
  register void* x1 asm("x1") = stack_end;
  register long x2 asm("x2") = 0;
  register long x3 asm("x3") = 0;
  register std::uint32_t* x4 asm("x4") = child_tid;
  register void (*x10)(void*) noexcept asm("x10") = entry;
  register void* x11 asm("x11") = argument;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x11\n\t"
      "blr x10\n\t"
      "brk #0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x10), "r"(x11)
      : "memory", "cc");
  return x0;
#endif
}

}  // namespace vramguard
