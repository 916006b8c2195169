// The public file of one guarded process, and the private one beside it: made, marked as alive, removed.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "core/state/control_block.h"
#include "core/state/process_state.h"
#include "core/state/state_folder.h"
#include "core/state/state_text.h"

namespace vramguard {

// The name of a process's public file ends in this, that of its private one in the other.
inline constexpr char kStateSuffix[] = ".state", kControlSuffix[] = ".control";

// Belongs to the process that made it; both files stay mapped as long as it lives. Thread-safe but for
// mark_alive_and_publish().
class ProcessStateFile {
 public:
  // In `folder`, with magic, version, identity and mark filled in. Nobody sees it before
  // mark_alive_and_publish().
  static std::variant<ProcessStateFile, StateProblem> make(const std::string& folder);

  ProcessState& state() const noexcept { return *state_; }
  ControlBlock& control() const noexcept { return *control_; }
  const std::string& folder() const noexcept { return folder_; }
  // The file's name without its suffix: of no other process until the next boot.
  const std::string& name() const noexcept { return name_; }
  std::string state_path() const { return folder_ + "/" + name_ + kStateSuffix; }
  std::string control_path() const { return folder_ + "/" + name_ + kControlSuffix; }

  // By the thread that is to stand for the process; then everybody may see the files. False: they cannot be shown.
  bool mark_alive_and_publish() noexcept;
  // Both files are gone; their memory stays.
  void remove() noexcept;

 private:
  ProcessStateFile() = default;
  std::string folder_, name_;
  std::string hidden_state_, hidden_control_;
  ProcessState* state_ = nullptr;
  ControlBlock* control_ = nullptr;
};

}  // namespace vramguard
