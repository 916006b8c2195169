#include "config/keys.h"

#include "config/choice.h"
#include "config/shell_command.h"
#include "config/signal_text.h"

#include <utility>

namespace vramguard {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestWait = std::chrono::minutes(10);
constexpr std::string_view kSignalPrefix = "signal:";
constexpr std::size_t kLongestGroup = 64;
constexpr std::string_view kGroupCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

Size size_or_none(const Value& value) {
  const auto* size = std::get_if<Size>(&value);
  return size == nullptr ? Size{Bytes{0}} : *size;
}

std::optional<Bytes> cap_of(const Value& value) {
  const auto* word = std::get_if<std::string>(&value);
  if (word != nullptr && *word == "unlimited") return std::nullopt;
  return bytes_or_none(value);
}

std::string no_time_at_all(const Value& value) {
  return std::get<milliseconds>(value).count() > 0 ? "" : "is no time at all; write a duration such as 5s";
}

std::string too_long_a_wait(const Value& value) {
  if (std::get<milliseconds>(value) > kLongestWait) return "is longer than 10m, the longest that a request may wait";
  return no_time_at_all(value);
}

std::string bad_checkpoint(const Value& value) {
  const std::string_view text = std::get<std::string>(value);
  if (text.find('\0') != std::string_view::npos) return "has a NUL character in it; a command cannot";
  if (!text.starts_with(kSignalPrefix)) return "";
  auto signal = read_signal(text.substr(kSignalPrefix.size()));
  auto* wrong = std::get_if<std::string>(&signal);
  return wrong == nullptr ? "" : std::move(*wrong);
}

// A group's name is part of file names; "" is no group.
std::string bad_group(const Value& value) {
  const std::string_view name = std::get<std::string>(value);
  const bool good = name.size() <= kLongestGroup && !name.starts_with('.') &&
                    name.find_first_not_of(kGroupCharacters) == std::string_view::npos;
  return good ? "" : "is no name of a group: 1 to 64 of A-Z a-z 0-9 . _ -, the first no dot";
}

void store_checkpoint(GuardConfig& config, const Value& value) {
  const auto& text = std::get<std::string>(value);
  config.oom.checkpoint.clear();
  config.oom.checkpoint_signal.reset();
  if (text.starts_with(kSignalPrefix)) {
    const auto signal = read_signal(std::string_view(text).substr(kSignalPrefix.size()));
    if (const int* number = std::get_if<int>(&signal)) config.oom.checkpoint_signal = SignalAction{*number};
  } else if (!text.empty()) {
    config.oom.checkpoint = shell_command(text);
  }
}

using enum KeyType;
constexpr auto kNothing = nullptr;

// clang-format off
constexpr Key kKeys[] = {
  {"", "schema", Schema, "1", "", "", false, kNothing},
  {"", "budget", Amount, "unlimited", "", "VRAMGUARD_BUDGET", false,
   [](GuardConfig& c, const Value& v) { c.budget = std::get<Size>(v); }},
  {"", "oom_policy", Choice, "fail", "fail|retry-after-free|wait-and-retry|checkpoint-and-fail|spill", "VRAMGUARD_POLICY", false,
   [](GuardConfig& c, const Value& v) { c.oom.policy = choice<OomPolicy>(v, kPolicyWords); }},
  {"", "sentinel", ByteCount, "none", "none|all", "VRAMGUARD_SENTINEL", false,
   [](GuardConfig& c, const Value& v) { c.sentinel = sentinel_of(v); }},
  {"", "sentinel_required", Boolean, "false", "", "VRAMGUARD_SENTINEL_REQUIRED", false,
   [](GuardConfig& c, const Value& v) { c.sentinel_required = std::get<bool>(v); }},
  {"", "leave_free", Share, "none", "none", "VRAMGUARD_LEAVE_FREE", false,
   [](GuardConfig& c, const Value& v) { c.leave_free = size_or_none(v); }},
  {"", "mode", Choice, "enforce", "enforce|observe", "VRAMGUARD_MODE", false,
   [](GuardConfig& c, const Value& v) { c.mode = choice<Mode>(v, kModeWords); }},
  {"", "group", Text, "", "", "VRAMGUARD_GROUP", false,
   [](GuardConfig& c, const Value& v) { c.group = std::get<std::string>(v); }, bad_group},
  {"", "virtualize", Choice, "all", "all|cuda|none", "VRAMGUARD_VIRTUALIZE", false,
   [](GuardConfig& c, const Value& v) { c.virtualize = choice<Virtualize>(v, kVirtualizeWords); }},
  {"", "managed", Choice, "host", "host|count|ignore", "VRAMGUARD_MANAGED", false,
   [](GuardConfig& c, const Value& v) { c.managed = choice<Managed>(v, kManagedWords); }},
  {"", "host_pinned", Amount, "unlimited", "", "VRAMGUARD_HOST_PINNED", false,
   [](GuardConfig& c, const Value& v) { c.host_pinned = std::get<Size>(v); }},

  {"pressure", "scope", Choice, "budget", "budget|device|worst", "VRAMGUARD_PRESSURE_SCOPE", false,
   [](GuardConfig& c, const Value& v) { c.pressure.scope = choice<PressureScope>(v, kScopeWords); }},
  {"pressure", "low", KeyType::Threshold, "30%", "", "VRAMGUARD_PRESSURE_LOW", false,
   [](GuardConfig& c, const Value& v) { c.pressure.low = std::get<vramguard::Threshold>(v); }},
  {"pressure", "medium", KeyType::Threshold, "10%", "", "VRAMGUARD_PRESSURE_MEDIUM", false,
   [](GuardConfig& c, const Value& v) { c.pressure.medium = std::get<vramguard::Threshold>(v); }},
  {"pressure", "high", KeyType::Threshold, "5%", "", "VRAMGUARD_PRESSURE_HIGH", false,
   [](GuardConfig& c, const Value& v) { c.pressure.high = std::get<vramguard::Threshold>(v); }},
  {"pressure", "watch_card", Boolean, "true", "", "VRAMGUARD_PRESSURE_WATCH_CARD", false,
   [](GuardConfig& c, const Value& v) { c.pressure.watch_card = std::get<bool>(v); }},

  {"oom", "defer_first_refusal", Choice, "auto", "auto|never|always", "VRAMGUARD_OOM_DEFER_FIRST_REFUSAL", false,
   [](GuardConfig& c, const Value& v) { c.oom.defer_first_refusal = choice<Defer>(v, kDeferWords); }},
  {"oom", "deadline", Duration, "5s", "", "VRAMGUARD_OOM_DEADLINE", false,
   [](GuardConfig& c, const Value& v) { c.oom.deadline = std::get<milliseconds>(v); }, no_time_at_all},
  {"oom", "wait_timeout", Duration, "30s", "", "VRAMGUARD_OOM_WAIT_TIMEOUT", false,
   [](GuardConfig& c, const Value& v) { c.oom.wait_timeout = std::get<milliseconds>(v); }, too_long_a_wait},
  {"oom", "checkpoint", Text, "", "", "", true, store_checkpoint, bad_checkpoint},
  {"oom", "checkpoint_timeout", Duration, "120s", "", "VRAMGUARD_OOM_CHECKPOINT_TIMEOUT", false,
   [](GuardConfig& c, const Value& v) { c.oom.checkpoint_timeout = std::get<milliseconds>(v); }, no_time_at_all},
  {"oom", "spill_limit", Share, "25%", "", "VRAMGUARD_OOM_SPILL_LIMIT", false,
   [](GuardConfig& c, const Value& v) { c.oom.spill_limit = std::get<Size>(v); }},

  {"hooks", "enabled", Boolean, "true", "", "VRAMGUARD_HOOKS_ENABLED", false,
   [](GuardConfig& c, const Value& v) { c.hooks_enabled = std::get<bool>(v); }},
  {"hooks", "timeout", Duration, "10s", "", "VRAMGUARD_HOOKS_TIMEOUT", false, kNothing, no_time_at_all},
  {"hooks", "cooldown", Duration, "15s", "", "VRAMGUARD_HOOKS_COOLDOWN", false, kNothing},

  {"log", "target", Choice, "file", "file|stderr|none", "VRAMGUARD_LOG_TARGET", false,
   [](GuardConfig& c, const Value& v) { c.log.target = choice<LogTarget>(v, kLogTargetWords); }},
  {"log", "path", Text, "", "", "VRAMGUARD_LOG", false,
   [](GuardConfig& c, const Value& v) { c.log.path = std::get<std::string>(v); }},
  {"log", "format", Choice, "logfmt", "logfmt|json", "VRAMGUARD_LOG_FORMAT", false,
   [](GuardConfig& c, const Value& v) { c.log.format = choice<LogFormat>(v, kLogFormatWords); }},
  {"log", "level", Choice, "info", "error|warn|info|debug", "VRAMGUARD_LOG_LEVEL", false,
   [](GuardConfig& c, const Value& v) { c.log.level = choice<LogLevel>(v, kLogLevelWords); }},
  {"log", "report_every", Duration, "0s", "", "VRAMGUARD_LOG_REPORT_EVERY", false,
   [](GuardConfig& c, const Value& v) { c.log.report_every = std::get<milliseconds>(v); }},
};

constexpr Key kGpuKeys[] = {
  {"gpu", "budget", Amount, "unlimited", "", "", false, kNothing},
  {"gpu", "sentinel", ByteCount, "none", "none|all", "", false, kNothing},
};

constexpr Key kHookKeys[] = {
  {"hook", "name", Text, "", "", "", true, kNothing},
  {"hook", "on", Choice, "", "pressure|oom|oom-returned|budget", "", true, kNothing},
  {"hook", "at", Choice, "", "low|medium|high|critical", "", true, kNothing},
  {"hook", "mode", Choice, "every", "every|once", "", true, kNothing},
  {"hook", "shell", Text, "", "", "", true, kNothing},
  {"hook", "argv", TextList, "", "", "", true, kNothing},
  {"hook", "signal", Text, "", "", "", true, kNothing},
  {"hook", "target", Choice, "self", "self|parent|group", "", true, kNothing},
  {"hook", "require_handler", Boolean, "true", "", "", true, kNothing},
  {"hook", "priority", Integer, "0", "", "", true, kNothing},
  {"hook", "estimated_free", ByteCount, "none", "none", "", true, kNothing},
  {"hook", "overhead", ByteCount, "none", "none", "", true, kNothing},
  {"hook", "timeout", Duration, "10s", "", "", true, kNothing, no_time_at_all},
  {"hook", "cooldown", Duration, "15s", "", "", true, kNothing},
};

constexpr Key kLimitKeys[] = {
  {"", "schema", Schema, "1", "", "", false, kNothing},
  {"", "max_budget", Amount, "unlimited", "", "", false,
   [](GuardConfig& c, const Value& v) { c.max_budget = std::get<Size>(v); }},
  {"", "max_sentinel", ByteCount, "unlimited", "none|unlimited", "", false,
   [](GuardConfig& c, const Value& v) { c.max_sentinel = cap_of(v); }},
  {"", "hooks", Boolean, "true", "", "", false, kNothing},
};

constexpr std::string_view kOtherVariables[] = {
  "VRAMGUARD_CONFIG", "VRAMGUARD_ON_ERROR", "VRAMGUARD_QUIET", "VRAMGUARD_STATE_DIR",
};
// clang-format on

}  // namespace

std::span<const Key> all_keys() noexcept { return kKeys; }
std::span<const Key> gpu_keys() noexcept { return kGpuKeys; }
std::span<const Key> hook_keys() noexcept { return kHookKeys; }
std::span<const Key> limit_keys() noexcept { return kLimitKeys; }
std::span<const std::string_view> other_variables() noexcept { return kOtherVariables; }

std::string full_name(const Key& key) {
  return key.section.empty() ? std::string(key.name) : std::string(key.section) + "." + std::string(key.name);
}

}  // namespace vramguard
