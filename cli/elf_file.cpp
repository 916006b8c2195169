#include "cli/elf_file.h"

#include <elf.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <vector>

namespace vramguard {
namespace {

constexpr std::size_t kLongestInterpreter = 4096;

bool read_at(std::ifstream& file, std::uint64_t offset, void* out, std::size_t size) {
  file.clear();
  return file.seekg(static_cast<std::streamoff>(offset)) &&
         file.read(static_cast<char*>(out), static_cast<std::streamsize>(size));
}

// The rest of a file whose byte order is ours. False when it is cut short.
template <typename Header, typename Segment>
bool read_native(std::ifstream& file, ElfFile& out) {
  Header header;
  if (!read_at(file, 0, &header, sizeof header)) return false;
  out.machine = header.e_machine;
  out.shared = header.e_type == ET_DYN;
  if (header.e_phentsize != sizeof(Segment) && header.e_phnum != 0) return false;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Segment segment;
    if (!read_at(file, header.e_phoff + i * sizeof segment, &segment, sizeof segment)) return false;
    if (segment.p_type != PT_INTERP) continue;
    if (segment.p_filesz == 0 || segment.p_filesz > kLongestInterpreter) return false;
    std::vector<char> name(segment.p_filesz + 1, '\0');
    if (!read_at(file, segment.p_offset, name.data(), segment.p_filesz)) return false;
    out.interpreter = name.data();
  }
  return true;
}

}  // namespace

std::optional<ElfFile> read_elf_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  unsigned char ident[EI_NIDENT];
  if (!read_at(file, 0, ident, sizeof ident) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) return std::nullopt;

  ElfFile out;
  if (ident[EI_CLASS] != ELFCLASS32 && ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
  out.bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  out.little_endian = ident[EI_DATA] == ELFDATA2LSB;
  const bool native = out.little_endian == (std::endian::native == std::endian::little);
  if (!native) return out;  // enough to say that it is for another machine
  const bool whole =
      out.bits == 64 ? read_native<Elf64_Ehdr, Elf64_Phdr>(file, out) : read_native<Elf32_Ehdr, Elf32_Phdr>(file, out);
  if (!whole) return std::nullopt;
  return out;
}

std::string describe(const ElfFile& file) {
  std::string out = std::to_string(file.bits) + "-bit";
  switch (file.machine) {
    case EM_X86_64:
      return out + " x86-64";
    case EM_386:
      return out + " x86";
    case EM_AARCH64:
    case EM_ARM:
      return out + " ARM";
    default:
      return out + " (machine " + std::to_string(file.machine) + ")";
  }
}

}  // namespace vramguard
