#include "cli/process_tree.h"

#include <dirent.h>

#include <charconv>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>

namespace vramguard {
namespace {

constexpr int kDeepest = 1000;  // a parent may end, and its number be another's, between two looks

}  // namespace

std::optional<TreeProcess> look_at_tree_process(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat", std::ios::binary);
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  const std::size_t name_start = stat.find('('), name_end = stat.rfind(')');  // the name may hold anything
  if (name_start == std::string::npos || name_end == std::string::npos) return std::nullopt;
  TreeProcess process;
  process.pid = pid;
  process.comm = stat.substr(name_start + 1, name_end - name_start - 1);
  std::istringstream fields(stat.substr(name_end + 1));
  fields >> process.state >> process.parent;
  constexpr int kStartTime = 22, kStartStack = 28;
  std::string skipped;
  for (int field = 5; field < kStartTime; ++field) fields >> skipped;
  fields >> process.start_ticks;
  for (int field = kStartTime + 1; field < kStartStack; ++field) fields >> skipped;
  fields >> process.start_stack;
  return process;
}

std::vector<TreeProcess> descendants_of(pid_t root) {
  std::multimap<pid_t, TreeProcess> by_parent;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir("/proc"), closedir);
  if (open == nullptr) return {};
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    pid_t pid = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), pid).ptr != name.data() + name.size()) continue;
    if (auto process = look_at_tree_process(pid)) by_parent.emplace(process->parent, std::move(*process));
  }
  std::vector<TreeProcess> tree;
  const auto add_children = [&](pid_t parent) {
    const auto [first, last] = by_parent.equal_range(parent);
    for (auto child = first; child != last; ++child) tree.push_back(std::move(child->second));
    by_parent.erase(first, last);
  };
  add_children(root);
  for (std::size_t i = 0; i < tree.size(); ++i) add_children(tree[i].pid);
  return tree;
}

bool descends_from(pid_t pid, pid_t root) {
  for (int i = 0; i < kDeepest && pid > 1; ++i) {
    if (pid == root) return true;
    const auto process = look_at_tree_process(pid);
    if (!process) return false;
    pid = process->parent;
  }
  return false;
}

}  // namespace vramguard
