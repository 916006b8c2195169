// This process as others see it: its files in the state folder, and its place in a group.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "core/device_info.h"
#include "core/state/control_block.h"
#include "core/state/group_share.h"
#include "core/state/process_state_file.h"

namespace vramguard {

// prepare() and share() belong to the thread that starts the guard, begin() to the thread that then stands for the
// process; the rest is thread-safe. Never destroyed once begun.
class Presence {
 public:
  Presence() = default;
  Presence(const Presence&) = delete;

  // Makes the files, which nobody sees yet, and opens the group unless its name is "".
  std::optional<StateProblem> prepare(const std::string& state_dir, const std::string& group);
  bool prepared() const noexcept { return file_.has_value(); }

  // Shows the files and takes the place in the group, for as long as the calling thread lives.
  void begin() noexcept;
  // What became of begin(); also a problem: it did not come within `patience`.
  std::optional<StateProblem> wait_begun(std::chrono::milliseconds patience);

  // This process's part of that device's shared budget; nullptr: the group has no place for another device. Only with a
  // group.
  const GroupShare* share(const DeviceInfo& device);
  bool in_group() const noexcept { return group_ != nullptr; }
  const std::string& group_name() const noexcept { return group_name_; }
  GroupFile* group() const noexcept { return group_; }

  // Null before prepare(), and where there is no folder.
  ProcessState* state() const noexcept { return file_ ? &file_->state() : nullptr; }
  ControlBlock* control() const noexcept { return file_ ? &file_->control() : nullptr; }
  // Asks another member's thread to look at what is asked of it.
  static void wake_member(const std::string& folder, const GroupSlot& slot) noexcept;
  const std::string& folder() const noexcept { return file_->folder(); }

  // The process ends: its counts go to the folder's sums, its files go.
  void end() noexcept;
  // Nobody is to see it: its files go, and nothing is counted.
  void withdraw() noexcept;

 private:
  bool show_and_join();

  enum Begun : std::uint32_t { kNotYet, kShown, kFailed };

  std::optional<ProcessStateFile> file_;
  std::string group_name_;
  GroupFile* group_ = nullptr;
  std::size_t place_ = 0;
  std::deque<GroupShare> shares_;
  std::string problem_;
  std::atomic<std::uint32_t> begun_{kNotYet};
};

}  // namespace vramguard
