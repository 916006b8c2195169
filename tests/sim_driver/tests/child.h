// Runs the test program again as another process, in a role of its own.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

using Environment = std::map<std::string, std::string>;

// A started process. Its end closes the pipes and waits for it.
class Child {
 public:
  Child(std::vector<std::string> command, const Environment& extra);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  std::string read_line();
  std::string read_all();
  // Lets a role that waits for its standard input go on.
  void close_input();
  void kill_now();
  // Until it is a zombie, which wait() then reaps.
  void wait_for_death();
  // The exit status, or 128 + signal.
  int wait();

 private:
  pid_t pid_;
  int input_;
  int output_;
  bool waited_ = false;
};

// Starts this program as `role` with its arguments.
std::vector<std::string> role(std::vector<std::string> words);

// What a role prints, all of it, without the last end of line.
std::string output_of(std::vector<std::string> words, const Environment& extra = {});

// What simctl prints; its exit status must be 0.
std::string simctl(std::vector<std::string> words);

// The same for a program that must succeed.
std::string output_of_program(std::vector<std::string> command, const Environment& extra = {});

// A fresh file name in the folder of this run.
std::string scratch_file(const std::string& name);
