// How the host, the driver and the core of this test know that a call arrived whole: ten numbers, two of them on the
// stack.
#pragma once

typedef int (*any_function)(long, long, long, long, long, long, long, long, long, long);

#define PARAMETERS long a, long b, long c, long d, long e, long f, long g, long h, long i, long j
#define ARRIVED (a == 1 && b == 2 && c == 3 && d == 4 && e == 5 && f == 6 && g == 7 && h == 8 && i == 9 && j == 10)
#define ARGUMENTS 1, 2, 3, 4, 5, 6, 7, 8, 9, 10

enum { kFromDriver = 1000, kFromCore = 5000, kBroken = -1 };
