#include "cli/top_screen.h"

#include "cli/table_text.h"

#include <algorithm>
#include <cstddef>
#include <ctime>

namespace vramguard {
namespace {

constexpr std::size_t kBarWidth = 26;
constexpr std::size_t kMostRecords = 8;
constexpr char kTitle[] = "7";  // reversed

std::string time_of_day(std::int64_t ms) {
  const std::time_t seconds = ms / 1000;
  std::tm local{};
  char text[16] = "";
  if (localtime_r(&seconds, &local) != nullptr) std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

std::size_t count(const ProcessTable& table, Guarded guarded) {
  return static_cast<std::size_t>(
      std::count_if(table.processes.begin(), table.processes.end(),
                    [&](const TableProcess& process) { return process.guarded == guarded; }));
}

std::string title_of(const ProcessTable& table, const TopView& view) {
  std::string title = "vramguard " + time_of_day(table.now_ms) + "  " + std::to_string(count(table, Guarded::Yes)) +
                      " guarded, " + std::to_string(count(table, Guarded::No)) + " unguarded, " +
                      std::to_string(count(table, Guarded::Unknown)) + " unknown";
  if (table.nvml == NvmlAnswer::Stuck) title += "  NVML does not answer";
  if (table.nvml == NvmlAnswer::Failed) title += "  NVML fails";
  return title + "  [q]uit [s]ort: " + to_string(view.table.order) + " [g]roups [l]og";
}

// '#' guarded, '+' all others, '-' free.
std::string card_bar(const TableDevice& device, std::size_t width) {
  if (device.total_bytes == kStateUnknown || device.total_bytes == 0 || device.free_bytes == kStateUnknown)
    return bar(kStateUnknown, kStateUnknown, width);
  const std::uint64_t used = device.total_bytes - std::min(device.free_bytes, device.total_bytes);
  std::string text = bar(used, device.total_bytes, width);
  const std::string guarded = bar(std::min(device.guarded_bytes, used), device.total_bytes, width);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#' && guarded[i] != '#') text[i] = '+';
  }
  return text;
}

std::string line_of(const TableDevice& device) {
  std::string line = (device.index ? "GPU " : "") + short_name(device) + " " + card_bar(device, kBarWidth) + " ";
  if (device.total_bytes != kStateUnknown && device.free_bytes != kStateUnknown) {
    const std::uint64_t used = device.total_bytes - std::min(device.free_bytes, device.total_bytes);
    line += bytes_text(used) + " of " + bytes_text(device.total_bytes) + "  ";
  }
  return line + "guarded " + bytes_text(device.guarded_bytes) + "  others " + bytes_text(device.unguarded_bytes) +
         "  " + device.name;
}

}  // namespace

std::vector<std::string> draw_top(const ProcessTable& table, const TopView& view, TerminalSize size, bool colour) {
  const TextStyle style{size.columns, colour};
  std::vector<std::string> processes = table_lines(table, view.table, style, TableBars::OfBudget);
  const std::size_t devices = table.devices.size();
  std::size_t records = view.records ? std::min(table.records.size(), kMostRecords) : 0;

  // Titles and one process come first, then cards, then processes; records get what is left, but at least two.
  std::size_t left = size.rows;
  const auto take = [&left](std::size_t wanted) {
    const std::size_t taken = std::min(wanted, left);
    left -= taken;
    return taken;
  };
  const std::size_t title_lines = take(1);
  std::size_t process_lines = take(std::min<std::size_t>(processes.size(), 2));
  const std::size_t device_lines = take(devices);
  const std::size_t kept = left > 6 ? std::min<std::size_t>(records, 2) : 0;
  left -= kept;
  process_lines += take(processes.size() - process_lines);
  left += kept;
  records = std::min(records, left > 1 ? left - 1 : 0);

  std::vector<std::string> lines;
  if (title_lines != 0) lines.push_back(coloured(cut_text(title_of(table, view), size.columns), kTitle, style));
  for (std::size_t i = 0; i < device_lines; ++i) lines.push_back(cut_text(line_of(table.devices[i]), size.columns));
  lines.insert(lines.end(), processes.begin(), processes.begin() + static_cast<std::ptrdiff_t>(process_lines));
  if (records != 0) {
    lines.emplace_back();
    for (std::size_t i = table.records.size() - records; i < table.records.size(); ++i)
      lines.push_back(cut_text(table.records[i], size.columns));
  }
  return lines;
}

bool obey_key(char key, TopView& view) {
  switch (key) {
    case 'q':
      return false;
    case 's':
      view.table.order = view.table.order == TableOrder::Used   ? TableOrder::Room
                         : view.table.order == TableOrder::Room ? TableOrder::Pid
                                                                : TableOrder::Used;
      return true;
    case 'g':
      view.table.grouped = !view.table.grouped;
      return true;
    case 'l':
      view.records = !view.records;
      return true;
    default:
      return true;
  }
}

}  // namespace vramguard
