#include "cli/doctor/checks.h"

#include "cli/process_finder.h"
#include "cli/set_targets.h"
#include "core/errno_text.h"
#include "core/state/control_block.h"
#include "core/state/state_reader.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace vramguard {
namespace {

constexpr char kOtherFolder[] = "name another folder in VRAMGUARD_STATE_DIR, for all programs and commands alike";
constexpr std::uint64_t kOneProcess = sizeof(ProcessState) + sizeof(ControlBlock) + 2 * 4096;
constexpr std::uint64_t kManyProcesses = 100;

std::string named_folder() {
  const char* named = std::getenv("VRAMGUARD_STATE_DIR");
  return named != nullptr ? named : "";
}

// Of a folder that is there, or of the one in which it will be made.
Diagnosis examine_room(const std::string& folder, const std::string& existing) {
  struct statvfs mount {};
  if (statvfs(existing.c_str(), &mount) != 0)
    return problem("state folder", existing + " cannot be looked at: " + errno_text(errno), kOtherFolder);
  if ((mount.f_flag & ST_RDONLY) != 0 || access(existing.c_str(), W_OK | X_OK) != 0)
    return problem("state folder", existing + " cannot be written: guarded programs cannot show themselves",
                   kOtherFolder);
  const std::uint64_t free = std::uint64_t{mount.f_bavail} * mount.f_frsize;
  if (free < kOneProcess || (mount.f_files > 0 && mount.f_favail < 2))
    return problem("state folder",
                   "the file system of " + existing + " is full: guarded programs cannot show themselves",
                   "remove what fills it, or give it more room (mount -o remount,size=...)");
  if (free < kManyProcesses * kOneProcess)
    return hint("state folder",
                "there is room for only " + std::to_string(free / kOneProcess) + " guarded processes in " + existing,
                "give its file system more room");
  return good("state folder", folder + (folder == existing ? "" : ", which will be made"));
}

Diagnosis examine_folder(const std::string& named) {
  const std::string folder = state_folder_path(named, geteuid());
  struct stat info {};
  if (lstat(folder.c_str(), &info) == 0) {
    const auto opened = open_state_folder(named);  // it is there, so that nothing is made
    if (const auto* why = std::get_if<StateProblem>(&opened))
      return problem("state folder", printable(why->message.substr(0, why->message.find("; name another"))),
                     kOtherFolder);
    return examine_room(folder, folder);
  }
  if (!folder.starts_with('/'))
    return problem("state folder", printable(folder) + " is no absolute path", kOtherFolder);
  const std::string parent = folder.substr(0, std::max<std::size_t>(folder.rfind('/'), 1));
  if (lstat(parent.c_str(), &info) != 0)
    return problem("state folder", printable(folder) + " cannot be made: " + errno_text(errno),
                   "make " + printable(parent) + ", or " + kOtherFolder);
  return examine_room(folder, parent);
}

}  // namespace

Diagnoses examine_state() {
  const std::string named = named_folder();
  const std::string folder = state_folder_path(named, geteuid());
  Diagnoses all{examine_folder(named)};
  const SeenProcesses seen = read_states(all_state_folders(named));
  std::size_t guarded = 0;
  for (const SeenProcess& process : seen.processes) {
    if (!process.alive || process.owner != geteuid()) continue;
    ++guarded;
    if (!process.path.starts_with(folder + "/"))
      all.push_back(hint("state folder",
                         name_of(process) + " shows itself in " +
                             printable(process.path.substr(0, process.path.rfind('/'))) + ", not in " +
                             printable(folder),
                         "set VRAMGUARD_STATE_DIR alike everywhere, or groups and 'run' will not find each other"));
  }
  for (const UnreadableState& file : seen.unreadable)
    all.push_back(hint("state file", printable(file.path + ": " + file.why),
                       "start its program anew with this version, or remove the file when it has ended"));
  all.push_back(good("guarded", std::to_string(guarded) + " live guarded processes of this user"));
  return all;
}

}  // namespace vramguard
