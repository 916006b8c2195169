#include "cli/log_command.h"

#include "cli/exit_status.h"
#include "cli/log/gaps.h"
#include "cli/log/merge.h"
#include "cli/log/output.h"
#include "cli/log/places.h"
#include "cli/log/since.h"
#include "cli/problem.h"
#include "core/errno_text.h"

#include <CLI/CLI.hpp>

#include <sys/resource.h>

#include <deque>
#include <memory>
#include <string>

namespace vramguard {
namespace {

constexpr std::size_t kLinesBeforeFollowing = 10;  // as tail -f
constexpr std::size_t kMostLines = 100'000;        // they are kept in memory
constexpr int kPollMs = 200;
constexpr int kPollsBetweenPlaces = 5;

// Each log takes up to four descriptors.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Shows what the filter lets through, at once or only the last lines of it.
class Shown {
 public:
  Shown(const LogFilter& filter, std::optional<std::size_t> lines) : filter_(filter), lines_(lines) {}

  void see(const MergedLine& line) {
    if (line.head && filter_.concerns(*line.head)) gaps_.see(line.log, *line.head);
    if (line.head ? !filter_.shows(*line.head) : !filter_.shows_all()) return;
    if (!lines_) return output_.put(line.text);
    kept_.emplace_back(line.text);
    if (kept_.size() > *lines_) kept_.pop_front();
  }

  // From here on everything is shown at once.
  void show_kept() {
    for (const std::string& line : kept_) output_.put(line);
    kept_.clear();
    lines_.reset();
    output_.flush();
  }

  LineOutput& output() { return output_; }
  const LogGaps& gaps() const { return gaps_; }

 private:
  const LogFilter& filter_;
  std::optional<std::size_t> lines_;
  LineOutput output_;
  LogGaps gaps_;
  std::deque<std::string> kept_;
};

// True when nothing went wrong.
bool add_places(LogMerge& merge, const std::vector<LogPlace>& places) {
  bool good = true;
  for (const LogPlace& place : places) {
    const std::string problem = merge.add(place);
    if (!problem.empty()) print_warning(problem);
    good = good && problem.empty();
  }
  return good;
}

void say_that_there_is_none(const LogMerge& merge, const ConfiguredLog& configured) {
  std::string places;
  for (const std::string& path : merge.paths()) places += (places.empty() ? " at " : ", ") + path;
  std::string message = "there is no log yet" + places;
  if (!configured.nowhere.empty()) message += ": " + configured.nowhere;
  print_warning(message);
}

int end_of(const LineOutput& output, int status) {
  if (output.error() == 0) return status;
  print_error("standard output: " + errno_text(output.error()));
  return kVramguardFailed;
}

int follow(LogMerge& merge, Shown& shown) {
  for (int polls = 1; !shown.output().ended(); ++polls) {
    shown.output().wait(kPollMs);
    if (polls % kPollsBetweenPlaces == 0) {
      add_places(merge, configured_log().places);
      add_places(merge, logs_of_processes());
    }
    merge.look_again(std::chrono::steady_clock::now());
    while (const auto line = merge.next(false)) shown.see(*line);
    shown.output().flush();
  }
  return end_of(shown.output(), 0);
}

}  // namespace

int show_log(const LogOptions& options) {
  WallTime since = WallTime::min();
  if (!options.selection.since.empty()) {
    const auto parsed = parse_since(options.selection.since, std::chrono::system_clock::now());
    if (const auto* objection = std::get_if<std::string>(&parsed)) {
      print_error("--since: " + *objection);
      return kVramguardFailed;
    }
    since = std::get<WallTime>(parsed);
  }
  if (const auto objection = objection_to(options.selection)) {
    print_error(*objection);
    return kVramguardFailed;
  }

  allow_many_files();
  LogMerge merge(since);
  const ConfiguredLog configured = configured_log();
  bool good = add_places(merge, configured.places);
  good = add_places(merge, logs_of_processes()) && good;
  if (merge.empty() && good) say_that_there_is_none(merge, configured);

  const LogFilter filter(options.selection, options.selection.since.empty() ? "" : log_time(since));
  auto lines = options.lines;
  if (!lines && options.follow && options.selection.since.empty()) lines = kLinesBeforeFollowing;
  Shown shown(filter, lines);
  while (const auto line = merge.next(!options.follow)) {
    shown.see(*line);
    if (shown.output().ended()) return end_of(shown.output(), 0);
  }
  shown.show_kept();
  if (options.follow) return follow(merge, shown);
  for (const std::string& gap : shown.gaps().in_words()) print_warning(gap);
  return end_of(shown.output(), good ? 0 : 1);
}

void add_log(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* log = app.add_subcommand("log", "Show the pressure logs of all guarded processes, by time");
  log->add_flag("-f,--follow", options->follow, "Go on with what comes; starts with the last 10 records");
  log->add_option("-n,--lines", options->lines, "Only the last N records of what is there")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{0}, kMostLines));
  log->add_option("-p,--pid", options->selection.pids, "Only these processes, by the number that the log gives them")
      ->type_name("PID")
      ->delimiter(',')
      ->allow_extra_args(false);
  log->add_option("--ev", options->selection.events, "Only these events: pressure,oom_returned")
      ->type_name("EVENT")
      ->delimiter(',')
      ->allow_extra_args(false);
  log->add_option("--level", options->selection.level, "Only records of this level and worse: error, warn, info, debug")
      ->type_name("LEVEL");
  log->add_option("--since", options->selection.since, "10m, 2h, 3d, 12:30, 2026-11-30 or 2026-11-30T12:00:00Z")
      ->type_name("TIME");
  log->footer(
      "Reads the log of the configuration and those that guarded processes name, with the files that they were "
      "rotated\n"
      "into. Records are shown as they were written. What is missing, by the records' numbers, is said at the end.");
  log->callback([&chosen, options] { chosen = [options] { return show_log(*options); }; });
}

}  // namespace vramguard
