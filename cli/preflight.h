// What the dynamic loader would pass over in silence is found before the command starts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cli/elf_file.h"
#include "cli/problem.h"

namespace vramguard {

// Whether the library can be preloaded at all: readable, for this machine, mounted with leave to execute, and its path
// free of what the loader takes for a separator.
std::optional<Problem> check_library(const std::string& library);

// Whether `command` can be started with `library` (of that ELF kind) in it: found, executable, dynamic, of the
// library's kind, neither musl nor setuid, and not one that has its work done elsewhere. Scripts are followed to their
// interpreter.
std::optional<Problem> check_command(const std::string& command, std::string_view path_variable,
                                     const ElfFile& library);

}  // namespace vramguard
