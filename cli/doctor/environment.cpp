#include "cli/doctor/checks.h"

#include "core/state/state_reader.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace vramguard {
namespace {

constexpr char kSystemPreload[] = "/etc/ld.so.preload";

// Others that stand between programs and the driver.
constexpr std::array<std::string_view, 6> kOtherShims{"libvgpu.so",         "libnvshare.so",       "libgemhook.so",
                                                      "libcuda-control.so", "libvcuda-control.so", "libaccuda.so"};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string file_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

bool is_other_shim(const std::string& name) {
  for (const std::string_view shim : kOtherShims) {
    if (name.starts_with(shim)) return true;
  }
  return false;
}

// The entries of a list as the loader reads it.
std::vector<std::string> entries_of(const std::string& list) {
  std::vector<std::string> entries;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find_first_of(": \t\n", at), list.size());
    if (end > at) entries.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return entries;
}

void examine_preload(const std::string& where, const std::string& list, Diagnoses& all) {
  for (const std::string& entry : entries_of(list)) {
    const std::string shown = printable(entry);
    if (entry.find('/') != std::string::npos && access(entry.c_str(), R_OK) != 0) {
      all.push_back(problem("preload", where + " names " + shown + ", which cannot be read: the loader passes it over",
                            "mend or remove the entry"));
    } else if (is_other_shim(file_name(entry))) {
      all.push_back(
          problem("preload", where + " names " + shown + ", which also stands between programs and the driver",
                  "keep one of the two: their limits and their view of the card would contradict each other"));
    } else if (file_name(entry) != "libvramguard.so") {
      all.push_back(hint("preload", where + " also names " + shown,
                         "if a guarded program behaves strangely, try it without that library first"));
    }
  }
}

}  // namespace

Diagnoses examine_environment() {
  Diagnoses all;
  if (variable("VRAMGUARD") == "0")
    all.push_back(problem("environment", "VRAMGUARD=0 is set: nothing is guarded here", "unset VRAMGUARD"));
  if (variable("VRAMGUARD_ON_ERROR") == "run")
    all.push_back(hint("environment", "VRAMGUARD_ON_ERROR=run: with a wrong configuration programs run unguarded",
                       "unset it where a budget must be kept"));
  examine_preload("LD_PRELOAD", variable("LD_PRELOAD"), all);
  std::ifstream file(kSystemPreload);
  examine_preload(kSystemPreload, {std::istreambuf_iterator<char>(file), {}}, all);

  const std::string pipe = variable("CUDA_MPS_PIPE_DIRECTORY");
  if (access((pipe.empty() ? "/tmp/nvidia-mps/control" : pipe + "/control").c_str(), F_OK) == 0)
    all.push_back(hint("MPS", "an MPS server may be running here, and it holds memory in its own name",
                       "leave room for it: NVML shows what nvidia-cuda-mps-server takes"));
  if (variable("CUDA_VISIBLE_DEVICES").find("MIG-") != std::string::npos)
    all.push_back(hint("MIG", "CUDA_VISIBLE_DEVICES names a MIG instance: budgets hold for it, not for the card",
                       "name it by its MIG-... UUID in the configuration"));
  if (all.empty()) all.push_back(good("environment", "nothing else is preloaded, nothing is switched off"));
  return all;
}

}  // namespace vramguard
