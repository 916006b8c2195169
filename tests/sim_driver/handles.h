// Streams, events, modules and what is in them: objects that a program knows by a handle.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "tests/sim_driver/driver.h"

namespace vgsim {

inline constexpr unsigned int kStreamNonBlocking = 1;  // CU_STREAM_NON_BLOCKING

struct Stream {
  Context* context;
  unsigned int flags;
  int priority;
  std::uint64_t id;
  std::shared_ptr<struct CaptureSeat> seat;  // made when it is first captured
};

struct Event {
  Context* context;
  unsigned int flags;
  bool recorded = false;
  std::int64_t recorded_ns = 0;
  std::shared_ptr<struct CapturedEvent> captured;  // where the last record was in a capture
};

struct Module {
  Context* context;  // nullptr: of a library, which belongs to no context
  std::unordered_map<std::string, struct Kernel*> kernels;
};

struct Kernel {
  Module* module;
  std::string name;
};

// The live objects of one kind. Guarded by DriverLock. A handle that never was one is not found, where the real driver
// would crash.
template <class Object>
class HandleTable {
 public:
  template <class Handle>
  Handle add(Object object) {
    auto owned = std::make_unique<Object>(std::move(object));
    Object* key = owned.get();
    objects_.emplace(key, std::move(owned));
    return reinterpret_cast<Handle>(key);
  }
  Object* find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second.get();
  }
  bool remove(const void* handle) { return objects_.erase(handle) != 0; }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    for (auto it = objects_.begin(); it != objects_.end();)
      it = predicate(*it->second) ? objects_.erase(it) : std::next(it);
  }

 private:
  std::unordered_map<const void*, std::unique_ptr<Object>> objects_;
};

struct Handles {
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<Module> modules;
  HandleTable<Kernel> kernels;
};

// Never destroyed.
Handles& handles();

void end_handles_of(Context& context);

// The context that work on a stream belongs to. The default streams are those of the current context.
CUresult stream_context(CUstream stream, Context*& context);

}  // namespace vgsim
