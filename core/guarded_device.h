// One device of the process: its books, its sentinel, the way of its refused requests, and its pressure.
#pragma once

#include <array>
#include <atomic>

#include "core/card_pressure.h"
#include "core/oom_path.h"
#include "core/state/process_state.h"

namespace vramguard {

class Guard;

// Thread-safe. As long-lived as its guard.
struct GuardedDevice final : OomHost {
  GuardedDevice(Guard& owner, DeviceInfo identity, Bytes budget, const Sentinel& wanted, DeviceReader& reader,
                const OomServices& services, Ledger::Wake wake, void* wake_context);

  Ledger& books() noexcept override { return memory; }
  const DeviceInfo& identity() const noexcept override { return info; }
  bool look_again() noexcept override;
  bool ask_group_for_sentinel(Bytes bytes) noexcept override;
  SendResult send_to_group(const SignalAction& action, int value) noexcept override;
  bool trim() noexcept override;
  std::optional<Bytes> card_free() noexcept override;
  std::optional<Bytes> card_free_as_seen() noexcept override;
  bool others_can_free() noexcept override;
  bool program_frees_on_refusal() noexcept override;
  void post(const LogRecord& record) noexcept override;
  void post_urgent(const LogRecord& record) noexcept override;
  void oom_returned(const OomRequest& request, RefusalScope scope) noexcept override;

  // What hooks of every event are told, as of now.
  HookFacts facts(HookEvent event) noexcept;

  const DeviceInfo info;
  Ledger memory;
  SentinelKeeper sentinel;
  OomPath oom;
  CardPressure card_pressure;
  std::atomic<Bytes> cap{kUnlimitedBytes};                // the administrator's, on any budget
  Bytes leave_free = 0;                                   // the card is to keep so much
  std::atomic<PressureLevel> level{PressureLevel::None};  // as last published, by the configured scope
  std::atomic<Bytes> managed_bytes{0};                    // in the books: nobody tells how much of it is resident
  std::array<std::atomic<std::uint64_t>, kStateLevels> transitions{};  // published ones, by the level that was entered
  std::atomic<std::uint64_t> uncharged_live{0};                        // managed allocations that are not in the books
  std::atomic<bool> measure_again{false};         // the last look at what no call shows told nothing, or is out of date
  std::atomic<Bytes> card_seen{kUnlimitedBytes};  // free, as the watchdog saw it last; kUnlimitedBytes: nobody tells
  std::atomic<bool> pools_used{false};            // from the first time on: there is something to read
  std::atomic<bool> graphs_used{false};

 private:
  Guard& guard_;
  DeviceReader& reader_;
};

}  // namespace vramguard
