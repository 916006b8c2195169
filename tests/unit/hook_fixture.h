// The owner of a device as hooks see it, which keeps what is posted; and a runner that the test drives.
#pragma once

#include "core/hook_runner.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/manual_clock.h"
#include "tests/unit/command_fixture.h"

namespace vramguard {

class FakeHost final : public OomHost {
 public:
  explicit FakeHost(int ordinal = 0, Bytes budget = 4_GiB)
      : info_{ordinal, "GPU-" + std::to_string(ordinal), "0000:3b:00.0", 16_GiB},
        books_(
            budget, [](void*) noexcept {}, nullptr) {}

  Ledger& books() noexcept override { return books_; }
  const DeviceInfo& identity() const noexcept override { return info_; }
  bool look_again() noexcept override { return false; }
  bool trim() noexcept override { return false; }
  std::optional<Bytes> card_free() noexcept override {
    ++questions;
    return card;
  }
  std::optional<Bytes> card_free_as_seen() noexcept override { return card; }
  bool others_can_free() noexcept override { return false; }
  bool program_frees_on_refusal() noexcept override { return false; }
  void post(const LogRecord& record) noexcept override {
    std::string line(info_of(record.event()).name);
    record.for_each_field([&](std::string_view name, const LogRecord::Value& value) {
      line += " " + std::string(name) + "=";
      if (const auto* text = std::get_if<std::string_view>(&value)) line += *text;
      if (const auto* number = std::get_if<std::uint64_t>(&value)) line += std::to_string(*number);
      if (const auto* number = std::get_if<std::int64_t>(&value)) line += std::to_string(*number);
    });
    const std::lock_guard lock(mutex_);
    posted_.push_back(line);
  }
  void post_urgent(const LogRecord& record) noexcept override { post(record); }
  void oom_returned(const OomRequest&, RefusalScope) noexcept override {}

  // Records of one event.
  std::vector<std::string> posted(const std::string& event) {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    std::copy_if(posted_.begin(), posted_.end(), std::back_inserter(found),
                 [&](const std::string& line) { return line.rfind(event + " ", 0) == 0; });
    return found;
  }

  std::optional<Bytes> card = 8_GiB;
  std::atomic<int> questions{0};

 private:
  const DeviceInfo info_;
  Ledger books_;
  std::mutex mutex_;
  std::vector<std::string> posted_;
};

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct RunnerFixture {
  static std::shared_ptr<Hook> hook(HookConfig config, HookCallback callback = {}) {
    if (config.name.empty()) config.name = "h";
    return std::make_shared<Hook>(std::move(config), std::move(callback));
  }
  static std::shared_ptr<Hook> shell(const std::string& line, HookEvent on = HookEvent::Oom) {
    HookConfig config;
    config.on = on;
    config.argv = {"/bin/sh", "-c", line};
    return hook(config);
  }
  HookFacts facts(HookEvent event = HookEvent::Oom) {
    HookFacts result;
    result.event = event;
    result.device = &host.identity();
    result.level = PressureLevel::High;
    return result;
  }
  static MonotonicTime in(std::chrono::milliseconds time) { return std::chrono::steady_clock::now() + time; }

  std::optional<HookOutcome> run(const std::shared_ptr<Hook>& hook,
                                 std::chrono::milliseconds limit = std::chrono::seconds(60)) {
    return runner.run_now(hook, host, facts(), in(limit));
  }
  void wish(const std::shared_ptr<Hook>& hook, PressureLevel level = PressureLevel::High, FakeHost* where = nullptr) {
    FakeHost& owner = where != nullptr ? *where : host;
    HookFacts told = facts(hook->config.on);
    told.device = &owner.identity();
    told.level = level;
    runner.wish(hook, owner, told);
  }
  // Until nothing runs and nothing is wished for any more, as far as `done` can tell.
  bool work_until(const std::function<bool()>& done) {
    return happens([&] {
      runner.work(clock.now());
      return done();
    });
  }
  bool work_until_ended(std::size_t runs, FakeHost* where = nullptr) {
    return work_until([&] { return (where != nullptr ? *where : host).posted("hook_end").size() >= runs; });
  }

  FakeHost host;
  Clock clock;
  std::atomic<int> wakes{0};
  HookRunner runner{clock, "/var/log/p.log", [](void* self) noexcept { ++*static_cast<std::atomic<int>*>(self); },
                    &wakes};
};

}  // namespace vramguard
