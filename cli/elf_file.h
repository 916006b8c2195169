// The few facts of an ELF file that decide whether the loader can preload something into it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vramguard {

struct ElfFile {
  unsigned char bits = 0;  // 32 or 64
  bool little_endian = true;
  std::uint16_t machine = 0;  // EM_X86_64, ...
  bool shared = false;        // ET_DYN: a library or a position-independent program
  std::string interpreter;    // the loader it asks for; "" for a static program or a library
  bool same_kind(const ElfFile& other) const {
    return bits == other.bits && little_endian == other.little_endian && machine == other.machine;
  }
};

// nullopt when `path` cannot be read or is no complete ELF file.
std::optional<ElfFile> read_elf_file(const std::string& path);

// "64-bit x86-64", for messages.
std::string describe(const ElfFile& file);

}  // namespace vramguard
