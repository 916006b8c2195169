#include "cli/signal_relay.h"

#include "cli/process_tree.h"

#include <unistd.h>

namespace vramguard {
namespace {

void send(pid_t pid, const siginfo_t& signal) {
  if (signal.si_code == SI_QUEUE) {
    sigqueue(pid, signal.si_signo, signal.si_value);
  } else {
    kill(pid, signal.si_signo);
  }
}

// A shell that continues a job reaches the job's process group, and the command may have left that.
void go_on(pid_t command) {
  const auto process = look_at_tree_process(command);
  if (process && process->state == 'T') kill(command, SIGCONT);
}

}  // namespace

sigset_t relayed_signals() noexcept {
  sigset_t signals;
  sigfillset(&signals);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT}) sigdelset(&signals, own);
  return signals;
}

void relay(const siginfo_t& signal, pid_t command) {
  if (signal.si_signo == SIGCHLD) return;
  if (signal.si_signo == SIGCONT && command > 0) return go_on(command);
  const bool by_a_process = signal.si_code <= 0;
  if (!by_a_process || descends_from(signal.si_pid, getpid())) return;
  if (command > 0) return send(command, signal);
  for (const TreeProcess& process : descendants_of(getpid())) send(process.pid, signal);
}

void stop_too(int signal) noexcept {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  kill(getpid(), signal);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  sigprocmask(SIG_BLOCK, &one, nullptr);
}

}  // namespace vramguard
