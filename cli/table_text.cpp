#include "cli/table_text.h"

#include "core/bytes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace vramguard {
namespace {

constexpr std::size_t kBarWidth = 14;
constexpr std::size_t kLeastCommand = 12;
constexpr char kHigh[] = "33", kCritical[] = "31", kUnguarded[] = "35", kDim[] = "2";

std::vector<TextColumn> columns_with(bool groups, TableBars bars) {
  std::vector<TextColumn> columns{{"GPU", 10}, {"USER", 6}, {"PID", 11, true}};
  if (groups) columns.push_back({"GROUP", 2, false, kLeastCommand});
  columns.push_back({"COMMAND", 9, false, kLeastCommand});
  columns.push_back({"LEVEL", 5});
  columns.push_back({"USED", 12, true});
  columns.push_back({"BUDGET", 8, true});
  if (bars == TableBars::OfBudget) columns.push_back({"OF BUDGET", 7});
  columns.push_back({"PEAK", 3, true});
  columns.push_back({"REFUSED", 4, true});
  columns.push_back({"AGE", 1, true});
  return columns;
}

std::string colour_of(PressureLevel level) {
  if (level == PressureLevel::Critical) return kCritical;
  return level == PressureLevel::High ? kHigh : "";
}

// What one row says, by the names of the columns.
struct Cells {
  std::string gpu = "-", user, pid = "-", group, command, level = "-", used = "-", budget = "-", of_budget, peak = "-",
              refused = "-", age = "-";
  std::string colour;
};

Cells cells_of(const TableGroup& group, const ProcessTable& table) {
  Cells cells;
  const auto member = std::find_if(table.processes.begin(), table.processes.end(), [&](const TableProcess& process) {
    return process.uid == group.uid && process.group == group.name;
  });
  if (member != table.processes.end()) cells.user = member->user;
  cells.pid = "";
  cells.group = group.name;
  cells.command = "(" + std::to_string(group.processes) + " processes)";
  cells.level = to_string(group.level);
  cells.used = bytes_text(group.used_bytes);
  cells.budget = bytes_text(group.budget_bytes);
  cells.of_budget = bar(group.used_bytes, group.budget_bytes, kBarWidth);
  cells.refused = std::to_string(group.refused);
  cells.colour = colour_of(group.level);
  return cells;
}

void fill_in(const TableUse& use, const TableRow& row, Cells& cells) {
  cells.used = bytes_text(use.used_bytes);
  if (row.process->guarded != Guarded::Yes) return;
  cells.level = to_string(use.level);
  cells.budget = row.is_member() && use.budget_bytes != kStateUnknown ? "shared" : bytes_text(use.budget_bytes);
  cells.of_budget = bar(use.used_bytes, use.budget_bytes, kBarWidth);
  cells.peak = bytes_text(use.peak_bytes);
  cells.refused = std::to_string(use.refused);
  cells.colour = colour_of(use.level);
}

Cells cells_of(const TableRow& row, const ProcessTable& table) {
  const TableProcess& process = *row.process;
  Cells cells;
  cells.user = process.user.empty() ? "?" : process.user;
  if (process.pid) {
    cells.pid = std::to_string(*process.pid);
  } else if (process.own_pid) {
    cells.pid = "(" + std::to_string(*process.own_pid) + ")";  // of another pid namespace
  }
  cells.group = process.group;
  cells.command = (row.is_member() ? "  " : "") + (process.command.empty() ? "?" : process.command);
  if (process.guarded != Guarded::Yes) {
    cells.level = to_string(process.guarded);
    cells.colour = process.guarded == Guarded::No ? kUnguarded : kDim;
  }
  if (process.started_at_ms) cells.age = age_text(table.now_ms - *process.started_at_ms);
  if (row.use != nullptr) fill_in(*row.use, row, cells);
  return cells;
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) { return bytes == kStateUnknown ? "-" : format_bytes(bytes); }

std::string age_text(std::int64_t ms) {
  struct Unit {
    std::int64_t seconds;
    const char* name;
  };
  constexpr std::array<Unit, 3> kUnits{{{86'400, "d"}, {3'600, "h"}, {60, "m"}}};
  const std::int64_t seconds = std::max<std::int64_t>(ms / 1000, 0);
  for (const Unit& unit : kUnits) {
    if (seconds >= unit.seconds) return std::to_string(seconds / unit.seconds) + unit.name;
  }
  return std::to_string(seconds) + "s";
}

std::string bar(std::uint64_t part, std::uint64_t whole, std::size_t width) {
  if (width < 2) return {};
  const std::size_t room = width - 2;
  std::size_t full = 0;
  if (part != kStateUnknown && whole != kStateUnknown && whole != 0) {
    const double share = static_cast<double>(std::min(part, whole)) / static_cast<double>(whole);
    full = std::min(static_cast<std::size_t>(share * static_cast<double>(room) + 0.5), room);
  }
  return "[" + std::string(full, '#') + std::string(room - full, '-') + "]";
}

std::vector<std::string> table_lines(const ProcessTable& table, const TableView& view, const TextStyle& style,
                                     TableBars bars) {
  const bool groups = !table.groups.empty();
  std::vector<TextRow> rows;
  for (const TableRow& row : arrange(table, view)) {
    Cells cells = row.process == nullptr ? cells_of(*row.group, table) : cells_of(row, table);
    if (row.device != nullptr) cells.gpu = short_name(*row.device);
    TextRow text{{cells.gpu, cells.user, cells.pid}, cells.colour};
    if (groups) text.cells.push_back(row.is_member() ? "" : cells.group);
    text.cells.insert(text.cells.end(), {cells.command, cells.level, cells.used, cells.budget});
    if (bars == TableBars::OfBudget) text.cells.push_back(cells.of_budget);
    text.cells.insert(text.cells.end(), {cells.peak, cells.refused, cells.age});
    rows.push_back(std::move(text));
  }
  return lay_out(columns_with(groups, bars), rows, style);
}

}  // namespace vramguard
