// Runs one command to its end.
#pragma once

#include <csignal>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/command.h"

namespace vramguard {

using Outcome = CommandResult::Outcome;

// For what must happen, but not when.
inline bool happens(const std::function<bool()>& condition, std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

// Neither there nor a zombie.
inline bool is_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  return text[text.rfind(')') + 2] != 'Z';
}

inline pid_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return 0;
  return std::stoi(text.substr(text.rfind(')') + 4));
}

class RunningCommand {
 public:
  explicit RunningCommand(std::vector<std::string> words, std::chrono::milliseconds timeout = std::chrono::seconds(60),
                          std::vector<std::string> environment = {"PATH=/usr/local/bin:/usr/bin:/bin"})
      : words_(std::move(words)), variables_(std::move(environment)) {
    for (const std::string& word : words_) argv_.push_back(word.c_str());
    for (const std::string& variable : variables_) environment_.push_back(variable.c_str());
    argv_.push_back(nullptr);
    environment_.push_back(nullptr);
    spec_ = {argv_.data(), environment_.data(), timeout};
  }
  static RunningCommand shell(const std::string& line, std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
    return RunningCommand({"/bin/sh", "-c", line}, timeout);
  }

  bool start(void (*on_end)(void*) noexcept = nullptr, void* context = nullptr) {
    return command_->start(spec_, on_end, context);
  }
  Command& operator*() { return *command_; }
  Command* operator->() { return command_.get(); }

  CommandResult run() {
    start();
    command_->wait_until(MonotonicTime::max());
    return command_->take_result();
  }

  // Once it has started.
  pid_t pid() {
    pid_t pid = 0;
    happens([&] { return (pid = command_->pid()) != 0 || command_->finished(); });
    return pid;
  }

 private:
  std::vector<std::string> words_;
  std::vector<std::string> variables_;
  std::vector<const char*> argv_;
  std::vector<const char*> environment_;
  CommandSpec spec_;
  std::unique_ptr<Command> command_ = std::make_unique<Command>();
};

inline RunningCommand shell(const std::string& line, std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  return RunningCommand::shell(line, timeout);
}

}  // namespace vramguard
