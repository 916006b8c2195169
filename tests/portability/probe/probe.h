// The library that shows what C++ can do when it is linked against the glibc floor; run_probe.c loads it.
#pragma once

#ifdef __cplusplus
#include <vector>

extern "C" {
#endif

// Runs every check; returns how many failed, and adds those that ran to `*checks`. `complain` gets each failed one.
int floor_probe_run(void (*complain)(const char* expression, const char* file, int line), int* checks);

// Calls `callback(argument)` below a frame with a destructor, as the guard does around a driver call.
void floor_probe_call(void (*callback)(void*), void* argument);

// How many of those destructors have run.
int floor_probe_destroyed(void);

#ifdef __cplusplus
}

namespace probe {

// The checks may run on any thread.
void expect(bool held, const char* expression, const char* file, int line);

void exceptions();
void threads();
void text();
void containers();
void system_calls();

}  // namespace probe

#define PROBE_EXPECT(expression) ::probe::expect((expression), #expression, __FILE__, __LINE__)
#endif
