// A program at a terminal of its own, as somebody who types sees it.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/cli/command_fixture.h"

namespace vramguard {

// Killed, with its terminal closed, when it outlives the object.
class TerminalSession {
 public:
  // `vramguard ARGUMENTS...`, or another program with the fixture's environment.
  TerminalSession(const CommandFixture& fixture, std::vector<std::string> arguments,
                  std::vector<std::string> program = {});
  TerminalSession(const TerminalSession&) = delete;
  ~TerminalSession();

  void type(const std::string& text);
  // Reads until `text` has come; fails the test after ten seconds.
  void wait_for(const std::string& text);
  int finish();  // its exit status, or 128 + n
  pid_t pid() const { return pid_; }
  const std::string& text() const { return text_; }

 private:
  bool read_some(int patience_ms);

  pid_t pid_ = -1;
  int terminal_ = -1;
  std::string text_;
};

}  // namespace vramguard
