#include "cli/log/gaps.h"

#include "core/state/state_reader.h"

namespace vramguard {

void LogGaps::see(std::size_t log, const LogHead& head) {
  const Key key{log, head.pid};
  auto [found, fresh] = processes_.try_emplace(key);
  Process& process = found->second;
  if (!fresh && head.seq == 1) {  // another process has got the number
    end(key, process);
    process = {};
  }
  if (process.last > 0 && head.seq <= process.last) process.shared = true;
  if (process.last > 0 && head.seq > process.last + 1) process.missing += head.seq - process.last - 1;
  process.last = head.seq;
  process.comm = head.comm;
  if (head.event != "exit") return;
  end(key, process);
  processes_.erase(found);
}

void LogGaps::end(const Key& key, const Process& process) {
  if (std::string text = in_words(key, process); !text.empty()) ended_.push_back(std::move(text));
}

std::string LogGaps::in_words(const Key& key, const Process& process) {
  if (process.missing == 0 || process.shared) return "";
  const bool one = process.missing == 1;
  return std::to_string(process.missing) + (one ? " record of " : " records of ") + printable(process.comm) + " (" +
         std::to_string(key.second) + ") " + (one ? "is" : "are") + " missing: lost when " +
         (one ? "it was" : "they were") + " to be written, or gone with a file";
}

std::vector<std::string> LogGaps::in_words() const {
  std::vector<std::string> all = ended_;
  for (const auto& [key, process] : processes_) {
    if (std::string text = in_words(key, process); !text.empty()) all.push_back(std::move(text));
  }
  return all;
}

}  // namespace vramguard
