// What the files and the group of one `vramguard run` are called.
#pragma once

#include <string>

#include "core/state/process_identity.h"

namespace vramguard {

// "run-PID-START", with "-NAMESPACE" outside of the first pid namespace: containers may share a state folder. Stays the
// same when the process execs; no other process has it until the next boot.
inline std::string run_name(const ProcessIdentity& process) {
  constexpr std::uint64_t kFirstNamespace = 0xEFFFFFFC;  // its inode in every kernel
  const std::string name = "run-" + std::to_string(process.pid) + "-" + std::to_string(process.start_ticks);
  return process.pid_namespace == kFirstNamespace ? name : name + "-" + std::to_string(process.pid_namespace);
}

}  // namespace vramguard
