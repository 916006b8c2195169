// Everything a user can set, as plain values. `config/` fills it; the guard only reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"
#include "core/pressure_level.h"

namespace vramguard {

enum class Virtualize { All, Cuda, None };
enum class Managed { Host, Count, Ignore };  // what becomes of managed memory that does not fit
enum class LogTarget { File, Stderr, None };
enum class LogFormat { Logfmt, Json };
enum class LogLevel { Error, Warn, Info, Debug };
enum class PressureScope { Budget, Device, Worst };
enum class Mode { Enforce, Observe };
enum class OomPolicy { Fail, RetryAfterFree, WaitAndRetry, CheckpointAndFail, Spill };
enum class Defer { Auto, Never, Always };  // the first refusal of a program that frees its own caches on it

// "10%", "2GiB", or "10%,8GiB" (the lower of the two). At least one is set.
struct Threshold {
  std::optional<double> percent;
  std::optional<Bytes> bytes;
  friend bool operator==(const Threshold&, const Threshold&) = default;
};

struct PressureConfig {
  PressureScope scope = PressureScope::Budget;
  Threshold low{30.0, {}};
  Threshold medium{10.0, {}};
  Threshold high{5.0, {}};
  bool watch_card = true;
};

// Memory held so that neighbours cannot take it: bytes for emergencies, or the whole unused budget.
struct Sentinel {
  Bytes bytes = 0;
  bool all = false;
  friend bool operator==(const Sentinel&, const Sentinel&) = default;
};

enum class HookEvent { Pressure, Oom, OomReturned, Budget };
enum class SignalTarget { Self, Parent, Group };

// A signal by number.
struct SignalAction {
  int number = 0;
  SignalTarget target = SignalTarget::Self;
  bool require_handler = true;  // never sent where its default action would end the target
  friend bool operator==(const SignalAction&, const SignalAction&) = default;
};

// What a hook does; a shell command line is {"/bin/sh", "-c", line}.
struct HookConfig {
  std::string name;
  HookEvent on = HookEvent::Pressure;
  PressureLevel at = PressureLevel::High;  // of Pressure: the level whose entering runs it
  bool once = false;
  std::vector<std::string> argv;       // empty: the signal
  std::optional<SignalAction> signal;  // not both
  std::int64_t priority = 0;           // lowest first
  Bytes estimated_free = 0;
  Bytes overhead = 0;  // skipped while less than this is free
  std::chrono::milliseconds timeout{10'000};
  std::chrono::milliseconds cooldown{15'000};
  friend bool operator==(const HookConfig&, const HookConfig&) = default;
};

struct OomConfig {
  OomPolicy policy = OomPolicy::Fail;
  Defer defer_first_refusal = Defer::Auto;
  std::chrono::milliseconds deadline{5'000};  // of trims and oom hooks of one request together
  std::chrono::milliseconds wait_timeout{30'000};
  std::vector<std::string> checkpoint;            // a command; empty: the signal, if any
  std::optional<SignalAction> checkpoint_signal;  // to this process
  std::chrono::milliseconds checkpoint_timeout{120'000};
  Size spill_limit = Percent{25.0};  // of the host's memory
};

struct LogConfig {
  LogTarget target = LogTarget::File;
  std::string path;  // as written: "" is the user's default; %u %p %h stand for uid, pid, host
  LogFormat format = LogFormat::Logfmt;
  LogLevel level = LogLevel::Info;
  std::chrono::milliseconds report_every{0};  // 0: no reports
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

// A sentinel for one device, named as a DeviceBudget names it.
struct DeviceSentinel {
  std::string device;
  Sentinel sentinel;
  friend bool operator==(const DeviceSentinel&, const DeviceSentinel&) = default;
};

// A budget for one device, named as the user named it: "GPU-8f6e..." (full or shortened), "pci:0000:3b:00.0", "cuda:0".
struct DeviceBudget {
  std::string device;
  Size budget;
  unsigned strength = 0;  // of its source (0 files, 1 environment): decides before the more precise name
};

struct GuardConfig {
  Size budget = Unlimited{};                 // for each device that `devices` does not name
  std::vector<DeviceBudget> device_budgets;  // the stronger source, then the more precise name wins
  std::optional<Size> max_budget;            // the administrator's cap on any budget
  Sentinel sentinel;                         // for each device that `device_sentinels` does not name
  std::vector<DeviceSentinel> device_sentinels;
  bool sentinel_required = false;     // cuInit fails where it cannot be placed
  std::optional<Bytes> max_sentinel;  // the administrator's cap, "all" included
  Size leave_free = Bytes{0};         // never take a card below that; a percentage is one of the card
  Mode mode = Mode::Enforce;
  std::string group;      // whose processes share their budgets; "": this process alone
  std::string state_dir;  // where processes tell of themselves; "": this user's usual place
  Virtualize virtualize = Virtualize::All;
  Managed managed = Managed::Host;
  Size host_pinned = Unlimited{};  // for pinned host memory; a percentage is one of the host's memory
  bool quiet = false;              // no line on the terminal at the first OOM
  PressureConfig pressure;
  OomConfig oom;
  bool hooks_enabled = true;      // the user's switch and the administrator's together
  std::vector<HookConfig> hooks;  // in the order of their definition
  LogConfig log;
  std::string source;  // the last file that was read, for the `start` record; "" if none
};

}  // namespace vramguard
