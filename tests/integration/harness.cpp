#include "tests/integration/harness.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <sstream>

#include <catch2/catch.hpp>

namespace vramguard::integration {

namespace {

constexpr int kTimeLimitMs = VRAMGUARD_SANITIZED ? 120'000 : 60'000;

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count();
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// Everything that the child does between fork and exec.
[[noreturn]] void become(const std::vector<char*>& arguments, const std::vector<char*>& environment, int in, int out,
                         int err) {
  setpgid(0, 0);
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execve(arguments[0], arguments.data(), environment.data());
  _exit(127);
}

}  // namespace

std::string build_path(const std::string& relative) { return std::string(VRAMGUARD_BUILD_DIR) + "/" + relative; }
std::string program(const std::string& name) { return std::string(VRAMGUARD_TEST_PROGRAMS) + "/" + name; }
std::string preload_path() { return build_path("libvramguard.so"); }
bool sanitized() { return VRAMGUARD_SANITIZED; }

std::vector<std::string> Run::lines() const {
  std::vector<std::string> list;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);) list.push_back(line);
  return list;
}

// --- process ---

Process::~Process() {
  if (in_ >= 0) close(in_);
  if (out_ >= 0) close(out_);
  if (pid_ <= 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// Reads meanwhile, so that two full pipes cannot wait for each other.
void Process::write(const std::string& text) {
  for (std::size_t done = 0; done < text.size() && now_ms() < deadline_ms_;) {
    pollfd ends[] = {{in_, POLLOUT, 0}, {out_, POLLIN, 0}};
    poll(ends, 2, 1000);
    if (ends[1].revents & POLLIN) read_more();
    if ((ends[0].revents & (POLLOUT | POLLERR)) == 0) continue;
    const ssize_t n = ::write(in_, text.data() + done, std::min<std::size_t>(text.size() - done, PIPE_BUF));
    if (n < 0 && errno != EINTR) return;  // it has ended; its status tells
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
}

// False at the end of its output, or when time is up.
bool Process::read_more() {
  pollfd ready{out_, POLLIN, 0};
  const std::int64_t left = deadline_ms_ - now_ms();
  if (left <= 0 || poll(&ready, 1, static_cast<int>(left)) <= 0) return false;
  char chunk[65536];
  const ssize_t n = read(out_, chunk, sizeof chunk);
  if (n > 0) buffer_.append(chunk, static_cast<std::size_t>(n));
  return n > 0;
}

std::string Process::read_line() {
  while (buffer_.find('\n') == std::string::npos) {
    const bool more = read_more();
    CAPTURE(buffer_, content_of(err_file_));
    REQUIRE(more);
  }
  const std::size_t end = buffer_.find('\n');
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Run Process::finish() {
  close(in_);
  in_ = -1;
  while (read_more()) {
  }
  Run run;
  int status = 0;
  while (waitpid(pid_, &status, WNOHANG) == 0) {
    if (now_ms() >= deadline_ms_) {
      run.timed_out = true;
      kill(-pid_, SIGKILL);
      waitpid(pid_, &status, 0);
      break;
    }
    usleep(1000);
  }
  kill(-pid_, SIGKILL);  // what it may have left behind
  pid_ = -1;
  run.out = buffer_;
  run.err = content_of(err_file_);
  if (WIFEXITED(status)) run.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  return run;
}

// --- host ---

Host::Host(std::vector<std::string> device_sizes) : device_sizes_(std::move(device_sizes)) {
  signal(SIGPIPE, SIG_IGN);
  write_file("vramguard.toml", "schema = 1\n");  // what the machine's own configuration says must not matter
}

std::string Host::write_file(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

Log Host::log() const { return Log::parse(content_of(log_path())); }

std::vector<std::string> Host::environment(const Options& options) const {
  std::string sizes;
  for (const std::string& size : device_sizes_) sizes += (sizes.empty() ? "" : ",") + size;
  std::map<std::string, std::string> env{
      {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      {"LC_ALL", "C.UTF-8"},
      {"HOME", folder_.path()},
      {"XDG_CONFIG_HOME", path("config")},
      {"XDG_STATE_HOME", path("state")},
      {"XDG_CACHE_HOME", path("cache")},
      {"LD_LIBRARY_PATH", build_path(options.sim) + ":" + build_path("sim")},
      {"VGSIM_STATE", path("devices")},
      {"VGSIM_DEVICES", std::to_string(device_sizes_.size())},
      {"VGSIM_MEMORY", sizes},
      {"VRAMGUARD_CONFIG", path("vramguard.toml")},
      {"VRAMGUARD_LOG", log_path()},
      {"VRAMGUARD_STATE_DIR", state_folder()},
      // The library leaks on purpose, and any preload stands in front of a sanitizer's runtime.
      {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0:exitcode=99"},
      {"UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1:exitcode=99"},
      {"TSAN_OPTIONS", "exitcode=99"},
  };
  if (options.preload) env["LD_PRELOAD"] = preload_path();
  if (!options.budget.empty()) env["VRAMGUARD_BUDGET"] = options.budget;
  for (const auto& [name, value] : options.env) env[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : env) list.push_back(name + "=" + value);
  return list;
}

std::unique_ptr<Process> Host::start(const std::string& file, const std::vector<std::string>& arguments,
                                     const Options& options) {
  std::vector<std::string> argument_texts{file};
  argument_texts.insert(argument_texts.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> environment_texts = environment(options);
  const std::vector<char*> argument_list = pointers(argument_texts), environment_list = pointers(environment_texts);

  std::unique_ptr<Process> process(new Process);
  process->err_file_ = path("stderr." + std::to_string(++started_));
  int in[2], out[2];
  REQUIRE(pipe2(in, O_CLOEXEC) == 0);
  REQUIRE(pipe2(out, O_CLOEXEC) == 0);
  const int err = open(process->err_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  REQUIRE(err >= 0);
  process->pid_ = fork();
  REQUIRE(process->pid_ >= 0);
  if (process->pid_ == 0) become(argument_list, environment_list, in[0], out[1], err);
  setpgid(process->pid_, process->pid_);
  close(in[0]);
  close(out[1]);
  close(err);
  process->in_ = in[1];
  process->out_ = out[0];
  process->deadline_ms_ = now_ms() + kTimeLimitMs;
  return process;
}

Run Host::run(const std::string& file, const std::vector<std::string>& arguments, const Options& options) {
  const std::unique_ptr<Process> process = start(file, arguments, options);
  process->write(options.input);
  Run run = process->finish();
  CAPTURE(file, run.err);
  CHECK_FALSE(run.timed_out);
  run.log = log();
  return run;
}

std::string Host::simctl(const std::vector<std::string>& arguments) {
  const std::unique_ptr<Process> process = start(build_path("sim/simctl"), arguments, {.preload = false});
  const Run run = process->finish();
  CAPTURE(arguments, run.err);
  REQUIRE(run.exit_status == 0);
  return run.out.substr(0, run.out.find_last_not_of('\n') + 1);
}

std::uint64_t Host::used_bytes(int gpu) { return std::stoull(simctl({"used", "--bytes", std::to_string(gpu)})); }
std::uint64_t Host::calls(const std::string& function) { return std::stoull(simctl({"calls", function})); }

}  // namespace vramguard::integration
