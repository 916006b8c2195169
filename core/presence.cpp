#include "core/presence.h"

#include <unistd.h>

#include <utility>
#include <variant>

#include "core/futex.h"
#include "core/state/counters.h"
#include "core/state/group_membership.h"
#include "core/state/wake.h"
#include "core/undisturbed.h"

namespace vramguard {

namespace {

constexpr std::size_t kMostFolded = 16;  // the program waits for it

}  // namespace

std::optional<StateProblem> Presence::prepare(const std::string& state_dir, const std::string& group) {
  const Undisturbed undisturbed;
  auto folder = open_state_folder(state_dir);
  if (auto* problem = std::get_if<StateProblem>(&folder)) return std::move(*problem);
  const auto& path = std::get<std::string>(folder);
  fold_stale({path, geteuid()}, kMostFolded);
  remove_idle_files(path);
  auto made = ProcessStateFile::make(path);
  if (auto* problem = std::get_if<StateProblem>(&made)) return std::move(*problem);
  if (!group.empty()) {
    auto opened = open_group(path, group);
    if (auto* problem = std::get_if<StateProblem>(&opened)) {
      std::get<ProcessStateFile>(made).remove();
      return std::move(*problem);
    }
    group_ = std::get<GroupFile*>(opened);
    group_name_ = group;
    set_state_text(std::get<ProcessStateFile>(made).state().group, group);
  }
  file_.emplace(std::move(std::get<ProcessStateFile>(made)));
  return std::nullopt;
}

void Presence::begin() noexcept {
  if (!file_) return;
  bool good = false;
  try {
    good = show_and_join();
  } catch (...) {
  }
  begun_.store(good ? kShown : kFailed);
  futex_wake_all(begun_);
}

bool Presence::show_and_join() {
  if (!file_->mark_alive_and_publish()) {
    problem_ = "its files cannot be shown";
    return false;
  }
  while (group_ != nullptr) {
    auto joined = join_group(*group_, file_->name());
    if (auto* problem = std::get_if<StateProblem>(&joined)) {
      problem_ = std::move(problem->message);
      return false;
    }
    place_ = std::get<std::size_t>(joined);
    if (is_current(*group_, file_->folder(), group_name_)) return true;
    auto opened = open_group(file_->folder(), group_name_);
    if (auto* problem = std::get_if<StateProblem>(&opened)) {
      problem_ = std::move(problem->message);
      return false;
    }
    group_ = std::get<GroupFile*>(opened);
  }
  return true;
}

std::optional<StateProblem> Presence::wait_begun(std::chrono::milliseconds patience) {
  const MonotonicTime until = std::chrono::steady_clock::now() + patience;
  while (begun_.load() == kNotYet) {
    if (std::chrono::steady_clock::now() >= until) return StateProblem{"its own thread does not get to run"};
    futex_wait(begun_, kNotYet, until);
  }
  if (begun_.load() == kShown) return std::nullopt;
  return StateProblem{problem_};
}

const GroupShare* Presence::share(const DeviceInfo& device) {
  const std::optional<std::size_t> place =
      place_of_device(*group_, device.uuid.empty() ? device.pci_bus_id : device.uuid);
  return place ? &shares_.emplace_back(*group_, place_, *place) : nullptr;
}

void Presence::wake_member(const std::string& folder, const GroupSlot& slot) noexcept try {
  const Undisturbed undisturbed;
  wake_process(folder, state_text(slot.name));
} catch (...) {  // no memory: it looks by itself in a moment
}

void Presence::end() noexcept try {
  if (!file_ || begun_.load() != kShown) return;
  const Undisturbed undisturbed;
  fold(file_->folder(), file_->state_path());  // whoever looks next does it otherwise
} catch (...) {
}

void Presence::withdraw() noexcept {
  if (file_) file_->remove();
}

}  // namespace vramguard
