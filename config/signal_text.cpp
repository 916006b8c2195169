#include "config/signal_text.h"

#include "core/signal_name.h"

#include <csignal>

namespace vramguard {

std::variant<int, std::string> read_signal(std::string_view text) {
  const auto number = parse_signal_name(text);
  if (!number) return "is no signal; write a name such as SIGUSR1 or SIGRTMIN+1";
  if (*number == SIGKILL || *number == SIGSTOP)
    return "cannot be handled by any program; write a signal such as SIGUSR1";
  return *number;
}

}  // namespace vramguard
