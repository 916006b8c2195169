#include "cli/set_targets.h"

#include "core/state/state_text.h"

#include <unistd.h>

#include <algorithm>

namespace vramguard {

std::string name_of(const SeenProcess& process) {
  return printable(state_text(process.state.comm)) + " (" + std::to_string(process.pid.value_or(process.state.pid)) +
         ")";
}

std::variant<SeenProcess, std::string> find_by_pid(const std::vector<SeenProcess>& processes, pid_t pid) {
  const SeenProcess* inside = nullptr;
  for (const SeenProcess& process : processes) {
    if (!process.alive) continue;
    if (process.pid == pid) return process;
    if (process.pid || process.state.pid != pid) continue;
    if (inside != nullptr)
      return "several containers have a guarded process " + std::to_string(pid) +
             "; run vramguard inside of one, or name a group";
    inside = &process;
  }
  if (inside != nullptr) return *inside;
  return "no guarded process has the number " + std::to_string(pid) + "; 'vramguard ps' lists them";
}

std::variant<std::vector<SeenProcess>, std::string> find_group(const std::vector<SeenProcess>& processes,
                                                               const std::string& group) {
  std::vector<SeenProcess> members;
  for (const SeenProcess& process : processes) {
    if (process.alive && state_text(process.state.group) == group) members.push_back(process);
  }
  if (members.empty()) return "no live process is in a group '" + printable(group) + "'; 'vramguard ps' lists them";
  // Several users may use the same name: one's own group goes first.
  const bool own =
      std::any_of(members.begin(), members.end(), [](const SeenProcess& member) { return member.owner == geteuid(); });
  const uid_t owner = own ? geteuid() : members.front().owner;
  const bool several =
      std::any_of(members.begin(), members.end(), [&](const SeenProcess& member) { return member.owner != owner; });
  if (several && !own) return "several users have a group '" + group + "'; name its processes one by one with -p";
  std::erase_if(members, [&](const SeenProcess& member) { return member.owner != owner; });
  return members;
}

}  // namespace vramguard
