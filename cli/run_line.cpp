#include "cli/run_line.h"

#include "cli/nvml_view.h"
#include "core/bytes.h"
#include "core/log_path.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <variant>

namespace vramguard {
namespace {

// The command does not wait longer for a driver that has to wake up.
constexpr std::chrono::milliseconds kCardPatience{250};
constexpr useconds_t kReapUs = 20'000;

std::string shared_by(const Handover& handover) {
  if (handover.group.empty()) return " per GPU and process";
  if (!handover.group_was_there) return " per GPU for the command and its children";
  return " per GPU for the group " + handover.group;
}

std::string budgets(const GuardConfig& config, const Handover& handover) {
  const bool unlimited = config.budget == Size{Unlimited{}};
  if (unlimited && config.device_budgets.empty()) return "no budget, nothing is refused";
  std::string out = "budget " + format_size(config.budget) + shared_by(handover);
  for (const DeviceBudget& device : config.device_budgets)
    out += ", " + device.device + " " + format_size(device.budget);
  return out + (config.mode == Mode::Observe ? ", observed only: nothing is refused" : "");
}

std::string one_card(const NvmlDevice& device) {
  return device.name + (device.total_bytes == kStateUnknown ? "" : ", " + format_bytes(device.total_bytes));
}

// "; NVIDIA H200, 139.8 GiB"; "" where nobody tells in time.
std::string cards() {
  NvmlObserver observer;
  const NvmlView view = observer.look(kCardPatience);
  if (view.answer == NvmlAnswer::Stuck) usleep(kReapUs);  // who was asked is gone then, and no child of the command
  if (view.devices.empty()) return "";
  const bool alike = std::all_of(view.devices.begin(), view.devices.end(), [&](const NvmlDevice& device) {
    return one_card(device) == one_card(view.devices.front());
  });
  std::string out = "; ";
  if (view.devices.size() > 1) out += std::to_string(view.devices.size()) + " GPUs" + (alike ? ": " : "");
  return out + (alike ? one_card(view.devices.front()) : "");
}

}  // namespace

bool lines_are_wanted(const GuardConfig& config) { return !config.quiet && isatty(STDERR_FILENO) != 0; }

std::string line_before(const GuardConfig& config, const Handover& handover) {
  std::string watch = "; watch: vramguard top";
  if (config.log.target == LogTarget::File) {
    const LogLocation log = locate_log(config.log.path, LogSurroundings::of_this_process());
    if (!log.path.empty()) watch += ", log " + log.path;
  }
  return budgets(config, handover) + cards() + watch + "; switch off: VRAMGUARD=0";
}

}  // namespace vramguard
