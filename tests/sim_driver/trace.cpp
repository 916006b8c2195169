#include "tests/sim_driver/trace.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "tests/sim_driver/environment.h"

namespace vgsim {
namespace {

int trace_file() {
  static const int fd = environment().trace_path.empty()
                            ? -1
                            : open(environment().trace_path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  return fd;
}

void write_line(int fd, const char* text, int length, std::size_t capacity) {
  const auto bytes = static_cast<std::size_t>(length) < capacity ? static_cast<std::size_t>(length) : capacity - 1;
  if (write(fd, text, bytes) < 0) {
    // A trace that cannot be written is lost; the program goes on.
  }
}

}  // namespace

void trace_call(Function function, int result, const char* note) {
  const int fd = trace_file();
  if (fd < 0) return;
  char line[160];
  const int length = std::snprintf(line, sizeof line, "%s %d %d%s%s\n", function_name(function), result, getpid(),
                                   note ? " " : "", note ? note : "");
  write_line(fd, line, length, sizeof line);
}

void report_problem(const char* text) {
  char line[512];
  const int length = std::snprintf(line, sizeof line, "vgsim: %s\n", text);
  write_line(STDERR_FILENO, line, length, sizeof line);
  if (trace_file() >= 0) write_line(trace_file(), line, length, sizeof line);
}

}  // namespace vgsim
