// What happens to a request that does not fit: from what costs nothing, over hooks, to the policy.
#pragma once

#include <array>
#include <atomic>
#include <optional>

#include "core/budget.h"
#include "core/checkpoint.h"
#include "core/deferral.h"
#include "core/hook_round.h"
#include "core/hook_runner.h"
#include "core/oom_host.h"
#include "core/refusal.h"
#include "core/sentinel_keeper.h"
#include "core/wait_deadline.h"
#include "core/wait_line.h"

namespace vramguard {

// Steps beyond readings, trims and the sentinel are for requests of at least this size, unless the settings say
// otherwise.
constexpr Bytes kSmallestRescued = 1_MiB;
// No request waits for longer, whatever its policy says.
constexpr std::chrono::minutes kLongestWait{10};

const char* to_string(OomPolicy policy) noexcept;  // as the configuration spells it
std::optional<OomPolicy> oom_policy_named(std::string_view name) noexcept;

// What the paths of all devices share.
struct OomServices {
  HookList& hooks;
  HookRunner& runner;
  Checkpoint& checkpoint;
  Budget& spill;  // of host memory
  const Clock& clock;
};

// How the device's requests are treated. Any thread may change it; it holds for the next refusal.
struct OomSettings {
  std::atomic<OomPolicy> policy{OomPolicy::Fail};
  std::atomic<Defer> defer{Defer::Auto};
  std::atomic<bool> runs_hooks{true};
  std::atomic<Bytes> smallest_rescued{kSmallestRescued};
  std::atomic<std::chrono::milliseconds> deadline{std::chrono::seconds(5)};
  std::atomic<std::chrono::milliseconds> wait_timeout{std::chrono::seconds(30)};
};

// What became of requests that did not fit, each number for itself.
struct OomCounts {
  std::array<std::atomic<std::uint64_t>, kRefusalScopes> refused{}, returned{};
  std::atomic<std::uint64_t> recovered{0};
  std::atomic<std::uint64_t> waited_ms{0};  // from the refusal to its end, together
};

// Thread-safe. One for each device.
class OomPath {
 public:
  OomPath(OomHost& host, SentinelKeeper& sentinel, OomServices services) noexcept
      : host_(host), sentinel_(sentinel), services_(services) {}
  OomPath(const OomPath&) = delete;

  OomSettings& settings() noexcept { return settings_; }
  // Requests that were refused and then served.
  std::uint64_t recovered() const noexcept { return counts_.recovered.load(); }
  const OomCounts& counts() const noexcept { return counts_; }
  // Requests for which the sentinel gave up memory that a neighbour took first.
  std::uint64_t outrun() const noexcept { return outrun_.load(); }
  // For a request of `bytes` that fitted at once: cheap unless one like it was turned down a moment ago.
  void fitted(Bytes bytes) noexcept {
    if (deferral_.any()) forget_refusal(bytes);
  }

 private:
  friend class OomAttempt;
  void forget_refusal(Bytes bytes) noexcept;

  OomHost& host_;
  SentinelKeeper& sentinel_;
  const OomServices services_;
  OomSettings settings_;
  Deferral deferral_;
  HookRound round_;
  WaitLine line_;
  WaitDeadlines deadlines_;
  OomCounts counts_;
  std::atomic<std::uint64_t> outrun_{0};
};

// One request on that path. Belongs to the thread that made it, and may keep it waiting: the caller must hold no lock
// and no reservation while it calls failed().
class OomAttempt {
 public:
  enum class Next { TryAgain, Spill, GiveUp };

  OomAttempt(OomPath& path, const OomRequest& request) noexcept;
  ~OomAttempt();
  OomAttempt(const OomAttempt&) = delete;

  // A try has failed. `undone`: the driver had served it, and it turned out not to fit.
  Next failed(RefusalScope scope, bool undone = false) noexcept;
  // The last try has succeeded.
  void served() noexcept;
  // After Next::Spill: it is in host memory now, or that was not to be had either.
  void spilled() noexcept;
  void could_not_spill() noexcept;
  // After Next::GiveUp: what was full, and whether hooks and policy wait for the same thread to ask again.
  RefusalScope scope() const noexcept { return scope_; }
  bool deferred() const noexcept { return step_ == Step::Hooks; }

 private:
  enum class Step { Begin, Look, Trim, Refuse, Hooks, Emergency, Policy, Wait, Over };

  bool release_sentinel() noexcept;
  bool look() noexcept;
  bool refuse() noexcept;
  bool run_hooks() noexcept;
  bool run_next_hook() noexcept;
  bool a_hook_has_ended() noexcept;
  bool follow_round() noexcept;
  void end_round() noexcept;
  Next apply_policy() noexcept;
  bool nobody_can_free() noexcept;
  bool wait() noexcept;
  bool may_be_held_up() const noexcept;
  bool may_wait() const noexcept;
  bool may_save() const noexcept;
  bool is_hopeless() const noexcept;
  Bytes shortfall() noexcept;
  HookFacts facts(HookEvent event) noexcept;
  LogRecord record_of(Event event) const noexcept;
  void give_up() noexcept;
  void post_returned() noexcept;
  void recovered(const char* by, Bytes spilled) noexcept;
  std::chrono::milliseconds waited() const noexcept;
  MonotonicTime now() const noexcept { return path_.services_.clock.now(); }

  OomPath& path_;
  OomHost& host_;
  Ledger& memory_;
  const OomRequest request_;
  const std::uint64_t thread_;
  const MonotonicTime began_;
  const MonotonicTime deadline_;
  Step step_ = Step::Begin;
  RefusalScope scope_ = RefusalScope::Budget;
  unsigned attempts_ = 0;
  bool refused_ = false;
  bool undecided_ = false;  // refused, and neither recovered nor returned yet
  const char* rescued_by_ = "retry";
  const char* reason_ = "";

  bool owns_round_ = false, follows_round_ = false;
  std::uint32_t round_seen_;
  bool in_background_ = false;  // a hook said that it goes on freeing
  HookList::Hooks hooks_;
  std::size_t next_hook_ = 0;
  unsigned hooks_run_ = 0;
  bool outrun_ = false;

  bool last_look_ = false;  // after nobody was left to free anything
  std::optional<WaitLine::Place> place_;
  std::optional<RoomSignal::Listening> listening_;
  std::uint32_t room_seen_ = 0;
  MonotonicTime wait_until_{};
  std::chrono::milliseconds poll_{20};
};

}  // namespace vramguard
