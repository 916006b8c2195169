// In which order the rows of a table stand, and which of them are there.
#pragma once

#include <vector>

#include "cli/process_table.h"

namespace vramguard {

enum class TableOrder {
  Start,  // the oldest first
  Used,   // the largest first
  Room,   // those with the least room left in their budget first
  Pid,
};
const char* to_string(TableOrder order) noexcept;

struct TableView {
  TableOrder order = TableOrder::Start;
  bool grouped = true;  // members of a group stand together under a line of the group's own
};

// A line: a process on a device, a process that uses none, or a group. Points into the table.
struct TableRow {
  const TableDevice* device = nullptr;
  const TableProcess* process = nullptr;
  const TableUse* use = nullptr;
  const TableGroup* group = nullptr;
  bool is_member() const { return process != nullptr && group != nullptr; }
};

// By device; the order holds within each. A group of one has no line of its own.
std::vector<TableRow> arrange(const ProcessTable& table, const TableView& view);

}  // namespace vramguard
