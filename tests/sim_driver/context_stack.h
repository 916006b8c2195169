// The contexts that the calling thread has pushed; the topmost is current.
#pragma once

#include "tests/sim_driver/driver.h"

namespace vgsim {

// Belongs to one thread. Plain data, so a thread's end runs nothing of ours.
struct ContextStack {
  static constexpr int kMaxDepth = 64;
  Context* entries[kMaxDepth];
  int depth;

  Context* top() const { return depth > 0 ? entries[depth - 1] : nullptr; }
  bool push(Context* context) {
    if (depth == kMaxDepth) return false;
    entries[depth++] = context;
    return true;
  }
  void pop() { --depth; }
};

ContextStack& context_stack();

}  // namespace vgsim
