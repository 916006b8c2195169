#include "config/keys.h"

#include <array>

namespace vramguard {
namespace {

template <typename Enum, std::size_t N>
Enum choice(const Value& value, const std::array<std::string_view, N>& words) {
  std::size_t index = 0;
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i] == std::get<std::string>(value)) index = i;
  }
  return static_cast<Enum>(index);
}

// The words of an enumeration, in the order of its enumerators.
constexpr std::array<std::string_view, 3> kVirtualize{"all", "cuda", "none"};
constexpr std::array<std::string_view, 3> kManaged{"host", "count", "ignore"};
constexpr std::array<std::string_view, 3> kScope{"budget", "device", "worst"};
constexpr std::array<std::string_view, 3> kTarget{"file", "stderr", "none"};
constexpr std::array<std::string_view, 2> kFormat{"logfmt", "json"};
constexpr std::array<std::string_view, 4> kLevel{"error", "warn", "info", "debug"};

using std::chrono::milliseconds;
using enum KeyType;
constexpr Built Yes = Built::Yes;
constexpr Built DefaultOnly = Built::DefaultOnly;
constexpr auto kNothing = nullptr;

// clang-format off
constexpr Key kKeys[] = {
  {"", "schema", Schema, "1", "", Yes, "", "", false, kNothing},
  {"", "budget", Amount, "unlimited", "", Yes, "", "VRAMGUARD_BUDGET", false,
   [](GuardConfig& c, const Value& v) { c.budget = std::get<Size>(v); }},
  {"", "oom_policy", Choice, "fail", "fail|retry-after-free|wait-and-retry|checkpoint-and-fail|spill", DefaultOnly, "", "VRAMGUARD_POLICY", false, kNothing},
  {"", "sentinel", Amount, "none", "none|all", DefaultOnly, "", "VRAMGUARD_SENTINEL", false, kNothing},
  {"", "sentinel_required", Boolean, "false", "", DefaultOnly, "", "VRAMGUARD_SENTINEL_REQUIRED", false, kNothing},
  {"", "leave_free", Amount, "none", "none", DefaultOnly, "", "VRAMGUARD_LEAVE_FREE", false, kNothing},
  {"", "mode", Choice, "enforce", "enforce|observe", DefaultOnly, "", "VRAMGUARD_MODE", false, kNothing},
  {"", "group", Text, "", "", DefaultOnly, "", "VRAMGUARD_GROUP", false, kNothing},
  {"", "virtualize", Choice, "all", "all|cuda|none", Yes, "", "VRAMGUARD_VIRTUALIZE", false,
   [](GuardConfig& c, const Value& v) { c.virtualize = choice<Virtualize>(v, kVirtualize); }},
  {"", "managed", Choice, "host", "host|count|ignore", Yes, "", "VRAMGUARD_MANAGED", false,
   [](GuardConfig& c, const Value& v) { c.managed = choice<Managed>(v, kManaged); }},
  {"", "host_pinned", Amount, "unlimited", "", Yes, "", "VRAMGUARD_HOST_PINNED", false,
   [](GuardConfig& c, const Value& v) { c.host_pinned = std::get<Size>(v); }},

  {"pressure", "scope", Choice, "budget", "budget|device|worst", DefaultOnly, "", "VRAMGUARD_PRESSURE_SCOPE", false,
   [](GuardConfig& c, const Value& v) { c.pressure.scope = choice<PressureScope>(v, kScope); }},
  {"pressure", "low", KeyType::Threshold, "30%", "", Yes, "", "VRAMGUARD_PRESSURE_LOW", false,
   [](GuardConfig& c, const Value& v) { c.pressure.low = std::get<vramguard::Threshold>(v); }},
  {"pressure", "medium", KeyType::Threshold, "10%", "", Yes, "", "VRAMGUARD_PRESSURE_MEDIUM", false,
   [](GuardConfig& c, const Value& v) { c.pressure.medium = std::get<vramguard::Threshold>(v); }},
  {"pressure", "high", KeyType::Threshold, "5%", "", Yes, "", "VRAMGUARD_PRESSURE_HIGH", false,
   [](GuardConfig& c, const Value& v) { c.pressure.high = std::get<vramguard::Threshold>(v); }},
  {"pressure", "watch_card", Boolean, "true", "", DefaultOnly, "", "VRAMGUARD_PRESSURE_WATCH_CARD", false, kNothing},

  {"oom", "defer_first_refusal", Choice, "auto", "auto|never|always", DefaultOnly, "", "VRAMGUARD_OOM_DEFER_FIRST_REFUSAL", false, kNothing},
  {"oom", "deadline", Duration, "5s", "", DefaultOnly, "", "VRAMGUARD_OOM_DEADLINE", false, kNothing},
  {"oom", "wait_timeout", Duration, "30s", "", DefaultOnly, "", "VRAMGUARD_OOM_WAIT_TIMEOUT", false, kNothing},
  {"oom", "checkpoint", Text, "", "", DefaultOnly, "", "", true, kNothing},
  {"oom", "checkpoint_timeout", Duration, "120s", "", DefaultOnly, "", "VRAMGUARD_OOM_CHECKPOINT_TIMEOUT", false, kNothing},
  {"oom", "spill_limit", Amount, "25%", "", DefaultOnly, "", "VRAMGUARD_OOM_SPILL_LIMIT", false, kNothing},

  {"hooks", "enabled", Boolean, "true", "", DefaultOnly, "", "VRAMGUARD_HOOKS_ENABLED", false, kNothing},
  {"hooks", "timeout", Duration, "10s", "", DefaultOnly, "", "VRAMGUARD_HOOKS_TIMEOUT", false, kNothing},
  {"hooks", "cooldown", Duration, "15s", "", DefaultOnly, "", "VRAMGUARD_HOOKS_COOLDOWN", false, kNothing},

  {"log", "target", Choice, "file", "file|stderr|none", Yes, "", "VRAMGUARD_LOG_TARGET", false,
   [](GuardConfig& c, const Value& v) { c.log.target = choice<LogTarget>(v, kTarget); }},
  {"log", "path", Text, "", "", Yes, "", "VRAMGUARD_LOG", false,
   [](GuardConfig& c, const Value& v) { c.log.path = std::get<std::string>(v); }},
  {"log", "format", Choice, "logfmt", "logfmt|json", Yes, "", "VRAMGUARD_LOG_FORMAT", false,
   [](GuardConfig& c, const Value& v) { c.log.format = choice<LogFormat>(v, kFormat); }},
  {"log", "level", Choice, "info", "error|warn|info|debug", Yes, "", "VRAMGUARD_LOG_LEVEL", false,
   [](GuardConfig& c, const Value& v) { c.log.level = choice<LogLevel>(v, kLevel); }},
  {"log", "report_every", Duration, "0s", "", Yes, "", "VRAMGUARD_LOG_REPORT_EVERY", false,
   [](GuardConfig& c, const Value& v) { c.log.report_every = std::get<milliseconds>(v); }},
};

constexpr Key kGpuKeys[] = {
  {"gpu", "budget", Amount, "unlimited", "", Yes, "", "", false, kNothing},
  {"gpu", "sentinel", Amount, "none", "none|all", DefaultOnly, "", "", false, kNothing},
};

constexpr Key kHookKeys[] = {
  {"hook", "name", Text, "", "", Yes, "", "", true, kNothing},
  {"hook", "on", Choice, "", "pressure|oom|oom-returned|budget", Yes, "", "", true, kNothing},
  {"hook", "at", Choice, "", "low|medium|high|critical", Yes, "", "", true, kNothing},
  {"hook", "mode", Choice, "every", "every|once", Yes, "", "", true, kNothing},
  {"hook", "shell", Text, "", "", Yes, "", "", true, kNothing},
  {"hook", "argv", TextList, "", "", Yes, "", "", true, kNothing},
  {"hook", "signal", Text, "", "", Yes, "", "", true, kNothing},
  {"hook", "target", Choice, "self", "self|parent|group", Yes, "", "", true, kNothing},
  {"hook", "require_handler", Boolean, "true", "", Yes, "", "", true, kNothing},
  {"hook", "priority", Integer, "0", "", Yes, "", "", true, kNothing},
  {"hook", "estimated_free", Amount, "none", "none", Yes, "", "", true, kNothing},
  {"hook", "overhead", Amount, "none", "none", Yes, "", "", true, kNothing},
  {"hook", "timeout", Duration, "10s", "", Yes, "", "", true, kNothing},
  {"hook", "cooldown", Duration, "15s", "", Yes, "", "", true, kNothing},
};

// No sentinel is held and no hook runs yet, so the last two are kept whatever they say.
constexpr Key kLimitKeys[] = {
  {"", "schema", Schema, "1", "", Yes, "", "", false, kNothing},
  {"", "max_budget", Amount, "unlimited", "", Yes, "", "", false,
   [](GuardConfig& c, const Value& v) { c.max_budget = std::get<Size>(v); }},
  {"", "max_sentinel", Amount, "unlimited", "none", Yes, "", "", false, kNothing},
  {"", "hooks", Boolean, "true", "", Yes, "", "", false, kNothing},
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
