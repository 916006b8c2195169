// The program memory_guard, one command at a time.
#pragma once

#include <memory>
#include <string>

#include "tests/integration/harness.h"

namespace vramguard::integration {

constexpr std::uint64_t kContextBytes = 520_MiB;  // of the simulated driver

class MemoryGuardSession {
 public:
  explicit MemoryGuardSession(Host& host, const Options& options = {.preload = false})
      : process_(host.start(program("memory_guard"), {}, options)) {}

  std::string operator()(const std::string& command) {
    process_->write(command + "\n");
    return process_->read_line();
  }
  std::string operator()(const std::string& command, std::uint64_t bytes, const std::string& rest = {}) {
    return (*this)(command + " " + std::to_string(bytes) + " " + rest);
  }
  Run end() { return process_->finish(); }

 private:
  std::unique_ptr<Process> process_;
};

}  // namespace vramguard::integration
