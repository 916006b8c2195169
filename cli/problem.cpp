#include "cli/problem.h"

#include <cstdio>

namespace vramguard {

void print_error(const std::string& message) { std::fprintf(stderr, "vramguard: error: %s\n", message.c_str()); }
void print_warning(const std::string& message) { std::fprintf(stderr, "vramguard: warning: %s\n", message.c_str()); }

}  // namespace vramguard
