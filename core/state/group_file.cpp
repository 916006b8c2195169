#include "core/state/group_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include "core/state/liveness.h"
#include "core/state/process_identity.h"
#include "core/state/shared_file.h"

namespace vramguard {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr int kMostTries = 5;

// FNV-1a; never 0.
std::uint64_t key_of(std::string_view uuid) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : uuid) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash | 1;
}

bool exists(const std::string& path) noexcept { return access(path.c_str(), F_OK) == 0; }

// For certain.
bool is_without_members(const std::string& path) {
  const auto mapped = map_shared_file(path, sizeof(GroupFile));
  void* const* memory = std::get_if<void*>(&mapped);
  if (memory == nullptr) return false;
  const bool without = live_members(*static_cast<const GroupFile*>(*memory)) == 0;
  unmap(*memory, sizeof(GroupFile));
  return without;
}

std::uint64_t identity_for_a_file() noexcept {
  const auto now = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  return now ^ static_cast<std::uint64_t>(gettid()) << 40;
}

}  // namespace

std::string objection_to_group_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  const bool good = !name.empty() && name.size() <= kLongestName && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), allowed);
  return good ? "" : "is no name of a group: 1 to 64 letters, digits, '.', '_', '-', not starting with '.'";
}

std::string group_path(const std::string& folder, const std::string& name) {
  return folder + "/" + kGroupPrefix + name;
}

std::optional<StateProblem> make_group(const std::string& folder, const std::string& name) {
  const std::string path = group_path(folder, name);
  if (exists(path)) return std::nullopt;
  auto made = make_shared_file(folder, kGroupPrefix + name, sizeof(GroupFile), 0600);
  if (auto* problem = std::get_if<StateProblem>(&made)) return std::move(*problem);
  const auto& file = std::get<FreshFile>(made);
  auto& group = *static_cast<GroupFile*>(file.memory);
  std::memcpy(group.magic, kGroupMagic, sizeof group.magic);
  group.version = kGroupVersion;
  group.bytes = sizeof group;
  group.boot = boot_of_this_machine();
  group.identity = identity_for_a_file();
  for (GroupSlot& slot : group.members) {
    if (!prepare_mark(slot.alive)) {
      unlink(file.hidden_path.c_str());
      return StateProblem{"the system has no robust mutex"};
    }
  }
  publish(file, path);
  unmap(file.memory, sizeof(GroupFile));
  if (exists(path)) return std::nullopt;
  return StateProblem{path + " cannot be made"};
}

std::variant<GroupFile*, StateProblem> open_group(const std::string& folder, const std::string& name) {
  if (const std::string objection = objection_to_group_name(name); !objection.empty())
    return StateProblem{"'" + name + "' " + objection};
  const std::string path = group_path(folder, name);
  const bool of_run = name.starts_with(kRunGroupPrefix);
  for (int tries = 0;; ++tries) {
    if (!of_run) {
      if (auto problem = make_group(folder, name)) return std::move(*problem);
    } else if (!exists(path)) {
      return StateProblem{"the group " + name + " of 'vramguard run' is not in " + folder +
                          ": this process sees another folder, or the command has ended; share the folder and name it "
                          "in VRAMGUARD_STATE_DIR, or name another group in VRAMGUARD_GROUP"};
    }
    utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // it is in use: remove_idle_files
    auto mapped = map_shared_file(path, sizeof(GroupFile));
    const bool removed_meanwhile = std::holds_alternative<StateProblem>(mapped) && !exists(path);
    if (removed_meanwhile && tries < kMostTries) continue;
    if (auto* problem = std::get_if<StateProblem>(&mapped)) return std::move(*problem);
    auto* group = static_cast<GroupFile*>(std::get<void*>(mapped));
    const bool known = std::memcmp(group->magic, kGroupMagic, sizeof group->magic) == 0 &&
                       group->version == kGroupVersion && group->bytes == sizeof *group;
    if (known && group->boot == boot_of_this_machine()) return group;
    unmap(group, sizeof *group);
    if (!known)
      return StateProblem{path +
                          " was written by another version of vramguard; end its members, or name another group"};
    unlink(path.c_str());  // nobody in it lives any more
    if (tries == kMostTries) return StateProblem{path + " was made before the machine was started"};
  }
}

std::optional<GroupUse> use_of_group(const std::string& folder, const std::string& name, const std::string& uuid) {
  const auto mapped = map_shared_file(group_path(folder, name), sizeof(GroupFile));
  void* const* memory = std::get_if<void*>(&mapped);
  if (memory == nullptr) return std::nullopt;
  const auto& group = *static_cast<const GroupFile*>(*memory);
  GroupUse use{0, 0};
  for (std::size_t device = 0; device < kGroupDevices; ++device) {
    if (group.devices[device].key.load() != key_of(uuid)) continue;
    use.budget = group.devices[device].budget.load();
    for (std::size_t place = 0; place < places_of(group); ++place) {
      const GroupSlot& member = group.members[place];
      if (is_held(member.alive)) use.used += member.devices[device].used.load();
    }
  }
  unmap(*memory, sizeof(GroupFile));
  return use;
}

bool is_current(const GroupFile& group, const std::string& folder, const std::string& name) {
  const auto mapped = map_shared_file(group_path(folder, name), sizeof(GroupFile));
  void* const* memory = std::get_if<void*>(&mapped);
  if (memory == nullptr) return false;
  const bool same = static_cast<const GroupFile*>(*memory)->identity == group.identity;
  unmap(*memory, sizeof(GroupFile));
  return same;
}

std::optional<std::size_t> place_of_device(GroupFile& group, const std::string& uuid) noexcept {
  const std::uint64_t key = key_of(uuid);
  for (std::size_t i = 0; i < kGroupDevices; ++i) {
    std::uint64_t found = 0;
    if (group.devices[i].key.compare_exchange_strong(found, key) || found == key) return i;
  }
  return std::nullopt;
}

void remove_idle_files(const std::string& folder) noexcept try {
  constexpr std::time_t kIdle = 24 * 60 * 60;
  const std::string prefix = kGroupPrefix;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  while (const dirent* entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    const std::string path = folder + "/" + name;
    const bool hidden = name.starts_with(kHiddenPrefix);
    if (!hidden && (!name.starts_with(prefix) || name.starts_with(prefix + kRunGroupPrefix))) continue;
    struct stat info {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_mtime + kIdle > std::time(nullptr))
      continue;
    if (hidden || is_without_members(path)) unlink(path.c_str());
  }
} catch (...) {
}

std::optional<StateProblem> set_group_budget(const std::string& folder, const std::string& name,
                                             const std::string& uuid, Bytes budget) {
  if (access(group_path(folder, name).c_str(), F_OK) != 0) return StateProblem{"there is no group " + name};
  auto opened = open_group(folder, name);
  if (auto* problem = std::get_if<StateProblem>(&opened)) return std::move(*problem);
  GroupFile& group = *std::get<GroupFile*>(opened);
  const std::optional<std::size_t> device = place_of_device(group, uuid);
  if (device) group.devices[*device].budget.store(budget);
  unmap(&group, sizeof group);
  return device ? std::nullopt : std::optional(StateProblem{"the group has too many devices"});
}

std::size_t live_members(const GroupFile& group) noexcept {
  return static_cast<std::size_t>(std::count_if(group.members.begin(), group.members.end(),
                                                [](const GroupSlot& slot) { return is_held(slot.alive); }));
}

}  // namespace vramguard
