// What the members of a group share: one file, which each of them maps.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <variant>

#include "core/bytes.h"
#include "core/state/state_folder.h"

namespace vramguard {

inline constexpr std::uint32_t kGroupVersion = 1;
inline constexpr char kGroupMagic[8] = {'V', 'G', 'G', 'R', 'O', 'U', 'P', '\n'};
inline constexpr std::size_t kGroupDevices = 16, kGroupMembers = 256;
// The name of a group's file begins with it. Groups of `vramguard run` are called run-PID-START.
inline constexpr char kGroupPrefix[] = "group-";
inline constexpr char kRunGroupPrefix[] = "run-";

// What one member has taken of one device: written by it alone, but for what is asked of it. A line of the cache.
struct alignas(64) MemberNumbers {
  std::atomic<Bytes> announced{0};      // charged, or being tried for at this moment
  std::atomic<std::uint64_t> calls{0};  // as Ledger counts them: under way, and ended
  std::atomic<std::uint64_t> tries{0};  // that did not fit and were taken back
  std::atomic<Bytes> used{0};
  std::atomic<Bytes> sentinel{0};
  std::atomic<std::uint32_t> has_bounds{0};                    // some of what is announced may be an upper bound
  std::atomic<std::uint32_t> settle_asked{0}, settle_done{0};  // another member needs exact numbers
  std::atomic<Bytes> sentinel_asked{0};                        // another member needs so much of the sentinel
};
static_assert(sizeof(MemberNumbers) == 64 && std::atomic<Bytes>::is_always_lock_free);

struct GroupSlot {
  pthread_mutex_t alive;              // held by a thread of the member
  std::atomic<std::int64_t> died_at;  // ms of the monotonic clock: when somebody noticed; 0: nobody has
  std::int32_t pid;                   // in its own namespace
  std::uint64_t start_ticks, pid_namespace;
  char name[96];  // of its files, without suffix
  std::array<MemberNumbers, kGroupDevices> devices;
};

struct GroupDevice {
  std::atomic<std::uint64_t> key;  // of its UUID; 0: free
  // Set for the whole group while it has members; 0: each member's own.
  std::atomic<Bytes> budget;
  // A member's place and one, or 0: who makes a trial, and who holds the sentinel.
  std::atomic<std::uint32_t> trial, sentinel;
};

struct GroupFile {
  char magic[8];
  std::uint32_t version, bytes;
  std::uint64_t boot;                      // of the machine: the marks of another one mean nothing
  std::uint64_t identity;                  // of this file, and of no later one of that name
  std::atomic<std::uint32_t> places_used;  // no member has a higher place; never falls
  std::array<GroupDevice, kGroupDevices> devices;
  std::array<GroupSlot, kGroupMembers> members;
};

// Those that are or were taken.
inline std::size_t places_of(const GroupFile& group) noexcept {
  return std::min<std::size_t>(group.places_used.load(std::memory_order_acquire), kGroupMembers);
}

// "" where the name is one: 1 to 64 of A-Z a-z 0-9 . _ -, not starting with a dot.
std::string objection_to_group_name(const std::string& name);

std::string group_path(const std::string& folder, const std::string& name);

// Makes the group's file unless it is there. nullopt: it is there now.
std::optional<StateProblem> make_group(const std::string& folder, const std::string& name);

// Maps it. A run's group must be there already, or its members would be split; another is made by its first member.
std::variant<GroupFile*, StateProblem> open_group(const std::string& folder, const std::string& name);

// The place of the device of that UUID, taken if need be; nullopt: all are.
std::optional<std::size_t> place_of_device(GroupFile& group, const std::string& uuid) noexcept;

std::size_t live_members(const GroupFile& group) noexcept;

// What its live members use of the device of that UUID, and what budget was set for all (0: none), for those who only
// look; nullopt: there is no such group of this user.
struct GroupUse {
  Bytes used, budget;
};
std::optional<GroupUse> use_of_group(const std::string& folder, const std::string& name, const std::string& uuid);

// Whether the group's file is still the one of that name: it may have been removed before this process was in it.
bool is_current(const GroupFile& group, const std::string& folder, const std::string& name);

// Removes the files of named groups that nobody has joined for a day and that have no member, and what processes left
// that were stopped while they made a file. Groups of runs go with the files of the run.
void remove_idle_files(const std::string& folder) noexcept;

// What members get that come from now on, instead of their own; those that are there must be asked (control_client.h).
// kUnlimitedBytes: none. A problem: there is no such group of this user.
std::optional<StateProblem> set_group_budget(const std::string& folder, const std::string& name,
                                             const std::string& uuid, Bytes budget);

}  // namespace vramguard
