#include "cli/full_screen.h"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string_view>

namespace vramguard {
namespace {

// Another page, no cursor, no wrapping; and back.
constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr char kLeave[] = "\x1b[?7h\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(STDOUT_FILENO, text.data(), text.size());
    if (size < 0 && errno != EINTR) return;  // the terminal has gone: SIGHUP comes
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
  }
}

}  // namespace

FullScreen::FullScreen() {
  has_modes_ = tcgetattr(STDIN_FILENO, &before_) == 0;
  enter();
}

FullScreen::~FullScreen() { leave(); }

void FullScreen::enter() {
  if (entered_) return;
  entered_ = true;
  if (has_modes_) {
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z stay signals
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  write_all(kEnter);
}

void FullScreen::leave() {
  if (!entered_) return;
  entered_ = false;
  write_all(kLeave);
  if (has_modes_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void FullScreen::show(const std::vector<std::string>& lines) {
  std::string text = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i != 0) text += "\r\n";
    text += lines[i] + "\x1b[K";
  }
  write_all(text + "\x1b[J");
}

TerminalSignals::TerminalSignals() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) sigaddset(&ours, signal);
  pthread_sigmask(SIG_BLOCK, &ours, &before_);
  fd_ = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
}

TerminalSignals::~TerminalSignals() {
  if (fd_ >= 0) close(fd_);
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

int TerminalSignals::take() {
  signalfd_siginfo info{};
  return read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info) ? static_cast<int>(info.ssi_signo) : 0;
}

void TerminalSignals::obey(int signal) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  raise(signal);
  sigset_t before;
  pthread_sigmask(SIG_UNBLOCK, &one, &before);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace vramguard
