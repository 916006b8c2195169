// The pressure log: records are posted from any thread without waiting, and written by the guard's own thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/guard_config.h"
#include "core/log_format.h"
#include "core/log_record.h"
#include "core/log_sink.h"
#include "core/log_suppression.h"
#include "core/patient_lock.h"
#include "core/record_queue.h"

namespace vramguard {

// Thread-safe. Never destroyed in a guarded program; a forked child makes a fresh one and never touches its parent's.
//
// Exit: the thread that ends the process calls write_last() with the `exit` record, from an atexit handler or the like.
// It takes the writing over from the guard's thread, which leaves after the record it is at; no thread is joined.
// Nothing is written after the exit record. Where the process ends without it (_exit, a fatal signal), what the guard's
// thread has not written yet is lost, usually less than a millisecond's records; wait_written() closes even that gap.
class PressureLog {
 public:
  static constexpr std::size_t kQueueRecords = 256;
  // How long write_last() waits for a writer that is stuck in the file system.
  static constexpr std::chrono::milliseconds kExitPatience{100};

  // Reads the process's identity and the path; creates nothing before the first record. May throw std::bad_alloc.
  PressureLog(const LogConfig& config, const Clock& clock);
  PressureLog(const PressureLog&) = delete;

  // Any thread. Never blocks, never allocates, never calls the system. Drops (and counts) the record when the queue is
  // full.
  void post(const LogRecord& record) noexcept;
  // The guard's own thread, or any thread where that could not be started: formats and writes what is queued, one write
  // a record. Blocks all signals meanwhile. When another thread is writing, that one takes over what is queued. Returns
  // after at most some thousand records, so that a flood does not keep the guard's thread from its other work.
  void write_queued() noexcept;
  // Any thread, after the guard's thread was woken: true once everything this thread has posted is in the file (or
  // counted as dropped), false when that takes longer than `patience`. For records that must survive a kill.
  bool wait_written(std::chrono::milliseconds patience) noexcept;
  // The exiting thread: writes what is queued and then `record`, to which it adds `log_dropped`. From then on post()
  // only counts. Adds one write a record; waits for a stuck writer at most kExitPatience and then gives up (false).
  // Only the first call does anything.
  bool write_last(LogRecord record) noexcept;

  // When write_queued() should be called although nobody posts: at once (min()) when it left something in the queue, at
  // the time of a `log_suppressed` record, or never (max()).
  MonotonicTime next_write() const noexcept;
  // Records that were posted but neither written nor merely suppressed.
  std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }
  // Records numbered so far. A gap in the file's `seq` is a lost record.
  std::uint64_t seq() const noexcept { return seq_.load(std::memory_order_relaxed); }
  // Records left out by the rate limit.
  std::uint64_t suppressed() const noexcept { return suppressed_.load(std::memory_order_relaxed); }
  // Shown each record as it is written, its number and its line without the end, by the thread that writes. Before the
  // first record is posted.
  using Reader = void (*)(std::uint64_t number, std::string_view line, void* context) noexcept;
  void show_to(Reader reader, void* context) noexcept {
    reader_ = reader;
    reader_context_ = context;
  }
  // Absolute; empty when the target is not a file, or no place for it was found.
  const std::string& path() const noexcept { return sink_.path(); }

 private:
  struct Posted {
    LogRecord record;
    WallTime wall;
    MonotonicTime at;
  };

  // With the lock held. `leaves` when another thread wants to take over.
  void drain(bool leaves) noexcept;
  void write_suppressed(MonotonicTime now, bool final) noexcept;
  void write_record(const LogRecord& record, WallTime wall) noexcept;
  void handled_one() noexcept;

  const Clock& clock_;
  LogSink sink_;
  LogFormatter formatter_;
  LogSuppression suppression_;
  RecordQueue<Posted, kQueueRecords> queue_;

  PatientLock writing_;
  std::atomic<bool> closing_{false};
  std::atomic<std::uint64_t> dropped_{0};
  std::atomic<std::uint64_t> unnumbered_{0};  // dropped before they got a seq
  std::atomic<std::uint64_t> seq_{0};
  std::atomic<std::uint64_t> suppressed_{0};
  Reader reader_ = nullptr;
  void* reader_context_ = nullptr;
  std::atomic<MonotonicTime::rep> next_write_;
  std::atomic<std::uint32_t> handled_{0};  // records taken from the queue, modulo 2^32
  std::atomic<std::uint32_t> waiting_{0};  // threads in wait_written()
};

}  // namespace vramguard
