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

bool HookList::add(HookConfig config, HookCallback callback) noexcept try {
  auto hook = std::make_shared<Hook>(std::move(config), std::move(callback));
  const std::lock_guard lock(mutex_);
  hooks_.push_back(std::move(hook));
  return true;
} catch (...) {
  return false;
}

HookList::Hooks HookList::remove(std::string_view name) noexcept try {
  const std::lock_guard lock(mutex_);
  return take_out(name);
} catch (...) {
  return {};
}

bool HookList::replace(HookConfig config, HookCallback callback, Hooks& removed) noexcept try {
  auto hook = std::make_shared<Hook>(std::move(config), std::move(callback));
  const std::lock_guard lock(mutex_);
  hooks_.reserve(hooks_.size() + 1);
  removed = take_out(hook->config.name);
  hooks_.push_back(std::move(hook));
  return true;
} catch (...) {
  return false;
}

// Memory first, so that nothing is taken that cannot be handed over.
HookList::Hooks HookList::take_out(std::string_view name) {
  const auto matches = [&](const std::shared_ptr<Hook>& hook) { return hook->callback && hook->config.name == name; };
  Hooks taken;
  std::copy_if(hooks_.begin(), hooks_.end(), std::back_inserter(taken), matches);
  for (const std::shared_ptr<Hook>& hook : taken) hook->gate.close();
  std::erase_if(hooks_, matches);
  return taken;
}

HookList::Hooks HookList::of(HookEvent event) const noexcept try {
  Hooks found;
  {
    const std::lock_guard lock(mutex_);
    std::copy_if(hooks_.begin(), hooks_.end(), std::back_inserter(found),
                 [&](const std::shared_ptr<Hook>& hook) { return hook->config.on == event; });
  }
  std::stable_sort(found.begin(), found.end(), runs_before);
  return found;
} catch (...) {
  return {};
}

std::shared_ptr<Hook> HookList::find(std::string_view name) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(hooks_.begin(), hooks_.end(),
                                  [&](const std::shared_ptr<Hook>& hook) { return hook->config.name == name; });
  return found != hooks_.end() ? *found : nullptr;
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
