#include "core/checkpoint.h"

#include <memory>
#include <thread>
#include <vector>

#include "core/signal_sender.h"

namespace vramguard {

namespace {

constexpr const char* kHookName = "checkpoint";
constexpr auto kLookAgain = std::chrono::milliseconds(1);

}  // namespace

void Checkpoint::set_callback(Callback callback, std::uint64_t key) noexcept {
  const std::lock_guard lock(mutex_);
  callback_.swap(callback);
  key_ = key;
}

bool Checkpoint::remove_callback(std::uint64_t key) noexcept {
  Callback removed;
  const std::lock_guard lock(mutex_);
  if (!callback_ || key_ != key) return false;
  callback_.swap(removed);
  return true;
}

void Checkpoint::wait_for_end() const noexcept {
  while (!inside() && running_.load() > 0) std::this_thread::sleep_for(kLookAgain);
}

void Checkpoint::run(OomHost& host, const HookFacts& facts) noexcept try {
  Callback callback;
  {
    const std::lock_guard lock(mutex_);
    callback = callback_;
    running_.fetch_add(1);
  }
  const auto over = [this](void*) { running_.fetch_sub(1); };
  const std::unique_ptr<void, decltype(over)> until_return(this, over);
  const bool any = callback || !config_.checkpoint.empty() || config_.checkpoint_signal;
  if (!any || inside() || (done_.exchange(true) && !repeats())) return;
  const ThreadSet::Member inside(inside_);
  if (callback) {
    run_callback(callback, host, facts);
  } else if (!config_.checkpoint.empty()) {
    run_command(host, facts);
  } else {
    send(host, facts);
  }
} catch (...) {
  post(host, facts, "command", "failed", ENOMEM, clock_.now());
}

void Checkpoint::run_callback(const Callback& callback, OomHost& host, const HookFacts& facts) noexcept {
  const MonotonicTime started = clock_.now();
  const char* outcome = "ok";
  try {
    callback(facts);
  } catch (...) {
    outcome = "failed";
  }
  post(host, facts, "callback", outcome, 0, started);
}

void Checkpoint::run_command(OomHost& host, const HookFacts& facts) {
  const MonotonicTime started = clock_.now();
  std::vector<const char*> argv;
  for (const std::string& argument : config_.checkpoint) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  const CommandEnvironment variables = environment_.with(hook_variables(facts, kHookName, 1, log_path_));
  Command command;
  command.start({argv.data(), variables.pointers(), config_.checkpoint_timeout}, nullptr, nullptr);
  command.wait_until(MonotonicTime::max());
  const CommandResult result = command.take_result();
  const bool good = result.outcome == CommandResult::Outcome::Exited && result.code == 0;
  const bool late = result.outcome == CommandResult::Outcome::TimedOut;
  post(host, facts, "command", good ? "ok" : late ? "timeout" : "failed", result.code, started, result.output);
}

void Checkpoint::send(OomHost& host, const HookFacts& facts) noexcept {
  const SendResult result = send_signal(*config_.checkpoint_signal, static_cast<int>(PressureLevel::Critical));
  const bool sent = result == SendResult::Sent;
  post(host, facts, "signal", sent ? "sent" : "not_sent", config_.checkpoint_signal->number, clock_.now(), {},
       sent ? "" : to_string(result));
}

void Checkpoint::post(OomHost& host, const HookFacts& facts, const char* by, const char* outcome, int code,
                      MonotonicTime started, std::string_view output, const char* reason) noexcept {
  LogRecord record(Event::Checkpoint);
  if (facts.device != nullptr) record.device(facts.device->ordinal);
  record.add("by", by)
      .add("outcome", outcome)
      .add("code", code)
      .add("duration_ms", std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - started).count());
  if (*reason != '\0') record.add("reason", reason);
  if (!output.empty()) record.add("output", output);
  host.post(record);
}

}  // namespace vramguard
