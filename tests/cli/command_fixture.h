// Runs the built `vramguard`, from a folder of its own with a dummy library beside it, and collects what it says.
#pragma once

#include <string>
#include <vector>

namespace vramguard {

struct Outcome {
  int exit_status = -1;  // of a normal end
  int signal = 0;        // that ended it
  std::string out;
  std::string err;
};

// Owns its folder; removed at the end. The environment of the command is the fixture's alone.
class CommandFixture {
 public:
  CommandFixture();
  CommandFixture(const CommandFixture&) = delete;
  ~CommandFixture();

  void set(const std::string& name, const std::string& value);
  void unset(const std::string& name);
  const std::vector<std::string>& environment() const { return environment_; }
  // Terminal: its stderr is one.
  enum class Stderr { File, Terminal };
  Outcome vramguard(std::vector<std::string> arguments, Stderr kind = Stderr::File) const;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::string& text, unsigned mode = 0644) const;
  std::string copy(const std::string& source, const std::string& name, unsigned mode = 0755) const;
  std::string library() const { return path("bin/libvramguard.so"); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
  std::vector<std::string> environment_;
};

}  // namespace vramguard
