// A command that runs outside of the program's sight: no child, no SIGCHLD, no descriptor.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "core/clock.h"

namespace vramguard {

struct CommandBlock;

// Both lists end with nullptr and must live until the command has ended. A first word without '/' is looked for in the
// PATH of `environment`.
struct CommandSpec {
  const char* const* argv = nullptr;
  const char* const* environment = nullptr;
  std::chrono::milliseconds timeout{0};
};

struct CommandResult {
  static constexpr std::size_t kOutputBytes = 1024;
  enum class Outcome { Exited, Signaled, TimedOut, CannotStart };
  Outcome outcome = Outcome::CannotStart;
  int code = 0;  // exit status, signal (of TimedOut: the last one sent), or errno
  std::chrono::milliseconds duration{0};
  std::string_view output;  // first bytes of stdout and stderr; valid until the next start()
  pid_t pid = 0;
};

// One run at a time. start() and take_result() belong to one thread at a time, finished() and wait_until() to any.
//
// A helper process that shares our memory but neither descriptors, handlers nor the parent's view of children starts
// the command, drains its output, ends it at the timeout and collects it. Only a wait with __WALL or __WCLONE shows it.
// - At the timeout the command's process group gets TERM; KILL 2 s later, if anything of it is left then.
// - What a command leaves behind in peace, when it ends by itself, is left alone, and finds its output closed.
// - When the thread that started it ends, nothing changes. When the program ends, the helper drops all of the program's
//   memory at once (it would keep mapped device files, and with them memory of the card, alive) and stays for the
//   command's timeout, so that a command which tells of a program's failure survives that failure.
// - When the helper is killed, so is the command.
// - A program that replaces itself by exec keeps the old memory until the command ends, and sees one unknown SIGCHLD.
class Command {
 public:
  static constexpr std::size_t kMostAtOnce = 16;  // of all objects together; more is CannotStart with EAGAIN
  static constexpr std::chrono::milliseconds kGrace{2'000};

  Command() = default;
  Command(const Command&) = delete;
  // Kills a command that still runs, and waits for it.
  ~Command();

  // Returns at once. False: nothing runs, finished() is true, take_result() says why, and `on_end` is never called.
  // `on_end` (may be null) is called once by the helper when finished() has become true. It shares the TLS of the
  // thread that started it: it may only wake somebody up. It is not called when the helper is killed or the program has
  // ended.
  bool start(const CommandSpec& spec, void (*on_end)(void*) noexcept, void* context) noexcept;

  // True also when nothing was ever started.
  bool finished() const noexcept;
  // Of the command, which leads a process group; 0 until it has started (a moment after start()) and after the end.
  pid_t pid() const noexcept;
  // True when it has finished.
  bool wait_until(MonotonicTime deadline) noexcept;
  // Waits until it has finished.
  CommandResult take_result() noexcept;

 private:
  std::atomic<CommandBlock*> block_{nullptr};  // while it runs
  int error_ = 0;                              // of a start that failed
  pid_t helper_ = 0;
  char output_[CommandResult::kOutputBytes];
};

}  // namespace vramguard
