#include "core/own_memory_guard.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "core/background_thread.h"

namespace vramguard {

namespace {

Bytes limit_of(Bytes budget) noexcept { return budget == 0 ? kUnlimitedBytes : budget; }

MemoryShortage shortage_of(const HookFacts& facts) {
  return {.requested = facts.requested,
          .missing = facts.missing,
          .used = facts.used,
          .budget = facts.budget,
          .device_free = facts.card_free,
          .attempt = facts.attempt};
}

// Nobody asks the runner for work on another thread: it has only callbacks to run, inside refused calls.
void wake_nobody(void*) noexcept {}

PressureLevel raw_level(Bytes budget, Bytes free) noexcept {
  if (budget == kUnlimitedBytes) return PressureLevel::None;
  const PressureBoundaries boundaries = compile(PressureConfig{}, budget);
  for (const PressureLevel level :
       {PressureLevel::Critical, PressureLevel::High, PressureLevel::Medium, PressureLevel::Low}) {
    if (free <= boundaries.threshold(level)) return level;
  }
  return PressureLevel::None;
}

}  // namespace

OwnMemoryGuard::OwnMemoryGuard(std::shared_ptr<Device> guarded, Bytes budget, Bytes reserve, const MemoryPolicy& policy,
                               const Clock& clock)
    : MemoryGuardState(std::move(guarded)),
      clock_(clock),
      info_{device().description().ordinal, device().description().uuid, device().description().pci_bus_id,
            device().description().total_bytes},
      books_(limit_of(budget), nullptr, nullptr),
      chunks_(device()),
      sentinel_(chunks_, Sentinel{.bytes = reserve}, clock_),
      runner_(clock_, {}, &wake_nobody, nullptr),
      checkpoint_(no_command_, {}, clock_, Checkpoint::Times::Each),
      oom_(*this, sentinel_, OomServices{hooks_, runner_, checkpoint_, spill_, clock_}) {
  OomSettings& settings = oom_.settings();
  settings.defer = Defer::Never;
  settings.smallest_rescued = 0;
  set_policy(policy);
}

DeviceMemory OwnMemoryGuard::allocate(Bytes bytes, bool runs_hooks) {
  std::optional<OomAttempt> attempt;
  for (;;) {
    DeviceAddress address = 0;
    const Try result = try_once(bytes, address);
    if (result == Try::Served) {
      DeviceMemory memory = memory_at(address, bytes, false);
      if (attempt) attempt->served();
      books_changed();
      return memory;
    }
    const RefusalScope scope = result == Try::DeviceFull ? RefusalScope::Device : RefusalScope::Budget;
    if (!attempt) {
      attempt.emplace(oom_, OomRequest{.api = "safe_alloc",
                                       .bytes = bytes,
                                       .worst = round_up(bytes, kPageBytes),
                                       .can_spill = true,
                                       .runs_hooks = runs_hooks});
    }
    switch (attempt->failed(scope, result == Try::Undone)) {
      case OomAttempt::Next::TryAgain:
        continue;
      case OomAttempt::Next::GiveUp:
        refuse(bytes, scope);
      case OomAttempt::Next::Spill:
        if (const std::optional<DeviceAddress> host = spill(bytes, *attempt)) {
          return memory_at(*host, bytes, true);
        }
        refuse(bytes, scope);
    }
  }
}

OwnMemoryGuard::Try OwnMemoryGuard::try_once(Bytes bytes, DeviceAddress& address) {
  std::optional<Reservation> reservation = books_.reserve_linear(bytes);
  if (!reservation) return Try::BudgetFull;
  const std::optional<DeviceAddress> taken = device().allocate(bytes);
  if (!taken) return Try::DeviceFull;
  if (!books_.settle(*reservation, AddressRange{*taken, bytes})) {
    undo({*taken, bytes});
    return Try::Undone;
  }
  address = *taken;
  return Try::Served;
}

// With the reservation still there: until the memory is back it must not be admitted to anybody else.
void OwnMemoryGuard::undo(AddressRange range) {
  try {
    device().free(range.address);
  } catch (...) {
    books_.put_back(range);  // the device keeps it
    throw;
  }
}

std::optional<DeviceAddress> OwnMemoryGuard::spill(Bytes bytes, OomAttempt& attempt) {
  std::optional<DeviceAddress> address;
  try {
    address = device().allocate_on_host(bytes);
  } catch (...) {
    attempt.could_not_spill();
    throw;
  }
  if (address) {
    spilled_allocations_.fetch_add(1);
    attempt.spilled();
  } else {
    attempt.could_not_spill();
  }
  return address;
}

void OwnMemoryGuard::refuse(Bytes bytes, RefusalScope scope) {
  if (scope == RefusalScope::Device) throw OutOfDeviceMemory(bytes, device().free_bytes());
  const Bytes missing = books_.short_of(round_up(bytes, kPageBytes));
  throw BudgetExceeded(bytes, missing, books_.used(), books_.sentinel(), books_.budget());
}

void OwnMemoryGuard::give_back(AddressRange range, bool on_host) {
  if (on_host) {
    device().free(range.address);
    spill_.give_back(range.bytes);
    return;
  }
  books_.free_begins();
  try {
    device().free(range.address);
  } catch (...) {
    books_.free_ends();
    throw;
  }
  books_.release(range);
  books_.free_ends();
  books_changed();
}

void OwnMemoryGuard::set_budget(Bytes bytes) noexcept {
  books_.set_budget(limit_of(bytes));
  books_changed();
}

Bytes OwnMemoryGuard::budget() const noexcept {
  const Bytes limit = books_.budget();
  return limit == kUnlimitedBytes ? 0 : limit;
}

void OwnMemoryGuard::set_policy(const MemoryPolicy& policy) noexcept {
  struct Setter {
    OwnMemoryGuard& state;
    OomPolicy operator()(Fail) const { return OomPolicy::Fail; }
    OomPolicy operator()(RetryAfterFree) const { return OomPolicy::RetryAfterFree; }
    OomPolicy operator()(WaitAndRetry wait) const {
      using std::chrono::milliseconds;
      state.oom_.settings().wait_timeout =
          std::clamp(wait.timeout, milliseconds(0), std::chrono::duration_cast<milliseconds>(kLongestWait));
      return OomPolicy::WaitAndRetry;
    }
    OomPolicy operator()(CheckpointAndFail) const { return OomPolicy::CheckpointAndFail; }
    OomPolicy operator()(Spill spill) const {
      state.spill_.set_limit(spill.limit);
      return OomPolicy::Spill;
    }
  };
  oom_.settings().policy = std::visit(Setter{*this}, policy);
}

void OwnMemoryGuard::on_oom(std::function<void(const MemoryShortage&)> callback) {
  Checkpoint::Callback wrapped;
  if (callback) {
    wrapped = [call = std::move(callback)](const HookFacts& facts) { call(shortage_of(facts)); };
  }
  checkpoint_.set_callback(std::move(wrapped));
}

void OwnMemoryGuard::register_hook(MemoryHook hook) {
  HookConfig config;
  config.name = std::move(hook.name);
  config.on = HookEvent::Oom;
  config.priority = hook.priority;
  config.estimated_free = hook.estimated_free_bytes;
  config.overhead = hook.execution_overhead_bytes;
  HookCallback wrapped = [call = std::move(hook.callback)](const HookFacts& facts) { return call(shortage_of(facts)); };
  if (!hooks_.add(std::move(config), std::move(wrapped))) throw std::bad_alloc();
}

PressureLevel OwnMemoryGuard::level() const noexcept { return raw_level(books_.budget(), books_.free()); }

void OwnMemoryGuard::add_listener(PressureListener listener) {
  const std::lock_guard lock(listeners_mutex_);
  auto longer = std::make_shared<Listeners>(listeners_ ? *listeners_ : Listeners{});
  longer->push_back(std::move(listener));
  listeners_ = std::move(longer);
}

void OwnMemoryGuard::books_changed() noexcept {
  tell_listeners();
  tend_reservation();
}

// Whoever puts a level down looks again afterwards: it may have been out of date by then.
void OwnMemoryGuard::tell_listeners() noexcept {
  for (PressureLevel now = level(); now != last_level_.load(); now = level()) {
    const PressureLevel before = last_level_.exchange(now);
    if (before == now) continue;
    std::shared_ptr<const Listeners> listeners;
    {
      const std::lock_guard lock(listeners_mutex_);
      listeners = listeners_;
    }
    if (!listeners) continue;
    for (const PressureListener& listener : *listeners) {
      try {
        listener(before, now);
      } catch (...) {  // the call that it hears of has succeeded
      }
    }
  }
}

void OwnMemoryGuard::tend_reservation() noexcept {
  if (!sentinel_.wanted() || tending_.exchange(true)) return;
  sentinel_.tend(*this);
  tending_.store(false);
}

bool OwnMemoryGuard::others_can_free() noexcept {
  const std::optional<unsigned> threads = threads_of_this_process();
  return !threads || *threads > 1;
}

MemoryStats OwnMemoryGuard::stats() const noexcept {
  const Statistics::Snapshot seen = books_.stats();
  return {.used = seen.used,
          .budget = budget(),
          .peak = seen.peak,
          .reserved = sentinel_.held(),
          .spilled = spill_.admitted(),
          .device_free = device().free_bytes(),
          .device_total = info_.total_bytes,
          .allocations = seen.allocations + spilled_allocations_.load(),
          .oom_recoveries = oom_.recovered()};
}

}  // namespace vramguard
