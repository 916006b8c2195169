// A terminal taken over for one program, and given back as it was.
#pragma once

#include <termios.h>

#include <csignal>

#include <string>
#include <vector>

namespace vramguard {

// Plain escape sequences that every terminal of today obeys, and no curses: that needs its terminals' descriptions
// beside it, which a container that the program is mounted into may not have. For one thread.
class FullScreen {
 public:
  FullScreen();
  FullScreen(const FullScreen&) = delete;
  ~FullScreen();

  void show(const std::vector<std::string>& lines);
  // For as long as the program is stopped.
  void leave();
  void enter();

 private:
  termios before_{};
  bool has_modes_ = false;
  bool entered_ = false;
};

// The signals that end or stop the program, or say that the terminal has another size: read instead of obeyed for as
// long as this lives, so that the terminal is never left as it is. For one thread.
class TerminalSignals {
 public:
  TerminalSignals();
  TerminalSignals(const TerminalSignals&) = delete;
  ~TerminalSignals();

  int fd() const { return fd_; }  // readable when there is one
  int take();                     // 0: none
  // What the signal does to a program that does not catch it.
  static void obey(int signal);

 private:
  int fd_ = -1;
  sigset_t before_{};
};

}  // namespace vramguard
