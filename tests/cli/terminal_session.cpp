#include "tests/cli/terminal_session.h"

#include <catch2/catch.hpp>

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace vramguard {
namespace {

constexpr int kPatienceMs = 10'000;

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

TerminalSession::TerminalSession(const CommandFixture& fixture, std::vector<std::string> arguments,
                                 std::vector<std::string> program) {
  arguments.insert(arguments.begin(), fixture.path("bin/vramguard"));
  if (!program.empty()) arguments = std::move(program);
  std::vector<std::string> environment = fixture.environment();
  const auto argv = pointers(arguments), envp = pointers(environment);
  pid_ = forkpty(&terminal_, nullptr, nullptr, nullptr);
  if (pid_ == 0) {
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  REQUIRE(pid_ > 0);
}

TerminalSession::~TerminalSession() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(terminal_);
}

void TerminalSession::type(const std::string& text) {
  REQUIRE(write(terminal_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

bool TerminalSession::read_some(int patience_ms) {
  pollfd ready{terminal_, POLLIN, 0};
  if (poll(&ready, 1, patience_ms) <= 0) return false;
  char buffer[4096];
  const ssize_t size = read(terminal_, buffer, sizeof buffer);
  if (size > 0) text_.append(buffer, static_cast<std::size_t>(size));
  return size > 0;
}

void TerminalSession::wait_for(const std::string& text) {
  while (text_.find(text) == std::string::npos) {
    INFO(text_);
    REQUIRE(read_some(kPatienceMs));
  }
}

int TerminalSession::finish() {
  while (read_some(kPatienceMs)) {
  }
  int status = 0;
  if (waitpid(pid_, &status, 0) == pid_) pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace vramguard
