#include "core/hook.h"

#include <algorithm>
#include <iterator>

namespace vramguard {

namespace {

bool runs_before(const std::shared_ptr<Hook>& a, const std::shared_ptr<Hook>& b) {
  if (a->config.priority != b->config.priority) return a->config.priority < b->config.priority;
  return a->config.estimated_free > b->config.estimated_free;
}

}  // namespace

bool HookList::add(HookConfig config, HookCallback callback, const Registration& how) noexcept try {
  auto hook = std::make_shared<Hook>(std::move(config), std::move(callback), how);
  const std::lock_guard lock(mutex_);
  hooks_.push_back(std::move(hook));
  return true;
} catch (...) {
  return false;
}

HookList::Hooks HookList::remove(std::string_view name) noexcept try {
  const std::lock_guard lock(mutex_);
  return take_out([=](const Hook& hook) { return hook.registration.key == 0 && hook.config.name == name; });
} catch (...) {
  return {};
}

HookList::Hooks HookList::remove(std::uint64_t key) noexcept try {
  const std::lock_guard lock(mutex_);
  return take_out([=](const Hook& hook) { return hook.registration.key == key; });
} catch (...) {
  return {};
}

bool HookList::replace(HookConfig config, HookCallback callback, Hooks& removed) noexcept try {
  auto hook = std::make_shared<Hook>(std::move(config), std::move(callback));
  const std::lock_guard lock(mutex_);
  hooks_.reserve(hooks_.size() + 1);
  removed = take_out(
      [&](const Hook& other) { return other.registration.key == 0 && other.config.name == hook->config.name; });
  hooks_.push_back(std::move(hook));
  return true;
} catch (...) {
  return false;
}

bool HookList::configure(const std::vector<HookConfig>& configured) noexcept try {
  Hooks fresh;
  for (const HookConfig& hook : configured) fresh.push_back(std::make_shared<Hook>(hook));
  const std::lock_guard lock(mutex_);
  for (std::shared_ptr<Hook>& hook : fresh) {
    const auto same = std::find_if(hooks_.begin(), hooks_.end(), [&](const std::shared_ptr<Hook>& old) {
      return !old->callback && old->config == hook->config;
    });
    if (same != hooks_.end()) hook = *same;
  }
  for (const std::shared_ptr<Hook>& old : hooks_) {
    if (old->callback) {
      fresh.push_back(old);
    } else if (std::find(fresh.begin(), fresh.end(), old) == fresh.end()) {
      old->gate.close();
    }
  }
  hooks_ = std::move(fresh);
  return true;
} catch (...) {
  return false;
}

// Memory first, so that nothing is taken that cannot be handed over.
template <typename Matches>
HookList::Hooks HookList::take_out(Matches&& matches) {
  const auto goes = [&](const std::shared_ptr<Hook>& hook) { return hook->callback && matches(*hook); };
  Hooks taken;
  std::copy_if(hooks_.begin(), hooks_.end(), std::back_inserter(taken), goes);
  for (const std::shared_ptr<Hook>& hook : taken) hook->gate.close();
  std::erase_if(hooks_, goes);
  return taken;
}

HookList::Hooks HookList::of(HookEvent event, std::optional<int> device) const noexcept try {
  const auto matches = [&](const std::shared_ptr<Hook>& hook) {
    return hook->config.on == event && (!device || hook->registration.device.value_or(*device) == *device);
  };
  Hooks found;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(hooks_.begin(), hooks_.end(), std::back_inserter(found), matches);
  }
  std::stable_sort(found.begin(), found.end(), runs_before);
  return found;
} catch (...) {
  return {};
}

bool HookList::any(HookEvent event) const noexcept {
  const std::lock_guard lock(mutex_);
  return std::any_of(hooks_.begin(), hooks_.end(),
                     [&](const std::shared_ptr<Hook>& hook) { return hook->config.on == event; });
}

HookList::Totals HookList::totals() const noexcept {
  const std::lock_guard lock(mutex_);
  Totals totals;
  for (const std::shared_ptr<Hook>& hook : hooks_) {
    totals.runs += hook->gate.runs();
    totals.failures += hook->gate.failures();
  }
  return totals;
}

}  // namespace vramguard
