#include "core/context_table.h"

#include <algorithm>

namespace vramguard {

namespace {

auto position(auto& contexts, ContextHandle handle) { return std::ranges::find(contexts, handle, &Context::handle); }

std::optional<Context> take_at(std::vector<Context>& contexts, std::vector<Context>::iterator where) {
  if (where == contexts.end()) return std::nullopt;
  const Context gone = *where;
  contexts.erase(where);
  return gone;
}

}  // namespace

std::optional<Context> ContextTable::find(ContextHandle handle) const {
  const std::lock_guard lock(mutex_);
  const auto found = position(contexts_, handle);
  return found == contexts_.end() ? std::nullopt : std::optional(*found);
}

std::optional<bool> ContextTable::add(ContextHandle handle, int device, bool primary) noexcept try {
  const std::lock_guard lock(mutex_);
  if (position(contexts_, handle) != contexts_.end()) return false;
  contexts_.push_back({handle, next_id_++, device, primary});
  return true;
} catch (...) {
  return std::nullopt;
}

void ContextTable::add_reference(ContextHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = position(contexts_, handle);
  if (found != contexts_.end()) ++found->extra_references;
}

bool ContextTable::drop_extra_reference(ContextHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = position(contexts_, handle);
  if (found == contexts_.end() || found->extra_references == 0) return false;
  --found->extra_references;
  return true;
}

std::optional<Context> ContextTable::take(ContextHandle handle) {
  const std::lock_guard lock(mutex_);
  return take_at(contexts_, position(contexts_, handle));
}

std::optional<Context> ContextTable::take_primary(int device) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      contexts_, [device](const Context& context) { return context.device == device && context.primary; });
  return take_at(contexts_, found);
}

bool ContextTable::alive(ContextId id) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(contexts_, id, &Context::id) != contexts_.end();
}

unsigned ContextTable::count(int device) const {
  const std::lock_guard lock(mutex_);
  return static_cast<unsigned>(std::ranges::count(contexts_, device, &Context::device));
}

}  // namespace vramguard
