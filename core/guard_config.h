// Everything a user can set, as plain values. `config/` fills it; the guard only reads it.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/bytes.h"

namespace vramguard {

enum class Virtualize { All, Cuda, None };
enum class Managed { Host, Count, Ignore };  // what becomes of managed memory that does not fit
enum class LogTarget { File, Stderr, None };
enum class LogFormat { Logfmt, Json };
enum class LogLevel { Error, Warn, Info, Debug };
enum class PressureScope { Budget, Device, Worst };

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
};

struct LogConfig {
  LogTarget target = LogTarget::File;
  std::string path;  // as written: "" is the user's default; %u %p %h stand for uid, pid, host
  LogFormat format = LogFormat::Logfmt;
  LogLevel level = LogLevel::Info;
  std::chrono::milliseconds report_every{0};  // 0: no reports
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
  Virtualize virtualize = Virtualize::All;
  Managed managed = Managed::Host;
  Size host_pinned = Unlimited{};  // for pinned host memory; a percentage is one of the host's memory
  bool quiet = false;              // no line on the terminal at the first OOM
  PressureConfig pressure;
  LogConfig log;
  std::string source;  // the last file that was read, for the `start` record; "" if none
};

}  // namespace vramguard
