#include "cli/recent_records.h"

#include "core/state/state_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace vramguard {
namespace {

// Of a record in either format: it begins with ts=TIME or {"ts":"TIME".
std::string time_of(std::string_view record) {
  const std::string_view start = record.starts_with('{') ? "{\"ts\":\"" : "ts=";
  constexpr std::size_t kLength = 24;  // 2026-09-20T14:03:07.412Z
  return std::string(record.starts_with(start) ? record.substr(start.size(), kLength) : std::string_view());
}

}  // namespace

std::vector<std::string> recent_records(const SeenProcesses& seen) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const SeenProcess& process : seen.processes) {
    const std::uint64_t last = process.state.last_record;
    const std::uint64_t first = last > kStateRecords ? last - kStateRecords + 1 : 1;
    for (std::uint64_t number = first; number <= last && number != 0; ++number) {
      const RecordState& record = process.state.records[(number - 1) % kStateRecords];
      if (record.number != number || record.number_again != number) continue;
      std::string text = state_text(record.text);
      if (text.ends_with('\n')) text.pop_back();
      std::string time = time_of(text);
      found.emplace_back(std::move(time), printable(std::move(text)));
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> records;
  for (auto& [time, text] : found) records.push_back(std::move(text));
  return records;
}

}  // namespace vramguard
