// The call trace: one line per call in the file that VGSIM_TRACE names.
#pragma once

#include "tests/sim_driver/function_id.h"

namespace vgsim {

// Appends "name result pid" and the note, if any, with one write, so that lines of several processes do not mix.
// Does nothing when VGSIM_TRACE is not set. Thread-safe.
void trace_call(Function function, int result, const char* note = nullptr);

// A line that is no call: a value in the environment that was not understood, say. Also written to stderr.
void report_problem(const char* text);

}  // namespace vgsim
