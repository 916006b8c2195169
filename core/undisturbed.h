// Lets a stranger's thread write for us without consequences for it.
#pragma once

#include <csignal>

namespace vramguard {

// Belongs to one thread. While it lives, all signals are blocked and the thread cannot be cancelled. What our own
// writing raised meanwhile (SIGXFSZ at a file size limit, SIGPIPE) is taken back instead of killing the program; errno
// is restored.
class Undisturbed {
 public:
  Undisturbed() noexcept;
  ~Undisturbed();
  Undisturbed(const Undisturbed&) = delete;

 private:
  int errno_;
  int cancel_state_ = 0;
  sigset_t mask_;
  sigset_t pending_;
};

}  // namespace vramguard
