#include "cli/program_search.h"

#include "cli/exit_status.h"
#include "core/errno_text.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace vramguard {
namespace {

// 0, or the errno that execve would give for it.
int why_not_executable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return S_ISDIR(info.st_mode) ? EISDIR : EACCES;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

Problem not_started(const std::string& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  if (missing) return {kNotFound, "'" + path + "': command not found"};
  return {kNotExecutable, "'" + path + "' cannot be executed: " + errno_text(error)};
}

// The program that env(1) looks up: after its options and assignments.
std::string looked_up_by_env(const std::string& arguments) {
  std::istringstream words(arguments);
  for (std::string word; words >> word;) {
    if (word == "-u" || word == "--unset" || word == "-C" || word == "--chdir") {
      words >> word;
      continue;
    }
    if (word.starts_with("-S") && word.size() > 2) {
      word.erase(0, 2);
    } else if (word.starts_with("--split-string=")) {
      word.erase(0, word.find('=') + 1);
    }
    if (word.starts_with('-') || word.find('=') != std::string::npos) continue;
    return word;
  }
  return "";
}

}  // namespace

std::variant<std::string, Problem> find_program(const std::string& name, std::string_view path_variable) {
  if (name.empty()) return Problem{kNotFound, "the command is empty"};
  if (name.find('/') != std::string::npos) {
    const int error = why_not_executable(name);
    if (error != 0) return not_started(name, error);
    return name;
  }
  int worst = ENOENT;
  std::string found;  // but not executable
  for (bool more = true; more;) {
    const std::size_t colon = path_variable.find(':');
    more = colon != std::string_view::npos;
    const std::string_view folder = path_variable.substr(0, colon);
    if (more) path_variable.remove_prefix(colon + 1);

    const std::string path = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    const int error = why_not_executable(path);
    if (error == 0) return path;
    if (error == EACCES && found.empty()) {
      worst = error;
      found = path;
    }
  }
  return not_started(found.empty() ? name : found, worst);
}

ScriptLine read_script_line(const std::string& path) {
  constexpr std::size_t kLongest = 256;  // the kernel reads no more
  std::ifstream file(path, std::ios::binary);
  std::string start(kLongest, '\0');
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  if (!start.starts_with("#!")) return {};

  std::string line = start.substr(2, start.find('\n') - 2);
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  const std::size_t end = line.find_first_of(" \t", first);
  ScriptLine out;
  out.interpreter = line.substr(first, end == std::string::npos ? end : end - first);
  const bool is_env = out.interpreter.substr(out.interpreter.rfind('/') + 1) == "env";
  if (is_env && end != std::string::npos) out.looked_up = looked_up_by_env(line.substr(end));
  return out;
}

}  // namespace vramguard
