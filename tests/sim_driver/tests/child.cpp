#include "tests/sim_driver/tests/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <cerrno>
#include <cstdlib>

extern char** environ;

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> environment_with(const Environment& extra) {
  std::vector<std::string> list;
  for (const auto& [name, value] : extra) list.push_back(name + "=" + value);
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (extra.count(text.substr(0, text.find('='))) == 0) list.push_back(text);
  }
  return list;
}

std::string without_last_newline(std::string text) {
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

Child::Child(std::vector<std::string> command, const Environment& extra) {
  std::vector<std::string> environment = environment_with(extra);
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> variables = pointers(environment);
  int to_child[2], from_child[2];
  REQUIRE(pipe2(to_child, O_CLOEXEC) == 0);
  REQUIRE(pipe2(from_child, O_CLOEXEC) == 0);
  pid_ = fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    dup2(to_child[0], STDIN_FILENO);
    dup2(from_child[1], STDOUT_FILENO);
    execve(arguments[0], arguments.data(), variables.data());
    _exit(127);
  }
  close(to_child[0]);
  close(from_child[1]);
  input_ = to_child[1];
  output_ = from_child[0];
}

Child::~Child() {
  close_input();
  close(output_);
  if (!waited_) wait();
}

std::string Child::read_line() {
  std::string line;
  char c = 0;
  while (read(output_, &c, 1) == 1 && c != '\n') line += c;
  return line;
}

std::string Child::read_all() {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(output_, buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, static_cast<std::size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  return text;
}

void Child::close_input() {
  if (input_ >= 0) close(input_);
  input_ = -1;
}

void Child::kill_now() { kill(pid_, SIGKILL); }

void Child::wait_for_death() {
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
}

int Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  waited_ = true;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> role(std::vector<std::string> words) {
  words.insert(words.begin(), {"/proc/self/exe", "--role"});
  return words;
}

std::string output_of(std::vector<std::string> words, const Environment& extra) {
  return output_of_program(role(std::move(words)), extra);
}

std::string output_of_program(std::vector<std::string> command, const Environment& extra) {
  Child child(std::move(command), extra);
  child.close_input();
  const std::string text = child.read_all();
  CHECK(child.wait() == 0);
  return without_last_newline(text);
}

std::string simctl(std::vector<std::string> words) {
  words.insert(words.begin(), SIMCTL);
  return output_of_program(std::move(words));
}

std::string scratch_file(const std::string& name) { return std::string(std::getenv("VGSIM_TEST_FOLDER")) + "/" + name; }
