#include "cli/stale_runs.h"

#include "cli/gpu_traces.h"
#include "cli/run_file.h"
#include "core/state/group_file.h"
#include "core/state/process_identity.h"
#include "core/state/run_name.h"
#include "core/state/shared_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>
#include <variant>

namespace vramguard {
namespace {

namespace fs = std::filesystem;

// Nobody can tell from here whether a process of another pid namespace lives.
constexpr std::time_t kForeignAge = 30L * 24 * 60 * 60;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The name of the run whose file that is; "" of any other file.
std::string run_of(std::string file) {
  const std::string_view group_prefix = kGroupPrefix, suffix = kRunFileSuffix;
  if (file.starts_with(group_prefix)) {
    file = file.substr(group_prefix.size());
  } else if (file.ends_with(suffix)) {
    file.resize(file.size() - suffix.size());
  } else {
    return "";
  }
  return file.starts_with(kRunGroupPrefix) ? file : "";
}

// Whether the process that the run was named after is gone, as far as that can be told.
bool is_gone(const std::string& run, const std::string& folder, std::uint64_t own_namespace) {
  ProcessIdentity process;
  const char* const number = run.data() + std::string_view(kRunGroupPrefix).size();
  const char* const end = run.data() + run.size();
  if (std::from_chars(number, end, process.pid).ec != std::errc()) return false;
  process.start_ticks = start_ticks_of(process.pid).value_or(0);
  process.pid_namespace = own_namespace;
  if (run == run_name(process)) return false;
  // The name of a run of this namespace has as many parts as ours would have.
  const auto parts = [](const std::string& name) { return std::count(name.begin(), name.end(), '-'); };
  const std::string own = run_name(process);
  const std::string own_end = parts(own) > 2 ? own.substr(own.rfind('-')) : "";
  if (parts(run) == parts(own) && run.ends_with(own_end)) return true;
  for (const std::string& path : {folder + "/" + run + kRunFileSuffix, group_path(folder, run)}) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0) return std::time(nullptr) - info.st_mtime > kForeignAge;
  }
  return false;
}

bool has_live_members(const std::string& folder, const std::string& run) {
  if (access(group_path(folder, run).c_str(), F_OK) != 0) return false;
  auto opened = open_group(folder, run);
  auto* const* group = std::get_if<GroupFile*>(&opened);
  if (group == nullptr) return false;
  const bool lives = live_members(**group) > 0;
  unmap(*group, sizeof(GroupFile));
  return lives;
}

bool has_entry(const std::string& environ_text, const std::string& entry) {
  const std::string whole = entry + '\0';
  for (std::size_t at = 0; (at = environ_text.find(whole, at)) != std::string::npos; ++at) {
    if (at == 0 || environ_text[at - 1] == '\0') return true;
  }
  return false;
}

// A program that names itself writes over the memory that /proc shows as its environment; its children inherit the
// real one.
bool may_use_any(pid_t pid, const std::string& environ_text) {
  return !environ_text.empty() && environ_text.find('=') == std::string::npos &&
         gpu_traces_of(pid).value_or(GpuTraces{}).guard;
}

// Takes out the runs that some process has in its environment. Nobody may look at another user's processes, but those
// do not use our files either.
void keep_used(const std::string& folder, std::set<std::string>& stale) {
  std::error_code error;
  for (const auto& process : fs::directory_iterator("/proc", error)) {
    const std::string name = process.path().filename().string();
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    const std::string text = contents(process.path() / "environ");
    if (may_use_any(pid, text)) stale.clear();
    std::erase_if(stale, [&](const std::string& run) {
      return has_entry(text, "VRAMGUARD_CONFIG=" + folder + "/" + run + kRunFileSuffix) ||
             has_entry(text, "VRAMGUARD_GROUP=" + run);
    });
    if (stale.empty()) return;
  }
}

}  // namespace

void remove_stale_runs(const std::string& folder) {
  const std::uint64_t own_namespace = identity_of_this_process().pid_namespace;
  std::set<std::string> stale;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::string run = run_of(entry.path().filename().string());
    if (!run.empty() && is_gone(run, folder, own_namespace)) stale.insert(std::move(run));
  }
  std::erase_if(stale, [&](const std::string& run) { return has_live_members(folder, run); });
  if (!stale.empty()) keep_used(folder, stale);
  for (const std::string& run : stale) {
    unlink((folder + "/" + run + kRunFileSuffix).c_str());
    unlink(group_path(folder, run).c_str());
  }
}

}  // namespace vramguard
