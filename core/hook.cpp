#include "core/hook.h"

#include <algorithm>

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

bool HookList::remove(std::string_view name) noexcept {
  const std::lock_guard lock(mutex_);
  return std::erase_if(hooks_, [&](const std::shared_ptr<Hook>& hook) { return hook->config.name == name; }) > 0;
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
