#include "cli/doctor/checks.h"

#include "core/state/state_reader.h"

#include <algorithm>
#include <fstream>

namespace vramguard {
namespace {

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..."; "" without a driver.
std::string driver_of_the_kernel() {
  std::ifstream file("/proc/driver/nvidia/version");
  for (std::string word; file >> word;) {
    const bool version = !word.empty() && word[0] >= '1' && word[0] <= '9' && word.find('.') != std::string::npos &&
                         word.find_first_not_of("0123456789.") == std::string::npos;
    if (version) return word;
  }
  return "";
}

std::string branch_of(const std::string& version) { return version.substr(0, version.find('.')); }

Diagnosis examine_driver(const std::string& version) {
  if (version.empty())
    return hint("driver", "there is no NVIDIA driver here",
                "nothing to do where no GPU is used; else install the driver");
  const auto& tried = tried_drivers();
  if (std::find(tried.begin(), tried.end(), version) != tried.end()) return good("driver", version);
  for (const std::string& known : tried) {
    if (branch_of(known) == branch_of(version))
      return good("driver", version + "; " + known + " of the same branch was tried");
  }
  return hint("driver", "vramguard was never tried on driver " + version,
              "compare 'vramguard ps' with nvidia-smi once; scripts/gpu_check.sh tries everything");
}

}  // namespace

const std::vector<std::string>& tried_drivers() {
  static const std::vector<std::string> tried{"580.159.04"};
  return tried;
}

Diagnoses examine_devices(const ProcessTable& table) {
  const std::string kernel = driver_of_the_kernel();
  Diagnoses all{examine_driver(printable(kernel.empty() ? table.driver_version : kernel))};
  if (table.nvml == NvmlAnswer::Stuck || table.nvml == NvmlAnswer::Failed)
    all.push_back(problem("NVML", table.nvml == NvmlAnswer::Stuck ? "it does not answer" : "it fails",
                          "see what nvidia-smi says; until then contexts are charged by an estimate"));
  for (const TableProcess& process : table.processes) {
    if (process.guarded == Guarded::Yes) continue;
    const std::string name = process.command.substr(0, process.command.find(' ')) + " (" +
                             (process.pid ? std::to_string(*process.pid) : "?") + ")";
    all.push_back(
        hint("unguarded",
             name + " of " + (process.user.empty() ? "unknown" : process.user) +
                 (process.guarded == Guarded::No ? " uses a GPU without vramguard"
                                                 : " uses a GPU; whether it is guarded cannot be told from here"),
             "start it under 'vramguard run'; budgets do not hold it"));
  }
  return all;
}

}  // namespace vramguard
