#include "config/write_config.h"

#include "config/choice.h"
#include "config/toml_text.h"
#include "config/value.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <vector>

namespace vramguard {
namespace {

using std::chrono::milliseconds;

// In the largest unit that divides it; format_bytes cuts.
std::string exact_bytes(Bytes bytes) {
  if (bytes == 0) return "none";
  int unit = 0;
  for (; unit < 4 && bytes % 1024 == 0; ++unit) bytes /= 1024;
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  return std::to_string(bytes) + std::string(kUnits[unit]);
}

std::string exact_size(const Size& size) {
  const auto* bytes = std::get_if<Bytes>(&size);
  return bytes != nullptr ? exact_bytes(*bytes) : format_size(size);
}

std::string exact_threshold(const Threshold& threshold) {
  std::string out;
  if (threshold.percent) out = format_size(Percent{*threshold.percent});
  if (threshold.bytes) out += (out.empty() ? "" : ",") + exact_bytes(*threshold.bytes);
  return out;
}

std::string exact_sentinel(const Sentinel& sentinel) { return sentinel.all ? "all" : exact_bytes(sentinel.bytes); }

class Writer {
 public:
  void table(std::string_view header) { out_ += "\n" + std::string(header) + "\n"; }
  void text(std::string_view key, std::string_view value) { bare(key, toml_text(value)); }
  void boolean(std::string_view key, bool value) { bare(key, value ? "true" : "false"); }
  void duration(std::string_view key, milliseconds value) { text(key, format_duration(value)); }
  void bare(std::string_view key, const std::string& value) { out_ += std::string(key) + " = " + value + "\n"; }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void write_top(const GuardConfig& config, Writer& out) {
  out.bare("schema", "1");
  out.text("budget", exact_size(config.budget));
  out.text("oom_policy", word_of(config.oom.policy, kPolicyWords));
  out.text("sentinel", exact_sentinel(config.sentinel));
  out.boolean("sentinel_required", config.sentinel_required);
  out.text("leave_free", exact_size(config.leave_free));
  out.text("mode", word_of(config.mode, kModeWords));
  out.text("group", config.group);
  out.text("virtualize", word_of(config.virtualize, kVirtualizeWords));
  out.text("managed", word_of(config.managed, kManagedWords));
  out.text("host_pinned", exact_size(config.host_pinned));
}

void write_gpus(const GuardConfig& config, Writer& out) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const DeviceBudget& device : config.device_budgets) add(device.device);
  for (const DeviceSentinel& device : config.device_sentinels) add(device.device);
  for (const std::string& name : names) {
    out.table("[gpu." + toml_text(name) + "]");
    for (const DeviceBudget& device : config.device_budgets) {
      if (device.device == name) out.text("budget", exact_size(device.budget));
    }
    for (const DeviceSentinel& device : config.device_sentinels) {
      if (device.device == name) out.text("sentinel", exact_sentinel(device.sentinel));
    }
  }
}

void write_pressure(const PressureConfig& pressure, Writer& out) {
  out.table("[pressure]");
  out.text("scope", word_of(pressure.scope, kScopeWords));
  out.text("low", exact_threshold(pressure.low));
  out.text("medium", exact_threshold(pressure.medium));
  out.text("high", exact_threshold(pressure.high));
  out.boolean("watch_card", pressure.watch_card);
}

void write_oom(const OomConfig& oom, Writer& out) {
  out.table("[oom]");
  out.text("defer_first_refusal", word_of(oom.defer_first_refusal, kDeferWords));
  out.duration("deadline", oom.deadline);
  out.duration("wait_timeout", oom.wait_timeout);
  if (oom.checkpoint_signal) {
    out.text("checkpoint", "signal:" + std::to_string(oom.checkpoint_signal->number));
  } else {
    out.text("checkpoint", oom.checkpoint.empty() ? "" : oom.checkpoint.back());  // the line of a shell command
  }
  out.duration("checkpoint_timeout", oom.checkpoint_timeout);
  out.text("spill_limit", exact_size(oom.spill_limit));
}

void write_hook(const HookConfig& hook, Writer& out) {
  out.table("[[hook]]");
  out.text("name", hook.name);
  out.text("on", word_of(hook.on, kHookEventWords));
  if (hook.on == HookEvent::Pressure) out.text("at", word_of(hook.at, kPressureLevelWords));
  out.text("mode", hook.once ? "once" : "every");
  if (hook.signal) {
    out.text("signal", std::to_string(hook.signal->number));
    out.text("target", word_of(hook.signal->target, kSignalTargetWords));
    out.boolean("require_handler", hook.signal->require_handler);
  } else {
    out.bare("argv", toml_list(hook.argv));
  }
  out.bare("priority", std::to_string(hook.priority));
  out.text("estimated_free", exact_bytes(hook.estimated_free));
  out.text("overhead", exact_bytes(hook.overhead));
  out.duration("timeout", hook.timeout);
  out.duration("cooldown", hook.cooldown);
}

void write_log(const LogConfig& log, Writer& out) {
  out.table("[log]");
  out.text("target", word_of(log.target, kLogTargetWords));
  out.text("path", log.path);
  out.text("format", word_of(log.format, kLogFormatWords));
  out.text("level", word_of(log.level, kLogLevelWords));
  out.duration("report_every", log.report_every);
}

}  // namespace

std::string write_config(const GuardConfig& config) {
  Writer out;
  write_top(config, out);
  write_gpus(config, out);
  write_pressure(config.pressure, out);
  write_oom(config.oom, out);
  out.table("[hooks]");
  out.boolean("enabled", config.hooks_enabled);
  for (const HookConfig& hook : config.hooks) write_hook(hook, out);
  write_log(config.log, out);
  return out.take();
}

}  // namespace vramguard
