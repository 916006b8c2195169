// Stands for guarded processes: makes their public files, holds their marks, and lives until its standard input ends.
// Usage: fabricate_state FOLDER COUNT RECOVERED [POD]
// Prints a line when the files are there. Each has two GPUs and one hook; RECOVERED is counted on the first GPU of
// each.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/fabricated_state.h"

namespace {

using namespace vramguard;

void fill_in(ProcessState& state, std::uint64_t recovered, const char* pod) {
  for (const char* uuid : {"GPU-0", "GPU-1"}) {
    DeviceState& device = add_device(state, uuid);
    device.budget_bytes = std::uint64_t{8} << 30;
    device.used_bytes = std::uint64_t{3} << 30;
    device.peak_bytes = std::uint64_t{5} << 30;
    device.device_free_bytes = std::uint64_t{40} << 30;
  }
  state.devices[0].recovered = recovered;
  state.devices[0].refused[0] = 2 * recovered;
  state.hook_count = 1;
  set_state_text(state.hooks[0].name, "drop_cache");
  state.hooks[0].runs = recovered;
  if (pod != nullptr) {
    set_state_text(state.pod, pod);
    set_state_text(state.namespace_, "research");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  std::vector<ProcessStateFile> files;
  for (long i = std::strtol(argv[2], nullptr, 10); i > 0; --i) {
    files.push_back(make_state_file(argv[1]));
    files.back().state().pid += static_cast<std::int32_t>(files.size());  // so that series of their own are many
    fill_in(files.back().state(), std::strtoull(argv[3], nullptr, 10), argc > 4 ? argv[4] : nullptr);
    if (!files.back().mark_alive_and_publish()) return 1;
  }
  std::puts("ready");
  std::fflush(stdout);
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}
