// The contexts that are alive, by handle. A handle value can come again after its context died, so each life has an id.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace vramguard {

using ContextHandle = std::uint64_t;
using ContextId = std::uint32_t;

struct Context {
  ContextHandle handle;
  ContextId id;
  int device;
  bool primary;                   // any that the program did not create itself
  unsigned extra_references = 0;  // by cuCtxAttach
};

// Thread-safe. A few contexts a process: a vector under a lock that is never held while anything else is called.
class ContextTable {
 public:
  std::optional<Context> find(ContextHandle handle) const;
  // Adds the context unless it is there; says whether this call added it. nullopt: no memory.
  std::optional<bool> add(ContextHandle handle, int device, bool primary) noexcept;
  void add_reference(ContextHandle handle);
  // False if there is none: the next reference that is dropped ends the context.
  bool drop_extra_reference(ContextHandle handle);
  // Takes the context out, whatever its references.
  std::optional<Context> take(ContextHandle handle);
  // One that is primary there, until none is left.
  std::optional<Context> take_primary(int device);
  bool alive(ContextId id) const;
  unsigned count(int device) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Context> contexts_;
  ContextId next_id_ = 1;
};

}  // namespace vramguard
