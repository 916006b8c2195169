// What guarded processes tell of themselves, as any process reads it: no content of a file can do it harm.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/state/process_state.h"
#include "core/state/state_folder.h"

namespace vramguard {

// A copy of one public file.
struct SeenProcess {
  std::string path;
  uid_t owner;  // of the file, and of its folder
  bool alive;   // by its mark; false: a stale file
  // Its number here: where it is of our pid namespace, and /proc does not say otherwise.
  std::optional<pid_t> pid;
  ProcessState state;
};

// Why a file tells nothing.
struct UnreadableState {
  std::string path;
  std::string why;  // in words for a person
};

// The file is read, not mapped: it may be cut short meanwhile. Counts in it are brought within their arrays; its texts
// may still hold anything (state_text, printable). `folder` says whose files count: others' are unreadable.
std::variant<SeenProcess, UnreadableState> read_process_state(const std::string& path, uid_t owner);

// The public files of a folder.
std::variant<std::vector<std::string>, UnreadableState> state_paths(const std::string& folder);

struct SeenProcesses {
  std::vector<SeenProcess> processes;  // by start
  std::vector<UnreadableState> unreadable;
};
// All of these folders, stale ones included.
SeenProcesses read_states(const std::vector<StateFolder>& folders);

// `text` without what a terminal would obey: control characters and broken UTF-8 become '?'.
std::string printable(std::string text);

}  // namespace vramguard
