// fold(), with a look in between for tests that end it there.
#pragma once

#include <string>

namespace vramguard {

enum class FoldStep { Locked, Read, Written, Published, StateRemoved, ControlRemoved };

// As fold(). `after` is called after each step.
bool fold_by_steps(const std::string& folder, const std::string& state_path, void (*after)(FoldStep)) noexcept;

}  // namespace vramguard
