// The pressure log: records are posted from any thread without waiting, and written by the guard's own thread.
#pragma once

#include "core/clock.h"
#include "core/guard_config.h"
#include "core/log_record.h"

namespace vramguard {

class PressureLog {
 public:
  PressureLog(const LogConfig& config, const Clock& clock);

  // Any thread. Never blocks, never allocates, never calls the system. Drops (and counts) the record when the queue is full.
  void post(const LogRecord& record) noexcept;
  // The guard's own thread, or the exiting thread, with all signals blocked: formats and writes what is queued, one write
  // a record.
  void write_queued() noexcept;
  std::uint64_t dropped() const noexcept;
};

}  // namespace vramguard
