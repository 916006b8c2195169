// Targets that the loader would start without the library, or whose work happens elsewhere.

#include "cli/preflight.h"

#include "cli/elf_file.h"
#include "cli/escaping_commands.h"
#include "cli/program_search.h"
#include "tests/cli/command_fixture.h"

#include <catch2/catch.hpp>

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

using namespace vramguard;
using Catch::Matchers::Contains;

namespace {

// An ELF program that is complete as far as its headers go.
std::string elf_program(const std::string& interpreter, std::uint16_t machine) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = machine;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = interpreter.empty() ? 0 : 1;
  Elf64_Phdr segment{};
  segment.p_type = PT_INTERP;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = interpreter.size() + 1;
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  if (!interpreter.empty())
    text += std::string(reinterpret_cast<const char*>(&segment), sizeof segment) + interpreter + '\0';
  return text;
}

std::uint16_t own_machine() { return read_elf_file("/proc/self/exe")->machine; }

void check_refused(const Outcome& outcome, const std::string& message) {
  CAPTURE(outcome.err);
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Contains(message));
}

}  // namespace

#ifdef VRAMGUARD_STATIC_PROGRAM
TEST_CASE("a static program is refused, also as the interpreter of a script") {
  const CommandFixture fixture;
  check_refused(fixture.vramguard({"run", VRAMGUARD_STATIC_PROGRAM}), "is statically linked");
  const std::string script = fixture.write("tools/script", std::string("#!") + VRAMGUARD_STATIC_PROGRAM + "\n", 0755);
  check_refused(fixture.vramguard({"run", "script"}), "is statically linked");
  check_refused(fixture.vramguard({"run", "script"}), "(the interpreter of '" + script + "')");
}
#endif

TEST_CASE("programs of another kind, for musl or without a loader are refused") {
  const CommandFixture fixture;
  const std::uint16_t other = own_machine() == EM_AARCH64 ? EM_X86_64 : EM_AARCH64;
  std::string narrow = elf_program("/lib/ld-linux.so.2", EM_386);
  narrow[EI_CLASS] = ELFCLASS32;
  check_refused(fixture.vramguard({"run", fixture.write("foreign", elf_program("/lib/ld.so", other), 0755)}),
                "program, and libvramguard.so is 64-bit");
  check_refused(
      fixture.vramguard({"run", fixture.write("musl", elf_program("/lib/ld-musl-x86_64.so.1", own_machine()), 0755)}),
      "is a musl program");
  check_refused(fixture.vramguard({"run", fixture.write("static-pie", elf_program("", own_machine()), 0755)}),
                "is statically linked");
}

TEST_CASE("damaged ELF files are no ELF files, and nothing is read beyond their end") {
  const CommandFixture fixture;
  const std::string whole = elf_program("/lib64/ld-linux-x86-64.so.2", own_machine());
  REQUIRE(read_elf_file(fixture.write("whole", whole))->interpreter == "/lib64/ld-linux-x86-64.so.2");
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    const auto elf = read_elf_file(fixture.write("cut", whole.substr(0, length)));
    CHECK_FALSE(elf.has_value());
  }
  CHECK_FALSE(read_elf_file(fixture.path("not-there")).has_value());
  CHECK_FALSE(read_elf_file(fixture.folder()).has_value());
  std::string huge = whole;
  Elf64_Phdr segment;
  std::memcpy(&segment, huge.data() + sizeof(Elf64_Ehdr), sizeof segment);
  segment.p_filesz = UINT64_MAX;
  std::memcpy(huge.data() + sizeof(Elf64_Ehdr), &segment, sizeof segment);
  CHECK_FALSE(read_elf_file(fixture.write("huge", huge)).has_value());
}

TEST_CASE("setuid and setgid programs of somebody else are refused, our own are not") {
  if (geteuid() != 0) {
    WARN("skipped: only root can make files of another user");
    return;
  }
  const CommandFixture fixture;
  const std::string program = fixture.copy("/bin/true", "tools/special");
  REQUIRE(chmod(program.c_str(), 06755) == 0);
  CHECK(fixture.vramguard({"run", "special"}).exit_status == 0);
  REQUIRE(chown(program.c_str(), 12345, 0) == 0);
  REQUIRE(chmod(program.c_str(), 04755) == 0);
  check_refused(fixture.vramguard({"run", "special"}), "is setuid");
  REQUIRE(chown(program.c_str(), 0, 12345) == 0);
  REQUIRE(chmod(program.c_str(), 02755) == 0);
  check_refused(fixture.vramguard({"run", "special"}), "is setgid");
}

TEST_CASE("commands that leave the process tree are refused with the way to do it") {
  const CommandFixture fixture;
  for (const char* name : {"docker", "podman", "nerdctl", "srun", "sbatch", "salloc", "ssh", "sudo", "doas", "su",
                           "kubectl", "systemd-run", "machinectl", "flatpak", "snap", "mpirun"}) {
    CAPTURE(name);
    REQUIRE(remedy_for(name));
    fixture.copy("/bin/true", std::string("tools/") + name);
    check_refused(fixture.vramguard({"run", "-b", "1GiB", name, "x"}), *remedy_for(name));
    check_refused(fixture.vramguard({"run", fixture.path("tools/") + name}), *remedy_for(name));
  }
  std::filesystem::create_symlink(fixture.path("tools/podman"), fixture.path("tools/containers"));
  check_refused(fixture.vramguard({"run", "containers"}), "in a container");
  CHECK_FALSE(remedy_for("python3"));
}

TEST_CASE("scripts run with the interpreter that their first line names") {
  const CommandFixture fixture;
  fixture.write("tools/plain", "#!/bin/sh\necho \"plain $1 $LD_PRELOAD\"\n", 0755);
  CHECK(fixture.vramguard({"run", "plain", "a b"}).out == "plain a b " + fixture.library() + "\n");
  fixture.write("tools/by-env", "#!/usr/bin/env -S sh -e\necho \"env $1\"\n", 0755);
  CHECK(fixture.vramguard({"run", "by-env", "x"}).out == "env x\n");
  fixture.write("tools/no-line", "echo \"none $1\"\n", 0755);
  CHECK(fixture.vramguard({"run", "no-line", "x"}).out == "none x\n");

  fixture.write("tools/lost", "#!/usr/bin/env no-such-interpreter\n", 0755);
  const Outcome lost = fixture.vramguard({"run", "lost"});
  CHECK(lost.exit_status == 127);
  CHECK_THAT(lost.err, Contains("'no-such-interpreter': command not found (the interpreter of"));
  fixture.write("tools/gone", "#!/no/such/interpreter\n", 0755);
  CHECK(fixture.vramguard({"run", "gone"}).exit_status == 127);
  fixture.copy("/bin/true", "tools/docker");
  fixture.write("tools/hidden", "#!/usr/bin/env docker\n", 0755);
  check_refused(fixture.vramguard({"run", "hidden"}), "in a container");
  fixture.write("tools/circle", "#!" + fixture.path("tools/circle") + "\n", 0755);
  CHECK(fixture.vramguard({"run", "circle"}).exit_status == 126);
}

TEST_CASE("the program that env looks up is found behind its options and assignments") {
  const CommandFixture fixture;
  struct Row {
    const char* line;
    const char* interpreter;
    const char* looked_up;
  };
  for (const Row& row : {Row{"#!/bin/sh\n", "/bin/sh", ""}, Row{"#! /bin/sh -e\n", "/bin/sh", ""},
                         Row{"#!/bin/sh", "/bin/sh", ""}, Row{"#!/usr/bin/env python3\n", "/usr/bin/env", "python3"},
                         Row{"#!/usr/bin/env -S python3 -u\n", "/usr/bin/env", "python3"},
                         Row{"#!/usr/bin/env -Spython3 -u\n", "/usr/bin/env", "python3"},
                         Row{"#!/usr/bin/env -S -u X A=1 python3\n", "/usr/bin/env", "python3"},
                         Row{"#!/usr/bin/env\n", "/usr/bin/env", ""}, Row{"#!\n", "", ""}, Row{"#!", "", ""},
                         Row{"echo\n", "", ""}, Row{"", "", ""}}) {
    CAPTURE(row.line);
    const ScriptLine line = read_script_line(fixture.write("script", row.line));
    CHECK(line.interpreter == row.interpreter);
    CHECK(line.looked_up == row.looked_up);
  }
}
