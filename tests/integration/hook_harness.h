// What the tests of hooks and pressure share: hooks in the host's configuration, a console that is talked to, and
// waiting for records.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

namespace vramguard::integration {

inline std::string hook(const std::string& name, const std::string& on, const std::string& keys) {
  return "[[hook]]\nname = \"" + name + "\"\non = \"" + on + "\"\n" + keys + "\n";
}
// `line` without single quotes.
inline std::string shell(const std::string& line) { return "shell = '''" + line + "'''\n"; }

inline void configure(Host& host, const std::string& text) {
  const std::string file = host.write_file("vramguard.toml", "schema = 1\n" + text);
  REQUIRE(chmod(file.c_str(), 0600) == 0);
}

inline std::string simctl_line(const std::string& arguments) { return build_path("sim/simctl") + " " + arguments; }

inline bool happens(const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds(30)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    usleep(2000);
  }
  return true;
}

inline bool has_file(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

inline std::size_t count(const Host& host, const std::string& event, const std::string& key, const std::string& value) {
  std::size_t found = 0;
  for (const Record& record : host.log().all(event)) found += record[key] == value;
  return found;
}

// Waits until the log has as many records of an event.
inline std::vector<Record> records(const Host& host, const std::string& event, std::size_t least) {
  CAPTURE(event, least);
  CHECK(happens([&] { return host.log().all(event).size() >= least; }));
  return host.log().all(event);
}

// The console program, one command at a time; with a context.
class Console {
 public:
  explicit Console(Host& host, const Options& options = {}) : process_(host.start(program("console"), {}, options)) {
    REQUIRE(ask("init 0") == "init 0");
    REQUIRE(ask("retain 0") == "retain 0 0");
  }
  std::string ask(const std::string& command) {
    process_->write(command + "\n");
    return process_->read_line();
  }
  // The code.
  std::string allocate(std::uint64_t bytes) {
    const std::string answer = ask("alloc_v2 " + std::to_string(bytes));
    return answer.substr(9, answer.find(' ', 9) - 9);
  }
  void tell(const std::string& command) { process_->write(command + "\n"); }
  Process& operator*() { return *process_; }
  Process* operator->() { return process_.get(); }

 private:
  std::unique_ptr<Process> process_;
};

// Of a budget of 2 GiB, of which the context takes 520 MiB, what leaves 78 MiB: high.
constexpr std::uint64_t kIntoHigh = 1450_MiB;
constexpr std::uint64_t kIntoMedium = 1350_MiB;

}  // namespace vramguard::integration
