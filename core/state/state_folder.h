// The folder for what vramguard itself writes while programs run.
#pragma once

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

namespace vramguard {

// Why something cannot be had, in words for a person.
struct StateProblem {
  std::string message;
};

// `named` (VRAMGUARD_STATE_DIR) unless it is empty, else /run/vramguard/<uid> where that exists, else
// /dev/shm/vramguard-<uid>. Never one of the session, which cron jobs or a tmux that outlives it would not see.
std::string state_folder_path(const std::string& named, uid_t uid);

// That folder of this user, made if need be. One of another user, or one that others can write to, is a problem.
std::variant<std::string, StateProblem> open_state_folder(const std::string& named);

// The folders of all users that can be told from the file system, each with its owner, and `named` first unless it is
// empty. One whose owner is not the one that its name says is left out.
struct StateFolder {
  std::string path;
  uid_t owner;
};
std::vector<StateFolder> all_state_folders(const std::string& named);

}  // namespace vramguard
