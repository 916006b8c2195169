#include "core/undisturbed.h"

#include <pthread.h>

#include <cerrno>
#include <ctime>
#include <initializer_list>

namespace vramguard {

Undisturbed::Undisturbed() noexcept : errno_(errno) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask_);
  sigemptyset(&pending_);
  sigpending(&pending_);
}

Undisturbed::~Undisturbed() {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  for (const int signal : {SIGXFSZ, SIGPIPE}) {
    if (sigismember(&pending, signal) != 1 || sigismember(&pending_, signal) == 1) continue;
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal);
    const timespec at_once{};
    sigtimedwait(&only, nullptr, &at_once);
  }
  pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  pthread_setcancelstate(cancel_state_, nullptr);
  errno = errno_;
}

}  // namespace vramguard
