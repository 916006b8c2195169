// Prints the result rows that scripts/gpu_check.sh gathers: row, status, name, expected, seen, separated by tabs.
#pragma once

#include <stdarg.h>
#include <stdio.h>

static int report_failures;

__attribute__((format(printf, 4, 5))) static inline void report(int ok, const char* name, const char* expected,
                                                                const char* seen, ...) {
  va_list arguments;
  va_start(arguments, seen);
  printf("row\t%s\t%s\t%s\t", ok ? "PASS" : "FAIL", name, expected);
  vprintf(seen, arguments);
  printf("\n");
  fflush(stdout);
  va_end(arguments);
  report_failures += !ok;
}
