#include "tests/sim_driver/foreign_memory.h"

namespace vgsim {
Allocation* add_foreign(MemoryKind kind, Context& context, Device& device, std::uint64_t bytes) {
  const auto page = context.device->space.take(pages_of(bytes));
  if (!page) return nullptr;
  Allocation& allocation = driver().allocations[*page * kPageBytes];
  allocation.address = *page * kPageBytes;
  allocation.bytes = bytes;
  allocation.kind = kind;
  allocation.context = &context;
  allocation.device = &device;
  allocation.id = driver().next_id++;
  return &allocation;
}

void end_foreign(Allocation& allocation) {
  if (allocation.kind == MemoryKind::IpcOpened) forget_opened(allocation);
  allocation.context->device->space.give(allocation.address / kPageBytes, pages_of(allocation.bytes));
}

}  // namespace vgsim
