// Runs small unmodified programs with the real library preloaded on the simulated driver, and reads back what happened:
//   Host host({"8GiB"});  const Run run = host.run(program("console"), {}, {.budget = "2GiB", .input = "init 0\n"});
//   CHECK(run.exit_status == 0); CHECK(run.log.one("start")["mode"] == "enforce"); CHECK(host.used_bytes(0) == 0);
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace vramguard::integration {

constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }

constexpr std::uint64_t kPageBytes = 2_MiB;

// Of the build that the tests belong to.
std::string build_path(const std::string& relative);
std::string program(const std::string& name);  // one of programs/
std::string preload_path();                    // libvramguard.so
bool sanitized();                              // hosts that are not built by us cannot load this build's core

// One record of the pressure log.
class Record {
 public:
  explicit Record(std::map<std::string, std::string> fields) : fields_(std::move(fields)) {}
  bool has(const std::string& key) const { return fields_.count(key) != 0; }
  std::string operator[](const std::string& key) const;  // "" where the record does not have it
  std::uint64_t number(const std::string& key) const;    // fails the test where it is none
  const std::map<std::string, std::string>& fields() const { return fields_; }

 private:
  std::map<std::string, std::string> fields_;
};

class Log {
 public:
  static Log parse(const std::string& text);  // logfmt; a line that is none fails the test
  const std::vector<Record>& records() const { return records_; }
  std::vector<Record> all(const std::string& event) const;
  Record one(const std::string& event) const;  // fails the test unless there is exactly one
  bool empty() const { return records_.empty(); }

 private:
  std::vector<Record> records_;
};

struct Options {
  std::string budget = {};                      // VRAMGUARD_BUDGET; empty: not set
  std::map<std::string, std::string> env = {};  // added last
  bool preload = true;
  std::string sim = "sim";  // or "sim-old"
  std::string input = {};   // on the program's stdin
};

struct Run {
  int exit_status = -1;  // -1: ended by a signal
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
  Log log;  // all that is in the host's log file by then

  std::vector<std::string> lines() const;  // of out
};

// A running program. Killed, with all its group, when it outlives the object or the time limit.
class Process {
 public:
  ~Process();
  Process(const Process&) = delete;

  void write(const std::string& text);  // to its stdin
  std::string read_line();              // of its stdout, without the newline; fails the test when none comes
  Run finish();                         // closes stdin, waits for the end; the log is left empty
  pid_t pid() const { return pid_; }

 private:
  friend class Host;
  Process() = default;
  bool read_more();

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1;
  std::string err_file_, buffer_;
  std::int64_t deadline_ms_ = 0;
};

// A machine of its own: a folder that is everybody's home, simulated devices, a log file.
class Host {
 public:
  explicit Host(std::vector<std::string> device_sizes = {"8GiB"});

  Run run(const std::string& file, const std::vector<std::string>& arguments = {}, const Options& options = {});
  std::unique_ptr<Process> start(const std::string& file, const std::vector<std::string>& arguments = {},
                                 const Options& options = {});

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  std::string write_file(const std::string& name, const std::string& text) const;  // its path
  std::string log_path() const { return path("pressure.log"); }
  std::string state_folder() const { return path("shown"); }  // where guarded processes tell of themselves
  Log log() const;

  // The simulated driver's own numbers. simctl() fails the test where the command does, and returns what it says.
  std::string simctl(const std::vector<std::string>& arguments);
  std::uint64_t used_bytes(int gpu);
  std::uint64_t calls(const std::string& function);

 private:
  std::vector<std::string> environment(const Options& options) const;

  TemporaryFolder folder_;
  std::vector<std::string> device_sizes_;
  int started_ = 0;
};

}  // namespace vramguard::integration
