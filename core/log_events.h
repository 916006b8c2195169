// Every event of the pressure log with its level and its fields; docs/pressure_log.md explains each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "core/guard_config.h"

namespace vramguard {

enum class Event : std::uint8_t {
  Start,
  Device,
  Context,
  Pressure,
  OomRefused,
  OomRecovered,
  OomReturned,
  HookStart,
  HookEnd,
  HookSkip,
  Checkpoint,
  Sentinel,
  Budget,
  KeptOnHost,
  ConfigError,
  Report,
  Exit,
  LogSuppressed,
  UnguardedSymbol,
  GuardError,
};

// Whether many records of one kind may be thinned out by the rate limit.
enum class Rate { Limited, Always };

struct EventInfo {
  std::string_view name;
  LogLevel level;  // unless the record says otherwise
  Rate rate;
  std::string_view fields;  // their names, with a space between

  constexpr bool has_field(std::string_view field) const {
    for (std::size_t at = fields.find(field); at != std::string_view::npos; at = fields.find(field, at + 1)) {
      const std::size_t end = at + field.size();
      if ((at == 0 || fields[at - 1] == ' ') && (end == fields.size() || fields[end] == ' ')) return !field.empty();
    }
    return false;
  }
};

// In the order of `Event`.
inline constexpr EventInfo kEvents[] = {
    {"start", LogLevel::Info, Rate::Always, "ver driver mode policy devices config group state"},
    {"device", LogLevel::Info, Rate::Always, "uuid pci total_bytes budget_bytes sentinel_bytes"},
    {"context", LogLevel::Info, Rate::Limited, "context_bytes source over_budget"},
    {"pressure", LogLevel::Warn, Rate::Limited,
     "from to scope free_bytes free_pct used_bytes budget_bytes device_free_bytes"},
    {"oom_refused", LogLevel::Warn, Rate::Limited, "api tid request_bytes short_bytes scope deferred observed"},
    {"oom_recovered", LogLevel::Info, Rate::Limited, "api tid request_bytes attempts hooks wait_ms by spilled_bytes"},
    {"oom_returned", LogLevel::Error, Rate::Limited,
     "api tid request_bytes short_bytes used_bytes group_used_bytes budget_bytes device_free_bytes scope policy "
     "attempts "
     "wait_ms "
     "reason hooks linear_bytes physical_bytes pool_bytes graph_bytes array_bytes context_bytes sentinel_bytes"},
    {"hook_start", LogLevel::Info, Rate::Limited, "hook run reason level timeout_ms"},
    {"hook_end", LogLevel::Info, Rate::Limited,
     "hook run outcome code duration_ms reason freed_bytes estimated_bytes hook_pid output"},
    {"hook_skip", LogLevel::Info, Rate::Limited, "hook reason overhead_bytes headroom_bytes"},
    {"checkpoint", LogLevel::Warn, Rate::Always, "by outcome code duration_ms reason output"},
    {"sentinel", LogLevel::Info, Rate::Limited, "state sentinel_bytes wanted_bytes device_free_bytes"},
    {"budget", LogLevel::Info, Rate::Always, "old_bytes new_bytes over_bytes"},
    {"kept_on_host", LogLevel::Info, Rate::Limited, "api request_bytes free_bytes"},
    {"config_error", LogLevel::Error, Rate::Limited, "file line col key suggest message action"},
    {"report", LogLevel::Info, Rate::Limited,
     "level used_bytes peak_bytes budget_bytes free_bytes device_free_bytes allocations refused recovered "
     "hooks_run"},
    {"exit", LogLevel::Info, Rate::Always,
     "peak_bytes refused recovered hooks_run hooks_failed sentinel_outrun log_dropped"},
    {"log_suppressed", LogLevel::Warn, Rate::Always, "records window_ms"},
    {"unguarded_symbol", LogLevel::Warn, Rate::Limited, "name"},
    {"guard_error", LogLevel::Error, Rate::Limited, "where message"},
};
static_assert(std::size(kEvents) == static_cast<std::size_t>(Event::GuardError) + 1);

constexpr const EventInfo& info_of(Event event) { return kEvents[static_cast<std::size_t>(event)]; }

// The keys that start every record, `dev` only where the record concerns one device; and the one that may end it.
inline constexpr std::array<std::string_view, 7> kCommonLogKeys{"ts", "lvl", "ev", "pid", "comm", "seq", "dev"};
inline constexpr std::string_view kCutLogKey = "cut";

// The name of a field. One that no event has does not compile.
class LogKey {
 public:
  template <std::size_t N>
  consteval LogKey(const char (&name)[N]) : name_(name), size_(N - 1) {
    for (const EventInfo& info : kEvents) {
      if (info.has_field({name, N - 1})) return;
    }
    throw "no event of core/log_events.h has a field of this name";
  }

  constexpr const char* data() const { return name_; }
  constexpr std::uint8_t size() const { return size_; }

 private:
  const char* name_;  // a string literal
  std::uint8_t size_;
};

}  // namespace vramguard
