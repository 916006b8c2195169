#include "core/state/totals_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

#include "core/state/series.h"

namespace vramguard {
namespace {

constexpr std::string_view kAnyHeader = "vramguard totals ", kHeader = "vramguard totals 1";
constexpr std::string_view kFolds = "folds ", kFolded = "folded ";
constexpr std::size_t kMostBytes = std::size_t{4} << 20;

std::string path_of(const std::string& folder) { return folder + "/" + kTotalsFile; }
std::string hidden_path_of(const std::string& folder) { return folder + "/." + kTotalsFile; }

std::string content_of_file(const std::string& path, uid_t owner) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return {};
  struct stat info {};
  std::string text;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == owner && info.st_size > 0) {
    text.resize(std::min(static_cast<std::size_t>(info.st_size), kMostBytes));
    std::size_t have = 0;
    while (have < text.size()) {
      const ssize_t size = read(fd, text.data() + have, text.size() - have);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) break;
      have += static_cast<std::size_t>(size);
    }
    text.resize(have);
  }
  close(fd);
  return text;
}

bool write_all(int fd, std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t size = write(fd, text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return true;
}

// The whole of `text`.
std::optional<std::uint64_t> number_in(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// Of a file in the folder itself.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string_view::npos && name.size() < 200;
}

void read_line(std::string_view line, Totals& totals) {
  if (line.starts_with(kFolds)) {
    totals.folds = number_in(line.substr(kFolds.size())).value_or(0);
  } else if (line.starts_with(kFolded)) {
    line.remove_prefix(kFolded.size());
    if (is_plain_name(line) && totals.folded.size() < Totals::kLastFolded) totals.folded.emplace_back(line);
  } else if (const std::size_t space = line.rfind(' '); space != std::string_view::npos) {
    const std::string_view series = line.substr(0, space);
    const std::optional<std::uint64_t> value = number_in(line.substr(space + 1));
    if (value && totals.sums.size() < Totals::kMostSeries && parse_series(series))
      totals.sums.emplace_back(series, *value);
  }
}

bool names_a_workload(const std::string& series) {
  const auto has = [&](const char* label) { return series.find(label) != std::string::npos; };
  return has("pod=\"") || has("container=\"") || has("slurm_job=\"");
}

void drop(std::size_t count, std::vector<std::pair<std::string, std::uint64_t>>& sums, bool workloads_only) {
  std::erase_if(sums, [&](const auto& sum) {
    if (count == 0 || (workloads_only && !names_a_workload(sum.first))) return false;
    --count;
    return true;
  });
}

std::string text_of(const Totals& totals) {
  std::string text = std::string(kHeader) + '\n' + std::string(kFolds) + std::to_string(totals.folds) + '\n';
  for (const std::string& name : totals.folded) text += std::string(kFolded) + name + '\n';
  for (const auto& [series, value] : totals.sums) text += series + ' ' + std::to_string(value) + '\n';
  return text;
}

}  // namespace

bool Totals::has_folded(const std::string& name) const {
  return std::find(folded.begin(), folded.end(), name) != folded.end();
}

void Totals::add(const std::string& name, const Counters& counts) {
  std::vector<std::pair<std::string, std::uint64_t>> touched;
  Counters left;
  for (const auto& [series, value] : counts) {
    if (value != 0) left.emplace(series, value);
  }
  std::erase_if(sums, [&](const auto& sum) {
    const auto found = left.find(sum.first);
    if (found == left.end()) return false;
    touched.emplace_back(sum.first, added(sum.second, found->second));
    left.erase(found);
    return true;
  });
  std::copy(left.begin(), left.end(), std::back_inserter(touched));
  sums.insert(sums.end(), std::make_move_iterator(touched.begin()), std::make_move_iterator(touched.end()));
  for (const bool workloads_only : {true, false})
    drop(sums.size() - std::min(sums.size(), kMostSeries), sums, workloads_only);

  ++folds;
  folded.push_back(name);
  while (folded.size() > kLastFolded) folded.pop_front();
}

Totals read_totals_file(const std::string& folder, uid_t owner) {
  const std::string text = content_of_file(path_of(folder), owner);
  Totals totals;
  std::string_view rest = text;
  bool known = false;
  for (std::size_t end; (end = rest.find('\n')) != std::string_view::npos; rest.remove_prefix(end + 1)) {
    const std::string_view line = rest.substr(0, end);
    if (known) {
      read_line(line, totals);
    } else if (line == kHeader) {
      known = true;
    } else {
      totals.of_another_version = line.starts_with(kAnyHeader);
      break;
    }
  }
  return totals;
}

bool write_hidden_totals(const std::string& folder, const Totals& totals) noexcept try {
  const std::string path = hidden_path_of(folder);
  unlink(path.c_str());  // of a process that was stopped while it wrote
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return false;
  bool written = write_all(fd, text_of(totals)) && fchmod(fd, 0644) == 0;  // whatever the program's umask
  if (close(fd) != 0) written = false;
  if (!written) unlink(path.c_str());
  return written;
} catch (...) {
  return false;
}

bool publish_totals(const std::string& folder) noexcept try {
  return rename(hidden_path_of(folder).c_str(), path_of(folder).c_str()) == 0;
} catch (...) {
  return false;
}

}  // namespace vramguard
