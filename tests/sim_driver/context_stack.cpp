#include "tests/sim_driver/context_stack.h"

namespace vgsim {

ContextStack& context_stack() {
  static thread_local ContextStack stack;
  return stack;
}

}  // namespace vgsim
