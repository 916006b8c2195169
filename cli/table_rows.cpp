#include "cli/table_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace vramguard {
namespace {

// What rows are sorted by, the least first. Equal ones stay as they are: by start.
using Key = std::int64_t;

Key bytes_key(std::uint64_t bytes) {
  return static_cast<Key>(std::min<std::uint64_t>(bytes, std::numeric_limits<Key>::max()));
}

Key key_of(TableOrder order, std::uint64_t used, std::uint64_t budget, Key pid) {
  switch (order) {
    case TableOrder::Start:
      return 0;
    case TableOrder::Used:
      return used == kStateUnknown ? 0 : -bytes_key(used);
    case TableOrder::Room:
      if (budget == kStateUnknown || used == kStateUnknown) return std::numeric_limits<Key>::max();
      return bytes_key(budget - std::min(used, budget));
    case TableOrder::Pid:
      return pid;
  }
  return 0;
}

// Rows that stay together: a group's line and its members, or one process.
struct Block {
  Key key = 0;
  std::vector<std::pair<Key, TableRow>> rows;
};

Key pid_of(const TableProcess& process) { return process.pid.value_or(process.own_pid.value_or(0)); }

const TableGroup* group_of(const ProcessTable& table, const TableProcess& process, std::size_t device) {
  if (process.group.empty()) return nullptr;
  for (const TableGroup& group : table.groups) {
    if (group.device == device && group.uid == process.uid && group.name == process.group && group.processes > 1)
      return &group;
  }
  return nullptr;
}

std::vector<Block> blocks_of(const ProcessTable& table, std::size_t device, const TableView& view) {
  std::vector<Block> blocks;
  for (const TableProcess& process : table.processes) {
    for (const TableUse& use : process.uses) {
      if (use.device != device) continue;
      const TableRow row{&table.devices[device], &process, &use,
                         view.grouped ? group_of(table, process, device) : nullptr};
      const Key key = key_of(view.order, use.used_bytes, use.budget_bytes, pid_of(process));
      auto block = blocks.end();
      if (row.group != nullptr) {
        block = std::find_if(blocks.begin(), blocks.end(),
                             [&](const Block& other) { return other.rows.front().second.group == row.group; });
      }
      if (block == blocks.end()) {
        block = blocks.emplace(blocks.end());
        const TableGroup* group = row.group;
        block->key = group == nullptr ? key : key_of(view.order, group->used_bytes, group->budget_bytes, key);
      }
      block->rows.emplace_back(key, row);
    }
  }
  return blocks;
}

}  // namespace

const char* to_string(TableOrder order) noexcept {
  switch (order) {
    case TableOrder::Start:
      return "start";
    case TableOrder::Used:
      return "used";
    case TableOrder::Room:
      return "room";
    case TableOrder::Pid:
      return "pid";
  }
  return "";
}

std::vector<TableRow> arrange(const ProcessTable& table, const TableView& view) {
  std::vector<TableRow> rows;
  for (std::size_t device = 0; device < table.devices.size(); ++device) {
    std::vector<Block> blocks = blocks_of(table, device, view);
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.key < b.key; });
    for (Block& block : blocks) {
      std::stable_sort(block.rows.begin(), block.rows.end(),
                       [](const auto& a, const auto& b) { return a.first < b.first; });
      if (const TableGroup* group = block.rows.front().second.group)
        rows.push_back({&table.devices[device], nullptr, nullptr, group});
      for (const auto& [key, row] : block.rows) rows.push_back(row);
    }
  }
  for (const TableProcess& process : table.processes) {
    if (process.uses.empty()) rows.push_back({nullptr, &process, nullptr, nullptr});
  }
  return rows;
}

}  // namespace vramguard
