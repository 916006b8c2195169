#include "cli/log/filter.h"

#include "config/choice.h"
#include "config/nearest_name.h"

#include "core/log_events.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vramguard {
namespace {

std::size_t rank(std::string_view level) {
  const auto word = std::find(kLogLevelWords.begin(), kLogLevelWords.end(), level);
  return static_cast<std::size_t>(word - kLogLevelWords.begin());
}

template <typename List, typename Value>
bool contains(const List& list, const Value& value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// `names`: all that there are.
std::optional<std::string> unknown(const std::string& kind, const std::string& name,
                                   const std::vector<std::string_view>& names) {
  if (contains(names, name)) return std::nullopt;
  const std::string message = "there is no " + kind + " '" + name + "'; ";
  if (const auto nearest = nearest_name(name, names); !nearest.empty())
    return message + "did you mean '" + std::string(nearest) + "'?";
  std::string all;
  for (const std::string_view known : names) all += (all.empty() ? "" : ", ") + std::string(known);
  return message + "there are " + all;
}

}  // namespace

LogFilter::LogFilter(const LogSelection& selection, std::string since)
    : pids_(selection.pids),
      events_(selection.events),
      level_(selection.level.empty() ? kLogLevelWords.size() : rank(selection.level)),
      since_(std::move(since)) {}

bool LogFilter::concerns(const LogHead& head) const {
  return head.ts >= since_ && (pids_.empty() || contains(pids_, head.pid));
}

bool LogFilter::shows(const LogHead& head) const {
  return concerns(head) && (events_.empty() || contains(events_, head.event)) && rank(head.level) <= level_;
}

bool LogFilter::shows_all() const {
  return pids_.empty() && events_.empty() && level_ == kLogLevelWords.size() && since_.empty();
}

std::optional<std::string> objection_to(const LogSelection& selection) {
  std::vector<std::string_view> events;
  for (const EventInfo& event : kEvents) events.push_back(event.name);
  for (const std::string& event : selection.events) {
    if (auto objection = unknown("event", event, events)) return "--ev: " + *objection;
  }
  if (selection.level.empty()) return std::nullopt;
  auto objection = unknown("level", selection.level, {kLogLevelWords.begin(), kLogLevelWords.end()});
  return objection ? std::optional("--level: " + *objection) : std::nullopt;
}

}  // namespace vramguard
