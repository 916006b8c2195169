// The program short_memory, one command at a time.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <memory>
#include <string>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

namespace vramguard::integration {

constexpr std::uint64_t kContextBytes = 520_MiB;  // of the simulated driver

class ShortMemory {
 public:
  enum class Begin { WithContext, WithoutContext };

  explicit ShortMemory(Host& host, const Options& options, Begin begin = Begin::WithContext)
      : process_(host.start(program("short_memory"), {}, options)) {
    if (begin == Begin::WithoutContext) return;
    REQUIRE(ask("init") == "0");
    ask("device 0");
  }
  // The answer, without the command.
  std::string ask(const std::string& command) {
    tell(command);
    return answer();
  }
  void tell(const std::string& command) { process_->write(command + "\n"); }
  std::string answer() {
    const std::string line = process_->read_line();
    return line.substr(line.find(' ') + 1);
  }
  Run finish() { return process_->finish(); }

 private:
  std::unique_ptr<Process> process_;
};

inline void configure_host(const Host& host, const std::string& text) {
  const std::string file = host.write_file("vramguard.toml", "schema = 1\n" + text);
  REQUIRE(chmod(file.c_str(), 0600) == 0);
}

class Stopwatch {
 public:
  std::int64_t ms() const {
    using namespace std::chrono;
    return duration_cast<milliseconds>(steady_clock::now() - began_).count();
  }

 private:
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace vramguard::integration
