#include "core/refusal.h"

namespace vramguard {

const char* to_string(RefusalScope scope) noexcept {
  switch (scope) {
    case RefusalScope::Budget:
      return "budget";
    case RefusalScope::LeaveFree:
      return "leave_free";
    case RefusalScope::Device:
      return "device";
  }
  return "";
}

}  // namespace vramguard
