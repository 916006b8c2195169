#include "core/signal_name.h"

#include <charconv>
#include <csignal>

namespace vramguard {

namespace {

struct Name {
  std::string_view text;
  int number;
};

constexpr Name kNames[] = {
    {"HUP", SIGHUP},     {"INT", SIGINT},       {"QUIT", SIGQUIT}, {"ILL", SIGILL},   {"TRAP", SIGTRAP},
    {"ABRT", SIGABRT},   {"IOT", SIGIOT},       {"BUS", SIGBUS},   {"FPE", SIGFPE},   {"KILL", SIGKILL},
    {"USR1", SIGUSR1},   {"SEGV", SIGSEGV},     {"USR2", SIGUSR2}, {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},
    {"TERM", SIGTERM},   {"STKFLT", SIGSTKFLT}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT}, {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP},   {"TTIN", SIGTTIN},     {"TTOU", SIGTTOU}, {"URG", SIGURG},   {"XCPU", SIGXCPU},
    {"XFSZ", SIGXFSZ},   {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"POLL", SIGPOLL}, {"IO", SIGIO},
    {"WINCH", SIGWINCH}, {"PWR", SIGPWR},       {"SYS", SIGSYS},
};

// Digits and nothing else: no sign, no blank.
std::optional<int> parse_number(std::string_view text) noexcept {
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// What stands behind "RTMIN" or "RTMAX": nothing, or `sign` and a number.
std::optional<int> parse_offset(std::string_view text, char sign) noexcept {
  if (text.empty()) return 0;
  if (text[0] != sign) return std::nullopt;
  return parse_number(text.substr(1));
}

std::optional<int> if_signal(int number) noexcept {
  const bool standard = number >= 1 && number < 32;
  const bool real_time = number >= SIGRTMIN && number <= SIGRTMAX;
  return standard || real_time ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<int> parse_signal_name(std::string_view text) noexcept {
  if (const auto number = parse_number(text)) return if_signal(*number);
  if (text.starts_with("SIG")) text.remove_prefix(3);
  for (const Name& name : kNames) {
    if (text == name.text) return name.number;
  }
  const int range = SIGRTMAX - SIGRTMIN;
  if (text.starts_with("RTMIN")) {
    const auto offset = parse_offset(text.substr(5), '+');
    if (offset && *offset <= range) return SIGRTMIN + *offset;
  } else if (text.starts_with("RTMAX")) {
    const auto offset = parse_offset(text.substr(5), '-');
    if (offset && *offset <= range) return SIGRTMAX - *offset;
  }
  return std::nullopt;
}

}  // namespace vramguard
