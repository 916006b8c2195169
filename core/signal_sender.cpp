#include "core/signal_sender.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/process_signals.h"
#include "core/raw_syscall.h"

namespace vramguard {

namespace {

constexpr std::uintptr_t kDefault = 0;  // SIG_DFL as the kernel has it

class KeptErrno {
 public:
  KeptErrno() noexcept : errno_(errno) {}
  KeptErrno(const KeptErrno&) = delete;
  ~KeptErrno() { errno = errno_; }

 private:
  const int errno_;
};

// The C library keeps 32 and 33 for itself.
bool can_be_sent(int signal) noexcept { return signal >= 1 && signal <= 64 && signal != 32 && signal != 33; }

bool harmless_by_default(int signal) noexcept {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

// Asks the kernel: sanitizers and other preloaded libraries have a sigaction of their own.
bool handled_or_ignored_here(int signal) noexcept {
  std::uintptr_t action[8] = {};  // the handler comes first on every processor
  if (raw_syscall(SYS_rt_sigaction, signal, 0, raw_argument(action), sizeof(SignalBits)) != 0) return false;
  return action[0] != kDefault;
}

SendResult queue(pid_t pid, int signal, int value) noexcept {
  siginfo_t info;
  std::memset(&info, 0, sizeof info);
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = getpid();
  info.si_uid = getuid();
  info.si_value.sival_int = value;
  switch (raw_syscall(SYS_rt_sigqueueinfo, pid, signal, raw_argument(&info))) {
    case 0:
      return SendResult::Sent;
    case -ESRCH:
      return SendResult::NoTarget;
    case -EPERM:
      return SendResult::NotAllowed;
    default:
      return SendResult::Failed;
  }
}

SendResult send_to_self(const SignalAction& action, int value) noexcept {
  const pid_t self = getpid();
  const bool safe = !action.require_handler || handled_or_ignored_here(action.number) ||
                    harmless_by_default(action.number) || all_threads_block(self, action.number);
  return safe ? queue(self, action.number, value) : SendResult::NoHandler;
}

SendResult send_to_other(pid_t pid, const ProcessSignals& found, const SignalAction& action, int value) noexcept {
  const uid_t own = geteuid();
  if (pid == 1 || found.real_uid != own || found.effective_uid != own) return SendResult::NotAllowed;
  const SignalBits bit = signal_bit(action.number);
  const bool safe = !action.require_handler || ((found.caught | found.ignored) & bit) != 0 ||
                    harmless_by_default(action.number) || all_threads_block(pid, action.number);
  if (!safe) return SendResult::NoHandler;
  const auto again = look_at_process(pid);
  if (!again || again->start_time != found.start_time) return SendResult::NoTarget;
  return queue(pid, action.number, value);
}

SendResult send_to_parent(const SignalAction& action, int value) noexcept {
  const pid_t parent = getppid();
  if (parent <= 0) return SendResult::NoTarget;
  const auto found = look_at_process(parent);
  // While it still is our parent its pid can be nobody else's.
  if (!found || getppid() != parent) return SendResult::NoTarget;
  return send_to_other(parent, *found, action, value);
}

}  // namespace

const char* to_string(SendResult result) noexcept {
  switch (result) {
    case SendResult::Sent:
      return "sent";
    case SendResult::NoHandler:
      return "no_handler";
    case SendResult::NoTarget:
      return "no_target";
    case SendResult::NotAllowed:
      return "not_allowed";
    case SendResult::Failed:
      return "failed";
  }
  return "";
}

SendResult send_signal(const SignalAction& action, int value) noexcept {
  const KeptErrno kept;
  if (!can_be_sent(action.number)) return SendResult::Failed;
  switch (action.target) {
    case SignalTarget::Self:
      return send_to_self(action, value);
    case SignalTarget::Parent:
      return send_to_parent(action, value);
    case SignalTarget::Group:
      break;
  }
  return SendResult::NoTarget;
}

SendResult send_signal_to(pid_t pid, std::uint64_t start_time, const SignalAction& action, int value) noexcept {
  const KeptErrno kept;
  if (!can_be_sent(action.number)) return SendResult::Failed;
  const auto found = look_at_process(pid);
  if (!found || found->start_time != start_time) return SendResult::NoTarget;
  return send_to_other(pid, *found, action, value);
}

}  // namespace vramguard
