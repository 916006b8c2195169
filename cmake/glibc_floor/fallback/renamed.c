// New names that newer headers give to old calls: fcntl64 is glibc 2.28, the __isoc23_ family 2.38 (it also reads
// binary constants such as 0b1, which nothing here does).
#define _GNU_SOURCE
#include <stdarg.h>

extern int old_fcntl(int file, int command, ...) __asm__("fcntl");
extern long old_strtol(const char*, char**, int) __asm__("strtol");
extern long long old_strtoll(const char*, char**, int) __asm__("strtoll");
extern unsigned long old_strtoul(const char*, char**, int) __asm__("strtoul");
extern unsigned long long old_strtoull(const char*, char**, int) __asm__("strtoull");

// Every command takes nothing, an int or a pointer, all of which fit a pointer's register.
int fcntl64(int file, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return old_fcntl(file, command, argument);
}

long __isoc23_strtol(const char* text, char** end, int base) { return old_strtol(text, end, base); }

long long __isoc23_strtoll(const char* text, char** end, int base) { return old_strtoll(text, end, base); }

unsigned long __isoc23_strtoul(const char* text, char** end, int base) { return old_strtoul(text, end, base); }

unsigned long long __isoc23_strtoull(const char* text, char** end, int base) { return old_strtoull(text, end, base); }
