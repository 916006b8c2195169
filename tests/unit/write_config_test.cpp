#include "config/write_config.h"

#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <tuple>

using namespace vramguard;

namespace {

// Structured bindings, so that a new member does not compile until somebody has thought of it here.
auto parts(const SignalAction& value) {
  const auto& [number, target, require_handler] = value;
  return std::tuple(number, target, require_handler);
}

std::optional<std::tuple<int, SignalTarget, bool>> parts(const std::optional<SignalAction>& value) {
  if (!value) return std::nullopt;
  return parts(*value);
}

auto parts(const HookConfig& value) {
  const auto& [name, on, at, once, argv, signal, priority, estimated_free, overhead, timeout, cooldown] = value;
  return std::tuple(name, on, at, once, argv, parts(signal), priority, estimated_free, overhead, timeout, cooldown);
}

auto parts(const OomConfig& value) {
  const auto& [policy, defer, deadline, wait, checkpoint, signal, checkpoint_timeout, spill_limit] = value;
  return std::tuple(policy, defer, deadline, wait, checkpoint, parts(signal), checkpoint_timeout, spill_limit);
}

auto parts(const PressureConfig& value) {
  const auto& [scope, low, medium, high, watch_card] = value;
  return std::tuple(scope, low, medium, high, watch_card);
}

auto parts(const LogConfig& value) {
  const auto& [target, path, format, level, report_every] = value;
  return std::tuple(target, path, format, level, report_every);
}

auto parts(const DeviceBudget& value) {
  const auto& [device, budget, strength] = value;
  return std::tuple(device, budget, strength);
}

auto parts(const DeviceSentinel& value) {
  const auto& [device, sentinel] = value;
  return std::tuple(device, sentinel);
}

template <typename T>
auto parts(const std::vector<T>& values) {
  std::vector<decltype(parts(values[0]))> out;
  for (const T& value : values) out.push_back(parts(value));
  return out;
}

// Without what is no key of a file: max_budget, max_sentinel, state_dir, quiet, source.
auto parts(const GuardConfig& value) {
  const auto& [budget, device_budgets, max_budget, sentinel, device_sentinels, sentinel_required, max_sentinel,
               leave_free, mode, group, state_dir, virtualize, managed, host_pinned, quiet, pressure, oom,
               hooks_enabled, hooks, log, source] = value;
  static_cast<void>(max_budget);
  static_cast<void>(max_sentinel);
  static_cast<void>(state_dir);
  static_cast<void>(quiet);
  static_cast<void>(source);
  return std::tuple(budget, parts(device_budgets), sentinel, parts(device_sentinels), sentinel_required, leave_free,
                    mode, group, virtualize, managed, host_pinned, parts(pressure), parts(oom), hooks_enabled,
                    parts(hooks), parts(log));
}

// What a file with that text holds; everything about it must be right.
GuardConfig read(const std::string& text) {
  ConfigFixture fixture;
  fixture.paths().only_file = fixture.write("config.toml", text);
  INFO(text);
  const auto messages = fixture.messages();
  CHECK(messages.empty());
  return fixture.load().config;
}

GuardConfig unusual() {
  GuardConfig config;
  config.budget = Percent{12.345678};
  config.device_budgets = {{"GPU-8f6e", Bytes{8_GiB + 1}, 0}, {"cuda:0", Unlimited{}, 0}};
  config.sentinel = {512_MiB, false};
  config.device_sentinels = {{"cuda:0", {0, true}}, {"pci:3b:00.0", {0, false}}};
  config.sentinel_required = true;
  config.leave_free = Percent{5};
  config.mode = Mode::Observe;
  config.group = "job_1.a-B";
  config.virtualize = Virtualize::Cuda;
  config.managed = Managed::Ignore;
  config.host_pinned = Bytes{3_GiB / 2};
  config.pressure = {PressureScope::Worst, {33.3, 9_GiB}, {10.0, {}}, {{}, 1_GiB + 4096}, false};
  using namespace std::chrono_literals;
  config.oom = {OomPolicy::CheckpointAndFail,
                Defer::Never,
                1500ms,
                599'999ms,
                {"/bin/sh", "-c", "save \"a\\b\"\n\tx\x7f"},
                std::nullopt,
                std::chrono::hours(100'000'000),
                Bytes{1}};
  config.hooks_enabled = false;
  HookConfig hook;
  hook.name = "tr\xc3\xa4m \"x\"";
  hook.at = PressureLevel::Critical;
  hook.once = true;
  hook.argv = {"/bin/x", "", "a\nb", "\xf0\x9f\x92\xbe", "#'\""};
  hook.priority = INT64_MIN;
  hook.estimated_free = 1;
  hook.overhead = 7_GiB;
  hook.timeout = 1ms;
  hook.cooldown = 0ms;
  config.hooks.push_back(hook);
  hook = {};
  hook.name = "tell";
  hook.on = HookEvent::OomReturned;
  hook.signal = SignalAction{SIGRTMIN + 1, SignalTarget::Parent, false};
  config.hooks.push_back(hook);
  hook.name = "tell-all";
  hook.signal = SignalAction{SIGUSR1, SignalTarget::Group, true};
  config.hooks.push_back(hook);
  config.log = {LogTarget::Stderr, "/x/%u \"q\"/%%.log", LogFormat::Json, LogLevel::Debug, 90s};
  return config;
}

}  // namespace

TEST_CASE("a configuration that was written reads back to the same values") {
  CHECK(parts(read(write_config({}))) == parts(GuardConfig{}));
  CHECK(parts(read(write_config(unusual()))) == parts(unusual()));

  GuardConfig signalled = unusual();
  signalled.oom.checkpoint.clear();
  signalled.oom.checkpoint_signal = SignalAction{SIGUSR2};
  CHECK(parts(read(write_config(signalled))) == parts(signalled));
}

TEST_CASE("the file of all keys survives being read and written") {
  ConfigFixture fixture;
  fixture.paths().only_file = std::string(VRAMGUARD_SOURCE_DIR) + "/config/vramguard.toml";
  const GuardConfig config = fixture.load().config;
  CHECK(parts(read(write_config(config))) == parts(config));
}
