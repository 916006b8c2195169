#include "cli/run_file.h"

#include "cli/exit_status.h"
#include "core/errno_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

namespace vramguard {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "run-";
constexpr std::string_view kSuffix = ".toml";

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "PID-STARTTIME", which no other process has until the next boot; "" if there is no such process.
std::string identity_of(const std::string& pid) {
  const std::string stat = contents("/proc/" + pid + "/stat");
  const std::size_t name_end = stat.rfind(')');  // the name may hold anything
  if (name_end == std::string::npos) return "";
  constexpr int kStartTime = 22;
  constexpr int kFirstAfterName = 3;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string field;
  for (int i = kFirstAfterName; i <= kStartTime && fields >> field;) ++i;
  return pid + "-" + field;
}

// "PID-STARTTIME" of a file's name, "" of any other file.
std::string identity_in(const std::string& name) {
  const bool ours =
      name.size() > kPrefix.size() + kSuffix.size() && name.starts_with(kPrefix) && name.ends_with(kSuffix);
  return ours ? name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size()) : "";
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether that process was started with `path` as its configuration. Nobody may look at another user's processes, but
// those do not use our files either.
bool uses(const std::string& environ_text, const std::string& path) {
  const std::string entry = "VRAMGUARD_CONFIG=" + path + '\0';
  for (std::size_t at = 0; (at = environ_text.find(entry, at)) != std::string::npos; ++at) {
    if (at == 0 || environ_text[at - 1] == '\0') return true;
  }
  return false;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(fd, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

std::variant<std::string, Problem> write_run_file(const std::string& folder, const std::string& text) {
  const std::string name = identity_of(std::to_string(getpid()));
  const std::string path = folder + "/" + std::string(kPrefix) + name + std::string(kSuffix);
  const std::string fresh = path + ".new";
  const auto problem = [&] { return Problem{kVramguardFailed, path + " cannot be written: " + errno_text(errno)}; };

  unlink(fresh.c_str());
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return problem();
  const bool written = write_all(fd, text);
  const int error = errno;
  close(fd);
  // In one step, since a command inside another `run` of the same process may be reading the old one.
  if (written && rename(fresh.c_str(), path.c_str()) == 0) return path;
  if (!written) errno = error;
  auto failed = problem();
  unlink(fresh.c_str());
  return failed;
}

void remove_stale_run_files(const std::string& folder) {
  std::vector<std::string> stale;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string identity = identity_in(entry.path().filename().string());
    const std::string pid = identity.substr(0, identity.find('-'));
    if (!is_number(pid) || identity_of(pid) == identity) continue;
    stale.push_back(folder + "/" + entry.path().filename().string());
  }
  if (stale.empty()) return;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    if (!is_number(process.path().filename().string())) continue;
    const std::string text = contents(process.path() / "environ");
    std::erase_if(stale, [&](const std::string& path) { return uses(text, path); });
  }
  for (const std::string& path : stale) unlink(path.c_str());
}

}  // namespace vramguard
