#include "cli/top_command.h"

#include "cli/full_screen.h"
#include "cli/process_table.h"
#include "cli/ps_command.h"
#include "cli/terminal.h"
#include "cli/top_screen.h"

#include <CLI/CLI.hpp>

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>

namespace vramguard {
namespace {

using Clock = std::chrono::steady_clock;

// Why the loop ends: by a signal that is to end the program, or 0.
class Watcher {
 public:
  explicit Watcher(const TopOptions& options)
      : every_(std::chrono::milliseconds(static_cast<std::int64_t>(options.seconds * 1000))), looks_(options.looks) {}

  int run() {
    for (std::uint64_t looked = 1;; ++looked) {
      const Clock::time_point next = Clock::now() + every_;
      table_ = look_around(nvml_);
      draw();
      while (!ended_ && wait_until(next)) draw();
      if (ended_ || looked == looks_) return signal_;
    }
  }

 private:
  void draw() { screen_.show(draw_top(table_, view_, terminal_size(STDOUT_FILENO), output_style().colour)); }

  // True when something asks to be drawn before that time.
  bool wait_until(Clock::time_point time) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(time - Clock::now());
    if (left.count() <= 0) return false;
    pollfd waiting[] = {{signals_.fd(), POLLIN, 0}, {keys_, POLLIN, 0}};
    if (poll(waiting, 2, static_cast<int>(left.count())) <= 0) return Clock::now() < time;
    if (waiting[0].revents != 0) obey_signal(signals_.take());
    if (waiting[1].revents != 0) read_key();
    return true;
  }

  void obey_signal(int signal) {
    switch (signal) {
      case 0:
      case SIGWINCH:
        return;
      case SIGTSTP:
        screen_.leave();
        TerminalSignals::obey(SIGTSTP);  // comes back when the program is continued
        screen_.enter();
        return;
      default:
        ended_ = true;
        signal_ = signal == SIGINT ? 0 : signal;  // Ctrl-C is a way to leave it
    }
  }

  void read_key() {
    char key = 0;
    if (read(keys_, &key, 1) != 1) {
      keys_ = -1;  // nobody types; poll passes over it
    } else if (!obey_key(key, view_)) {
      ended_ = true;
    }
  }

  const std::chrono::milliseconds every_;
  const std::uint64_t looks_;
  TerminalSignals signals_;
  FullScreen screen_;
  NvmlObserver nvml_;
  ProcessTable table_;
  TopView view_;
  int keys_ = STDIN_FILENO;
  bool ended_ = false;
  int signal_ = 0;
};

}  // namespace

int watch_processes(const TopOptions& options) {
  if (!is_terminal(STDOUT_FILENO)) return print_processes({});
  if (const int signal = Watcher(options).run(); signal != 0) TerminalSignals::obey(signal);
  return 0;
}

void add_top(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<TopOptions>();
  CLI::App* top = app.add_subcommand("top", "Watch who uses the GPUs, and the last records of the logs");
  top->add_option("-d,--delay", options->seconds, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  top->add_option("-n", options->looks, "End after so many looks");
  top->footer(
      "Keys: q ends it, s sorts by used memory, room left in the budget or PID, g takes groups apart, l hides the\n"
      "records. A card's bar shows guarded use as #, all other use as +. Where the output is no terminal, 'ps' once.");
  top->callback([&chosen, options] { chosen = [options] { return watch_processes(*options); }; });
}

}  // namespace vramguard
