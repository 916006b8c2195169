#include "tests/cli/command_fixture.h"

#include <fcntl.h>
#include <pty.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace vramguard {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// All that was written to the terminal whose other side is `fd`, after its last writer has gone.
std::string drain(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(fd, buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  close(fd);
  return text;
}

}  // namespace

CommandFixture::CommandFixture() {
  std::string pattern = (std::filesystem::temp_directory_path() / "vramguard-cli-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  copy(VRAMGUARD_COMMAND, "bin/vramguard");
  copy(VRAMGUARD_DUMMY_LIBRARY, "bin/libvramguard.so", 0644);
  environment_ = {"PATH=" + path("tools") + ":/usr/local/bin:/usr/bin:/bin", "HOME=" + path("home"),
                  "VRAMGUARD_STATE_DIR=" + path("state")};
}

CommandFixture::~CommandFixture() { std::filesystem::remove_all(folder_); }

void CommandFixture::set(const std::string& name, const std::string& value) {
  unset(name);
  environment_.push_back(name + "=" + value);
}

void CommandFixture::unset(const std::string& name) {
  std::erase_if(environment_, [&](const std::string& variable) { return variable.starts_with(name + "="); });
}

std::string CommandFixture::write(const std::string& name, const std::string& text, unsigned mode) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::ofstream(path(name), std::ios::binary) << text;
  chmod(path(name).c_str(), mode);
  return path(name);
}

std::string CommandFixture::copy(const std::string& source, const std::string& name, unsigned mode) const {
  std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
  std::filesystem::copy_file(source, path(name));
  chmod(path(name).c_str(), mode);
  return path(name);
}

Outcome CommandFixture::vramguard(std::vector<std::string> arguments, Stderr kind) const {
  arguments.insert(arguments.begin(), path("bin/vramguard"));
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::vector<std::string> variables = environment_;
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);

  int terminal = -1;
  int terminal_side = -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, path("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (kind == Stderr::Terminal) {
    if (openpty(&terminal, &terminal_side, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("no terminal");
    posix_spawn_file_actions_adddup2(&actions, terminal_side, 2);
    posix_spawn_file_actions_addclose(&actions, terminal);
  } else {
    posix_spawn_file_actions_addopen(&actions, 2, path("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  }
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("vramguard does not start");
  int status = 0;
  waitpid(pid, &status, 0);

  Outcome outcome;
  outcome.out = contents(path("out"));
  if (kind == Stderr::Terminal) {
    close(terminal_side);
    outcome.err = drain(terminal);
  } else {
    outcome.err = contents(path("err"));
  }
  if (WIFEXITED(status)) outcome.exit_status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace vramguard
