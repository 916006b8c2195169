#include "cli/preflight.h"

#include "cli/escaping_commands.h"
#include "cli/exit_status.h"
#include "cli/program_search.h"
#include "core/errno_text.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <variant>

namespace vramguard {
namespace {

constexpr int kMostScripts = 5;  // as the kernel: a script's interpreter may be a script

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Problem refused(const std::string& path, const std::string& reason) {
  return {kVramguardFailed, "'" + path + "' " + reason};
}

std::optional<Problem> check_escape(const std::string& name) {
  if (const auto remedy = remedy_for(file_name(name))) return refused(name, *remedy);
  return std::nullopt;
}

// Programs that gain rights when they start get no preload.
std::optional<Problem> check_rights(const std::string& path) {
  constexpr const char* kLoader = ", and the loader preloads nothing into such a program";
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  if ((info.st_mode & S_ISUID) != 0 && info.st_uid != geteuid())
    return refused(path, std::string("is setuid") + kLoader);
  const bool setgid = (info.st_mode & S_ISGID) != 0 && (info.st_mode & S_IXGRP) != 0;
  if (setgid && info.st_gid != getegid()) return refused(path, std::string("is setgid") + kLoader);
  if (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    return refused(path, std::string("has file capabilities") + kLoader);
  }
  return std::nullopt;
}

std::optional<Problem> check_elf(const std::string& path, const ElfFile& elf, const ElfFile& library) {
  if (!elf.same_kind(library)) {
    return refused(path, "is a " + describe(elf) + " program, and libvramguard.so is " + describe(library));
  }
  const bool is_loader = elf.shared && file_name(path).starts_with("ld-");  // "ld-linux-x86-64.so.2 PROGRAM"
  if (elf.interpreter.empty() && !is_loader) {
    return refused(path, "is statically linked: nothing can be preloaded into it, so its budget would not be kept");
  }
  if (elf.interpreter.find("ld-musl") != std::string::npos || file_name(path).starts_with("ld-musl")) {
    return refused(path, "is a musl program; libvramguard.so needs the GNU C library, and musl would end the program");
  }
  return check_rights(path);
}

std::optional<Problem> check_program(const std::string& name, std::string_view path_variable, const ElfFile& library,
                                     int depth) {
  if (auto problem = check_escape(name)) return problem;
  const auto found = find_program(name, path_variable);
  if (const auto* problem = std::get_if<Problem>(&found)) return *problem;
  const auto& path = std::get<std::string>(found);
  // "docker" may be a link to podman, and anything else one to docker.
  std::error_code error;
  if (auto problem = check_escape(std::filesystem::canonical(path, error).string())) return problem;
  if (const auto elf = read_elf_file(path)) return check_elf(path, *elf, library);

  // What is neither ELF nor a script is run by /bin/sh, or by a handler that the kernel has for it: its own affair.
  const ScriptLine line = read_script_line(path);
  for (const std::string& next : {line.interpreter, line.looked_up}) {
    if (next.empty() || depth >= kMostScripts) continue;
    if (auto problem = check_program(next, path_variable, library, depth + 1)) {
      problem->message += " (the interpreter of '" + path + "')";
      return problem;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> check_library(const std::string& library) {
  if (library.find_first_of(" :$") != std::string::npos) {
    return refused(library,
                   "cannot be preloaded: the loader takes a space, ':' or '$' in its path for something else; move"
                   " vramguard to a folder without them");
  }
  if (access(library.c_str(), R_OK) != 0) return refused(library, "cannot be read: " + errno_text(errno));
  const auto elf = read_elf_file(library);
  if (!elf || !elf->shared) return refused(library, "is not a shared library");
  const auto own = read_elf_file("/proc/self/exe");
  if (own && !elf->same_kind(*own))
    return refused(library, "is a " + describe(*elf) + " library, and vramguard is " + describe(*own));
  struct statvfs mount {};
  if (statvfs(library.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) != 0) {
    return refused(library, "is on a file system mounted 'noexec': the loader could not load it");
  }
  return std::nullopt;
}

std::optional<Problem> check_command(const std::string& command, std::string_view path_variable,
                                     const ElfFile& library) {
  return check_program(command, path_variable, library, 0);
}

}  // namespace vramguard
