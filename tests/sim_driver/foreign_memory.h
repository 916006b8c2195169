// Memory of another process or another interface that has an address in this one. It costs nothing here.
#pragma once

#include "tests/sim_driver/driver.h"

namespace vgsim {

inline bool is_foreign(const Allocation& allocation) {
  return allocation.kind == MemoryKind::IpcOpened || allocation.kind == MemoryKind::External;
}

// An address in `context` for `bytes` that lie on `device`; nullptr where there are no addresses left.
Allocation* add_foreign(MemoryKind kind, Context& context, Device& device, std::uint64_t bytes);

// Makes a later opening of the same memory start anew.
void forget_opened(const Allocation& allocation);

// Gives its addresses back.
void end_foreign(Allocation& allocation);

}  // namespace vgsim
