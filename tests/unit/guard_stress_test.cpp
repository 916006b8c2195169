// Many threads in one guard whose driver is a model: what is charged is never less than what that gave.
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "tests/unit/guard_fixture.h"

using namespace vramguard;

namespace {

constexpr int kThreads = 8;

// Pools by handle, each in use in part; a destroyed one keeps what is in use. Handles come again at once.
class Driver final : public DeviceReader {
 public:
  explicit Driver(std::atomic<int>& wrong) : wrong_(wrong) {}

  void prepare() noexcept override {}
  std::optional<Bytes> bytes_of_this_process(int) noexcept override { return std::nullopt; }
  std::optional<Bytes> free_bytes(int) noexcept override { return std::nullopt; }
  std::optional<Bytes> pool_bytes(PoolHandle pool) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(pool);
    if (found == pools_.end()) ++wrong_;  // somebody looks at a pool that is gone
    return found == pools_.end() ? 0 : found->second.held;
  }
  std::optional<Bytes> graph_bytes(int) noexcept override { return 0; }
  bool trim_pool(PoolHandle pool) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = pools_.find(pool);
    if (found == pools_.end()) {
      ++wrong_;
    } else {
      total_ -= found->second.held - found->second.in_use;
      found->second.held = found->second.in_use;
    }
    return true;
  }
  bool trim_graphs(int) noexcept override { return true; }
  std::optional<Chunk> take_chunk(int, Bytes) noexcept override { return std::nullopt; }
  void give_chunk(Chunk) noexcept override {}

  PoolHandle create() {
    const std::lock_guard lock(mutex_);
    PoolHandle pool = 1;
    while (pools_.contains(pool)) ++pool;
    pools_[pool] = {};
    return pool;
  }
  void grow(PoolHandle pool, Bytes by, Bytes in_use) {
    const std::lock_guard lock(mutex_);
    Pool& what = pools_.at(pool);
    what.held += by;
    what.in_use = std::min(what.held, what.in_use + in_use);
    total_ += by;
  }
  void destroy(PoolHandle pool) {
    const std::lock_guard lock(mutex_);
    const Pool gone = pools_.at(pool);
    total_ -= gone.held - gone.in_use;
    left_ += gone.in_use;
    pools_.erase(pool);
  }
  Bytes in_use(PoolHandle pool) {
    const std::lock_guard lock(mutex_);
    return pools_.at(pool).in_use;
  }
  bool covered_by(const Ledger& guard) {
    const std::lock_guard lock(mutex_);
    return guard.admitted() >= total_;
  }
  Bytes total() const { return total_; }
  Bytes left() const { return left_; }

 private:
  struct Pool {
    Bytes held = 0, in_use = 0;
  };
  std::atomic<int>& wrong_;
  std::mutex mutex_;
  std::map<PoolHandle, Pool> pools_;
  Bytes total_ = 0;
  Bytes left_ = 0;  // of those destroyed
};

struct StressFixture {
  StressFixture() {
    config.log.target = LogTarget::None;
    guard.emplace(config, std::vector<DeviceInfo>{{0, "GPU-1", "0000:3b:00.0", 16_GiB}},
                  std::vector<Bytes>{kUnlimitedBytes}, driver, clock);
    device = guard->device(0);
    device->pools_used = true;
  }
  std::atomic<int> looked_at_dead{0};
  Driver driver{looked_at_dead};
  ManualClock clock;
  GuardConfig config;
  std::optional<Guard> guard;
  GuardedDevice* device;
};

}  // namespace

TEST_CASE("threads that create, use, trim, read and destroy pools are never charged less than those hold",
          "[guard][stress]") {
  StressFixture f;
  Guard& guard = *f.guard;
  Ledger& memory = f.device->memory;
  std::atomic<int> below{0}, refused_close{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < 600; ++i) {
        const PoolHandle pool = f.driver.create();
        guard.pools().add(pool, 0);
        for (int calls = random() % 4; calls >= 0; --calls) {
          auto reservation = memory.reserve(32_MiB);
          f.driver.grow(pool, random() % 2 == 0 ? 32_MiB : 2_MiB, random() % 2 == 0 ? 1_MiB : 0);
          memory.settle_bound(*reservation, BoundedHolder::Pools);
          if (!f.driver.covered_by(memory)) ++below;
        }
        if (random() % 2 == 0) guard.read_bounded(*f.device);
        if (random() % 8 == 0) guard.trim(*f.device);
        if (!f.driver.covered_by(memory)) ++below;
        if (!guard.pools().close(pool)) ++refused_close;
        if (random() % 8 == 0) {  // the driver refuses
          guard.pools().reopen(pool);
          if (!guard.pools().close(pool)) ++refused_close;
        }
        const Bytes left = f.driver.in_use(pool) > 0 ? guard.pool_bytes(pool) : 0;
        f.driver.destroy(pool);
        if (random() % 2 == 0) std::this_thread::yield();
        guard.pool_destroyed(*f.device, pool, left);
        if (!f.driver.covered_by(memory)) ++below;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(below == 0);
  REQUIRE(refused_close == 0);
  REQUIRE(f.looked_at_dead == 0);
  guard.read_bounded(*f.device);
  REQUIRE(memory.held(BoundedHolder::Pools) == 0);
  REQUIRE(memory.unread() == 0);
  REQUIRE(f.driver.total() == f.driver.left());
  REQUIRE(memory.unseen() >= f.driver.left());
  REQUIRE(memory.admitted() == memory.unseen());
  REQUIRE(memory.inconsistencies() == 0);
}

TEST_CASE("contexts that come at the same time are all charged where nobody tells", "[guard][stress]") {
  StressFixture f;
  std::atomic<int> started{0};
  std::vector<std::thread> threads;
  for (ContextHandle thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      ++started;
      while (started < kThreads) std::this_thread::yield();
      for (ContextHandle i = 0; i < 400; ++i) f.guard->context_created(*f.device, kContext + thread * 1'000 + i, false);
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(f.device->memory.unseen() == kThreads * 400 * kContextEstimate);
}
