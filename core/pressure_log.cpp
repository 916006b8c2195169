#include "core/pressure_log.h"

#include "core/futex.h"
#include "core/log_path.h"
#include "core/undisturbed.h"

namespace vramguard {

namespace {

constexpr int kRoundsAtOnce = 4;

}  // namespace

PressureLog::PressureLog(const LogConfig& config, const Clock& clock)
    : clock_(clock),
      sink_(config.target, config.level,
            config.target == LogTarget::File ? locate_log(config.path, LogSurroundings::of_this_process())
                                             : LogLocation{}),
      formatter_(config.format, LogIdentity::of_this_process()),
      next_write_(MonotonicTime::max().time_since_epoch().count()) {}

void PressureLog::post(const LogRecord& record) noexcept {
  if (!sink_.wants(record.level())) return;
  if (!closing_.load(std::memory_order_relaxed) && queue_.push(Posted{record, clock_.wall(), clock_.now()})) return;
  unnumbered_.fetch_add(1, std::memory_order_relaxed);
  dropped_.fetch_add(1, std::memory_order_relaxed);
}

// A thread that finds the lock taken leaves its records to the holder, which looks at the queue again after unlocking.
void PressureLog::write_queued() noexcept {
  const Undisturbed undisturbed;
  for (int round = 0; round < kRoundsAtOnce && !closing_.load(std::memory_order_acquire); ++round) {
    if (!writing_.try_lock()) return;
    drain(true);
    next_write_.store(suppression_.next_report().time_since_epoch().count(), std::memory_order_relaxed);
    writing_.unlock();
    if (queue_.empty()) return;
  }
}

bool PressureLog::wait_written(std::chrono::milliseconds patience) noexcept {
  const auto target = static_cast<std::uint32_t>(queue_.pushed());
  const MonotonicTime until = std::chrono::steady_clock::now() + patience;
  const auto reached = [target](std::uint32_t handled) { return static_cast<std::int32_t>(handled - target) >= 0; };

  waiting_.fetch_add(1);
  std::uint32_t handled = handled_.load();
  while (!reached(handled) && !closing_.load(std::memory_order_relaxed) && std::chrono::steady_clock::now() < until) {
    futex_wait(handled_, handled, until);
    handled = handled_.load();
  }
  waiting_.fetch_sub(1);
  return reached(handled);
}

bool PressureLog::write_last(LogRecord record) noexcept {
  const Undisturbed undisturbed;
  if (closing_.exchange(true)) return false;
  if (!writing_.lock_within(kExitPatience)) return false;

  // Never unlocked again: nothing follows the exit record.
  drain(false);
  write_suppressed(clock_.now(), true);
  record.add("log_dropped", dropped());
  write_record(record, clock_.wall());
  return true;
}

MonotonicTime PressureLog::next_write() const noexcept {
  if (!queue_.empty()) return MonotonicTime::min();
  return MonotonicTime(MonotonicTime::duration(next_write_.load(std::memory_order_relaxed)));
}

void PressureLog::drain(bool leaves) noexcept {
  Posted posted{LogRecord(Event::Start), {}, {}};
  for (std::size_t i = 0; i < kQueueRecords && queue_.pop(posted); ++i) {
    write_suppressed(posted.at, false);
    const LogRecord& record = posted.record;
    const bool always = info_of(record.event()).rate == Rate::Always;
    if (always || suppression_.admit(record.level() == LogLevel::Error, posted.at)) {
      write_record(record, posted.wall);
    } else {
      suppressed_.fetch_add(1, std::memory_order_relaxed);
    }
    handled_one();
    if (leaves && closing_.load(std::memory_order_acquire)) return;
  }
  write_suppressed(clock_.now(), false);
}

void PressureLog::write_suppressed(MonotonicTime now, bool final) noexcept {
  const auto report = suppression_.take_report(now, final);
  if (!report) return;
  LogRecord record(Event::LogSuppressed);
  record.add("records", report->records).add("window_ms", report->window_ms);
  if (sink_.wants(record.level())) write_record(record, clock_.wall());
}

void PressureLog::write_record(const LogRecord& record, WallTime wall) noexcept {
  // What was dropped before it had a number leaves its gap here.
  const std::uint64_t lost_before = unnumbered_.exchange(0, std::memory_order_relaxed);
  const std::uint64_t number = seq_.load(std::memory_order_relaxed) + lost_before + 1;
  seq_.store(number, std::memory_order_relaxed);

  LogLine line;
  formatter_.format(record, wall, number, line);
  if (reader_ != nullptr) reader_(number, line.text(), reader_context_);
  if (!sink_.write(record.level(), wall, line.text())) dropped_.fetch_add(1, std::memory_order_relaxed);
}

// Sequentially consistent with wait_written(): either it sees the record handled or we see it waiting.
void PressureLog::handled_one() noexcept {
  handled_.fetch_add(1);
  if (waiting_.load() > 0) futex_wake_all(handled_);
}

}  // namespace vramguard
