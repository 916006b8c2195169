#include "tests/sim_driver/process_life.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace vgsim {
namespace {

struct ProcessStat {
  bool found = false;
  char state = 0;
  std::uint64_t start_time = 0;
};

ProcessStat read_stat(int pid) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[1024];
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return {};
  text[length] = '\0';
  // The name in brackets may hold anything, brackets too; the state is field 3 and the start time field 22.
  const char* at = std::strrchr(text, ')');
  if (!at || std::strlen(at) < 3) return {};
  ProcessStat stat;
  stat.found = true;
  stat.state = at[2];
  at += 2;
  for (int field = 3; field < 22 && at; ++field) {
    at = std::strchr(at, ' ');
    if (at) ++at;
  }
  if (at) stat.start_time = std::strtoull(at, nullptr, 10);
  return stat;
}

}  // namespace

std::uint64_t process_start_time(int pid) { return read_stat(pid).start_time; }

bool process_is_alive(int pid, std::uint64_t start_time) {
  const ProcessStat stat = read_stat(pid);
  return stat.found && stat.state != 'Z' && stat.state != 'X' && stat.start_time == start_time;
}

}  // namespace vgsim
