// What a program registers by vramguard.h: oom hooks, its checkpoint, pressure listeners.
#pragma once

#include "shim/vramguard.h"

#include <cstdint>

// As vramguard.h says; any thread.
namespace vramguard::c_callbacks {

int add_oom_hook(const char* name, int priority, std::uint64_t estimated_free, vramguard_oom_hook hook,
                 void* context) noexcept;
int remove_oom_hook(const char* name) noexcept;
int register_hook(const vramguard_hook* hook) noexcept;
int unregister_hook(vramguard_oom_hook hook, void* context) noexcept;
int set_checkpoint(vramguard_checkpoint checkpoint, void* context) noexcept;
int remove_checkpoint(vramguard_checkpoint checkpoint, void* context) noexcept;
int add_pressure_listener(vramguard_pressure_listener listener, void* context) noexcept;
int remove_pressure_listener(vramguard_pressure_listener listener, void* context) noexcept;

}  // namespace vramguard::c_callbacks
