#include "core/log_path.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace vramguard {

namespace {

std::string read_file(const char* name, std::size_t max_bytes) {
  std::string text;
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char part[4096];
  ssize_t size;
  while (text.size() < max_bytes && (size = read(fd, part, sizeof part)) > 0) {
    text.append(part, static_cast<std::size_t>(size));
  }
  close(fd);
  return text;
}

// The part of `text` before the first `separator`; takes both off `text`. Nothing when `text` is used up.
std::optional<std::string_view> take_until(std::string_view& text, char separator) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string variable(const char* name) {
  const char* value = getauxval(AT_SECURE) != 0 ? nullptr : getenv(name);
  return value != nullptr ? value : "";
}

std::string folder_of(const std::string& path) { return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1)); }

std::string expand(const std::string& pattern, const LogSurroundings& surroundings) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char next = pattern[i] == '%' && i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    switch (next) {
      case 'u':
        path += std::to_string(surroundings.euid);
        break;
      case 'p':
        path += std::to_string(surroundings.pid);
        break;
      case 'h':
        path += surroundings.host;
        break;
      case '%':
        path += '%';
        break;
      default:
        path += pattern[i];
        continue;
    }
    ++i;
  }
  return path;
}

std::string default_folder(const LogSurroundings& surroundings) {
  if (surroundings.euid == 0) return "/var/log/vramguard";
  // The XDG specification: a relative path is to be ignored.
  if (surroundings.state_home.starts_with('/')) return surroundings.state_home + "/vramguard";
  if (surroundings.home.starts_with('/')) return surroundings.home + "/.local/state/vramguard";
  return "";
}

}  // namespace

LogSurroundings LogSurroundings::of_this_process() {
  LogSurroundings result;
  result.euid = geteuid();
  result.pid = getpid();
  utsname names;
  if (uname(&names) == 0) result.host = names.nodename;
  std::replace(result.host.begin(), result.host.end(), '/', '_');
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) != nullptr) result.working_folder = folder;
  result.home = variable("HOME");
  if (result.home.empty()) result.home = home_in_passwd(result.euid);
  result.state_home = variable("XDG_STATE_HOME");
  result.on_network = is_on_network;
  return result;
}

LogLocation locate_log(const std::string& configured, const LogSurroundings& surroundings) {
  if (!configured.empty()) {
    const std::string path = expand(configured, surroundings);
    if (path.starts_with('/')) return {path, 0755};
    // Later the program may be in another folder. Where even this one has no name there is no place for the log.
    if (!surroundings.working_folder.starts_with('/')) return {"", 0755};
    return {surroundings.working_folder + "/" + path, 0755};
  }

  const std::string folder = default_folder(surroundings);
  if (folder.empty()) return {};
  // Appending is not atomic between machines.
  const bool shared = surroundings.on_network != nullptr && surroundings.on_network(folder);
  const std::string name =
      shared ? "/pressure." + surroundings.host + "." + std::to_string(surroundings.pid) + ".log" : "/pressure.log";
  return {folder + name, static_cast<mode_t>(surroundings.euid == 0 ? 0755 : 0700)};
}

std::string home_in_passwd(uid_t uid, const char* file) {
  const std::string text = read_file(file, std::size_t{1} << 20);
  std::string_view rest = text;
  while (auto line = take_until(rest, '\n')) {
    // name:password:uid:gid:comment:home:shell
    std::string_view fields[6];
    for (std::string_view& field : fields) field = take_until(*line, ':').value_or("");
    uid_t found = 0;
    const auto [end, error] = std::from_chars(fields[2].data(), fields[2].data() + fields[2].size(), found);
    if (error == std::errc() && end == fields[2].data() + fields[2].size() && found == uid) {
      return std::string(fields[5]);
    }
  }
  return "";
}

bool is_on_network(const std::string& folder) {
  std::string existing = folder;
  struct statfs status;
  while (statfs(existing.c_str(), &status) != 0) {
    if (existing.size() <= 1 || (errno != ENOENT && errno != ENOTDIR)) return false;
    existing = folder_of(existing);
  }
  return is_network_file_system(static_cast<unsigned long>(status.f_type) & 0xFFFFFFFFUL);
}

bool is_network_file_system(unsigned long magic) {
  switch (magic) {
    case 0x00006969:  // NFS
    case 0x0000517B:  // SMB
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x0BD00BD0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x19830326:  // BeeGFS
    case 0x00C36400:  // Ceph
    case 0x5346414F:  // AFS
    case 0x6B414653:  // kAFS
    case 0xAAD7AAEA:  // PanFS
    case 0x7461636F:  // OCFS2
    case 0x01161970:  // GFS2
    case 0x01021997:  // 9P
    case 0x65735546:  // FUSE: sshfs, GlusterFS, JuiceFS and the like; a local one only gets the longer name
      return true;
    default:
      return false;
  }
}

}  // namespace vramguard
