#include "cli/gpu_traces.h"

#include <fstream>
#include <string>
#include <string_view>

namespace vramguard {
namespace {

// Programs that only watch a card open its other device files, too.
constexpr std::string_view kUnifiedMemory = "/dev/nvidia-uvm";

}  // namespace

std::optional<GpuTraces> gpu_traces_of(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  GpuTraces traces;
  bool any = false;
  for (std::string line; std::getline(maps, line);) {
    any = true;
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string_view path = std::string_view(line).substr(slash);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    traces.guard = traces.guard || name.starts_with("libvramguard.so");
    traces.libc = traces.libc || name.starts_with("libc.so") || name.starts_with("libc-2.");
    traces.driver = traces.driver || name.starts_with("libcuda.so");
    traces.device = traces.device || path.starts_with(kUnifiedMemory);
  }
  return any ? std::optional(traces) : std::nullopt;
}

}  // namespace vramguard
