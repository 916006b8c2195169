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
  return gpu_traces_in(maps);
}

// Of a process that ends while it is read the map breaks off somewhere: what is loaded above that is not seen. The
// stack and the kernel's own page lie above all that is loaded.
std::optional<GpuTraces> gpu_traces_in(std::istream& maps) {
  GpuTraces traces;
  bool whole = false;
  for (std::string line; std::getline(maps, line);) {
    whole = whole || line.ends_with("[stack]") || line.ends_with("[vdso]");
    const std::size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string_view path = std::string_view(line).substr(slash);
    const std::string_view name = path.substr(path.rfind('/') + 1);
    traces.guard = traces.guard || name.starts_with("libvramguard.so");
    traces.libc = traces.libc || name.starts_with("libc.so") || name.starts_with("libc-2.");
    traces.driver = traces.driver || name.starts_with("libcuda.so");
    traces.device = traces.device || path.starts_with(kUnifiedMemory);
  }
  return whole ? std::optional(traces) : std::nullopt;
}

}  // namespace vramguard
