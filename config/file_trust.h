// Whether a file may tell us to run commands: only what root or the user himself can have written.
#pragma once

#include <sys/types.h>

#include <string>

namespace vramguard {

// "" when the open file `fd` may define commands for the user `euid`; else why not. It must be a regular file of root
// or `euid` that neither group nor others can write, and so must each folder above it be (a sticky folder such as /tmp
// will do, when the entry below it is root's or `euid`'s). What was opened is looked at, never a path that could be
// exchanged.
std::string reason_to_distrust(int fd, uid_t euid);

}  // namespace vramguard
