// Words for the few errors that opening a file can give; strerror is neither thread-safe nor independent of the locale.
#pragma once

#include <string>

namespace vramguard {

std::string errno_text(int error);

}  // namespace vramguard
