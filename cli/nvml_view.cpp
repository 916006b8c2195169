#include "cli/nvml_view.h"

#include "cli/nvml_library.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <exception>

namespace vramguard {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmlProcess, pid, bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmlDevice, index, uuid, pci_bus_id, name, total_bytes, free_bytes, processes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NvmlView, answer, driver_version, devices)

namespace {

using Clock = std::chrono::steady_clock;

// In the process that is sent.
[[noreturn]] void tell(int to) {
  signal(SIGPIPE, SIG_DFL);
  try {
    // A shell under vramguard has it preloaded into the command, too, and it would show the budget for the card.
    setenv("VRAMGUARD", "0", 1);
    const auto replace = nlohmann::json::error_handler_t::replace;
    const std::string text = nlohmann::json(ask_nvml()).dump(-1, ' ', false, replace);
    std::size_t written = 0;
    while (written < text.size()) {
      const ssize_t size = write(to, text.data() + written, text.size() - written);
      if (size < 0 && errno != EINTR) break;
      if (size > 0) written += static_cast<std::size_t>(size);
    }
  } catch (const std::exception&) {
    _exit(1);
  }
  _exit(0);
}

// All that comes until the other side is closed; false: it was not closed in time.
bool read_until(Clock::time_point deadline, int from, std::string& text) {
  char buffer[16384];
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting{from, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t size = read(from, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

NvmlView without_devices(NvmlAnswer answer) {
  NvmlView view;
  view.answer = answer;
  return view;
}

}  // namespace

const char* to_string(NvmlAnswer answer) noexcept {
  switch (answer) {
    case NvmlAnswer::Told:
      return "ok";
    case NvmlAnswer::Missing:
      return "missing";
    case NvmlAnswer::Failed:
      return "failed";
    case NvmlAnswer::Stuck:
      return "stuck";
  }
  return "";
}

NvmlObserver::~NvmlObserver() { still_stuck(); }

bool NvmlObserver::still_stuck() {
  if (stuck_ > 0 && waitpid(stuck_, nullptr, WNOHANG) != 0) stuck_ = -1;
  return stuck_ > 0;
}

NvmlView NvmlObserver::look(std::chrono::milliseconds patience) {
  if (still_stuck()) return without_devices(NvmlAnswer::Stuck);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return without_devices(NvmlAnswer::Failed);
  const pid_t sent = fork();
  if (sent == 0) tell(ends[1]);
  close(ends[1]);
  std::string text;
  const auto deadline = Clock::now() + patience;
  const bool told = sent > 0 && read_until(deadline, ends[0], text);
  close(ends[0]);
  if (sent < 0) return without_devices(NvmlAnswer::Failed);
  if (!told) kill(sent, SIGKILL);
  stuck_ = sent;
  // One that has told everything can still be held by the driver when its files are closed.
  while (told && still_stuck() && Clock::now() < deadline) usleep(1000);
  if (!told) return without_devices(NvmlAnswer::Stuck);
  const nlohmann::json answer = nlohmann::json::parse(text, nullptr, false);
  return answer.is_object() ? answer.get<NvmlView>() : without_devices(NvmlAnswer::Failed);
}

}  // namespace vramguard
