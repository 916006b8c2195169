#include "cli/doctor/checks.h"

#include "core/errno_text.h"
#include "core/log_path.h"
#include "core/state/state_reader.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

namespace vramguard {
namespace {

constexpr char kOtherPath[] = "name another file in log.path or VRAMGUARD_LOG";
constexpr std::uint64_t kFewBytes = 1_MiB;

std::string folder_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

// The nearest that exists.
std::string existing_folder(std::string path) {
  do {
    path = folder_of(path);
  } while (path.size() > 1 && access(path.c_str(), F_OK) != 0);
  return path;
}

}  // namespace

Diagnoses examine_log(const LogConfig& log) {
  if (log.target == LogTarget::None)
    return {hint("log", "it is switched off: nobody will know why a request was refused", "set log.target = \"file\"")};
  if (log.target == LogTarget::Stderr) return {good("log", "it goes to the programs' standard error")};
  const std::string path = locate_log(log.path, LogSurroundings::of_this_process()).path;
  if (path.empty()) return {problem("log", "it has no place: this user has no home folder", kOtherPath)};
  const std::string shown = printable(path);

  struct stat info {};
  const bool exists = lstat(path.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode))
    return {problem("log", shown + " is no regular file: nothing is written", kOtherPath)};
  const std::string checked = exists ? path : existing_folder(path);
  if (access(checked.c_str(), exists ? W_OK : W_OK | X_OK) != 0)
    return {problem("log", printable(checked) + " cannot be written: " + errno_text(errno), kOtherPath)};
  struct statvfs mount {};
  if (statvfs(checked.c_str(), &mount) == 0 && std::uint64_t{mount.f_bavail} * mount.f_frsize < kFewBytes)
    return {problem("log", "the file system of " + printable(checked) + " is full: records are lost",
                    "make room, or " + std::string(kOtherPath))};
  const bool of_each = log.path.find("%p") != std::string::npos || log.path.empty();
  if (!of_each && is_on_network(folder_of(path)))
    return {hint("log", shown + " is on a network file system: machines that append to it at once lose records",
                 "put %h and %p into the path, or use a local file system")};
  return {good("log", shown)};
}

}  // namespace vramguard
