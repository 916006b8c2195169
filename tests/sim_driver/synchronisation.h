// What the driver does with its memory whenever a program waits for its work.
#pragma once

namespace vgsim {

// Pools give back what is beyond their release threshold, and graphs may share what they took. All work is done
// anyway, so it does not matter what was waited for.
void synchronise();

}  // namespace vgsim
