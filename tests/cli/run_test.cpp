// `vramguard run` as a user meets it.

#include "tests/cli/given_command.h"

#include <catch2/catch.hpp>

#include <csignal>
#include <filesystem>
#include <string>

using namespace vramguard;
using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;

TEST_CASE("the command gets its arguments and the library") {
  const CommandFixture fixture;
  const Outcome outcome =
      fixture.vramguard({"run", "-b", "4GiB", "sh", "-c", "printf '[%s]' \"$@\"; echo \" $LD_PRELOAD\"", "sh", "a b",
                         "", "-b", "--", "--help", "$x"});
  CHECK(outcome.err.empty());
  CHECK(outcome.out == "[a b][][-b][--][--help][$x] " + fixture.library() + "\n");
  CHECK(outcome.exit_status == 0);
}

TEST_CASE("options end at the command or at --") {
  const CommandFixture fixture;
  CHECK(fixture.vramguard({"run", "-b4GiB", "--", "printf", "[%s]", "--version"}).out == "[--version]");
  CHECK(run_with(fixture, {"--budget=4GiB"}).budgets() == "4GiB");
  CHECK(run_with(fixture, {"--device", "cuda:0=1GiB", "--device=cuda:1=50%"}).budgets() ==
        "unlimited,cuda:0=1GiB,cuda:1=50%");
  CHECK(fixture.vramguard({"run", "--", "--not-there"}).exit_status == 127);
}

TEST_CASE("the exit status and the signal of the command are passed on, from the same process") {
  const CommandFixture fixture;
  for (const int status : {0, 1, 42, 125, 255}) {
    CHECK(fixture.vramguard({"run", "sh", "-c", "exit " + std::to_string(status)}).exit_status == status);
  }
  CHECK(fixture.vramguard({"run", "sh", "-c", "kill -TERM $$"}).signal == SIGTERM);
  CHECK(fixture.vramguard({"run", "sh", "-c", "kill -KILL $$"}).signal == SIGKILL);
}

TEST_CASE("what cannot be found ends with 127, what cannot be executed with 126") {
  const CommandFixture fixture;
  Outcome outcome = fixture.vramguard({"run", "no-such-program"});
  CHECK(outcome.exit_status == 127);
  CHECK(outcome.err == "vramguard: error: 'no-such-program': command not found\n");
  outcome = fixture.vramguard({"run", "/no/such/program"});
  CHECK(outcome.exit_status == 127);
  outcome = fixture.vramguard({"run", ""});
  CHECK(outcome.exit_status == 127);

  const std::string text = fixture.write("tools/notes", "hello\n");
  outcome = fixture.vramguard({"run", text});
  CHECK(outcome.exit_status == 126);
  CHECK(outcome.err == "vramguard: error: '" + text + "' cannot be executed: permission denied\n");
  CHECK(fixture.vramguard({"run", "notes"}).exit_status == 126);
  CHECK(fixture.vramguard({"run", fixture.folder()}).exit_status == 126);
}

TEST_CASE("usage errors end with 125 and say where help is") {
  const CommandFixture fixture;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"bogus"},
                                             {"run"},
                                             {"run", "-b"},
                                             {"run", "--"},
                                             {"run", "-b", "4GiB"},
                                             {"run", "--bugdet", "4GiB", "true"},
                                             {"run", "-b", "1GiB", "-b", "2GiB", "true"},
                                             {"check", "--fast"},
                                             {"check", "a", "b"},
                                             {"version", "now"}}) {
    const Outcome outcome = fixture.vramguard(arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.exit_status == 125);
    CHECK_THAT(outcome.err, StartsWith("vramguard: error: "));
    CHECK_THAT(outcome.err, Contains("--help'"));
    CHECK(outcome.out.empty());
  }
}

TEST_CASE("--help explains and ends with 0") {
  const CommandFixture fixture;
  CHECK(fixture.vramguard({"--help"}).exit_status == 0);
  const Outcome outcome = fixture.vramguard({"run", "--help"});
  CHECK(outcome.exit_status == 0);
  CHECK_THAT(outcome.out, Contains("each process"));
}

TEST_CASE("bad sizes and GPU names never start the command") {
  const CommandFixture fixture;
  const auto refuse = [&](std::vector<std::string> options, const std::string& message) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"echo", "started"});
    const Outcome outcome = fixture.vramguard(options);
    CHECK(outcome.exit_status == 125);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, StartsWith("vramguard: error: " + message));
  };
  refuse({"-b", "20"}, "-b: '20' is 20 bytes; did you mean 20GiB?");
  refuse({"-b", "0"}, "-b: '0' leaves nothing at all");
  refuse({"-b", ""}, "-b: the size is empty");
  refuse({"-b", "4GiB,cuda:0=1GiB"}, "-b: '4GiB,cuda:0=1GiB' has a comma");
  refuse({"--device", "cuda:0"}, "--device: 'cuda:0' is not GPU=SIZE");
  refuse({"--device", "gpu0=1GiB"}, "--device: 'gpu0' names no GPU");
  refuse({"--device", "cuda:0=0"}, "--device: cuda:0: '0' leaves nothing");
  refuse({"--log", ""}, "--log: the path is empty");
}

TEST_CASE("-b replaces an inherited budget, --device adds to it") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD_BUDGET", "8GiB,cuda:1=2GiB");
  CHECK(run_with(fixture, {}).budgets() == "8GiB,cuda:1=2GiB");
  CHECK(run_with(fixture, {"-b", "4GiB"}).budgets() == "4GiB");
  CHECK(run_with(fixture, {"--device", "cuda:0=1GiB", "--device", "CUDA:1=50%"}).budgets() ==
        "8GiB,CUDA:1=50%,cuda:0=1GiB");
  CHECK(run_with(fixture, {"-b", "unlimited", "--device", "cuda:0=1GiB"}).budgets() == "unlimited,cuda:0=1GiB");
}

TEST_CASE("--log is made absolute and keeps its expansions") {
  const CommandFixture fixture;
  const std::string script = fixture.write("tools/in-folder",
                                           "#!/bin/sh\nmkdir -p \"$1\" && cd \"$1\" && exec \"$2\" run --log "
                                           "log-%p.txt sh -c 'grep ^path \"$VRAMGUARD_CONFIG\"'\n",
                                           0755);
  CHECK(run_with(fixture, {"--log", "/x/%u-%p.log"}).loaded.config.log.path == "/x/%u-%p.log");
  const Outcome relative = fixture.vramguard({"run", script, fixture.path("50%p"), fixture.path("bin/vramguard")});
  CHECK(relative.out == "path = \"" + fixture.path("50%%p") + "/log-%p.txt\"\n");
}

TEST_CASE("what is preloaded already is kept, and the library is there once") {
#ifdef VRAMGUARD_SANITIZED
  WARN("skipped: a command with sanitizers does not start under another preload");
  return;
#endif
  CommandFixture fixture;
  const std::string other = fixture.copy(VRAMGUARD_DUMMY_LIBRARY, "other/libother.so");
  fixture.set("LD_PRELOAD", other + ":/elsewhere/libvramguard.so " + fixture.library());
  fixture.set("ASAN_OPTIONS", "detect_leaks=0");
  const Outcome outcome = fixture.vramguard({"run", "printenv", "LD_PRELOAD", "ASAN_OPTIONS"});
  CHECK(outcome.out == fixture.library() + ":" + other + "\ndetect_leaks=0:verify_asan_link_order=0\n");
}

TEST_CASE("a wrong configuration never starts the command") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD_CONFIG", fixture.write("mine.toml", "schema = 1\nbugdet = \"8GiB\"\n[log]\nlevel = 3\n"));
  const Outcome outcome = fixture.vramguard({"run", "echo", "started"});
  CHECK(outcome.exit_status == 125);
  CHECK(outcome.out.empty());
  CHECK_THAT(outcome.err, Contains("mine.toml:2:1: error: unknown key 'bugdet'; did you mean 'budget'?"));
  CHECK_THAT(outcome.err, Contains("mine.toml:4:9: error: log.level takes one of"));
}

TEST_CASE("one line on a terminal says what happens, and none anywhere else") {
  CommandFixture fixture;
  CHECK(fixture.vramguard({"run", "-b", "4GiB", "true"}).err.empty());
  const Outcome outcome = fixture.vramguard(
      {"run", "-b", "4GiB", "--device", "cuda:1=2GiB", "--log", "/x/a.log", "true"}, CommandFixture::Stderr::Terminal);
  CHECK_THAT(outcome.err, StartsWith("vramguard: budget 4GiB per GPU for the command and its children, cuda:1 2GiB; "));
  CHECK_THAT(outcome.err, EndsWith("watch: vramguard top, log /x/a.log; switch off: VRAMGUARD=0\r\n"));
  const auto line = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"run", "-b", "4GiB"});
    options.emplace_back("true");
    return fixture.vramguard(options, CommandFixture::Stderr::Terminal).err;
  };
  CHECK_THAT(line({"--per-process"}), StartsWith("vramguard: budget 4GiB per GPU and process; "));
  CHECK_THAT(line({"--group", "job-7"}), StartsWith("vramguard: budget 4GiB per GPU for the group job-7; "));
  CHECK_THAT(fixture.vramguard({"run", "true"}, CommandFixture::Stderr::Terminal).err,
             StartsWith("vramguard: no budget, nothing is refused;"));
  fixture.set("VRAMGUARD_QUIET", "1");
  CHECK(fixture.vramguard({"run", "-b", "4GiB", "true"}, CommandFixture::Stderr::Terminal).err.empty());
}

TEST_CASE("a command that is switched off runs, and the switch is pointed out") {
  CommandFixture fixture;
  fixture.set("VRAMGUARD", "0");
  const Outcome outcome = fixture.vramguard({"run", "-b", "4GiB", "echo", "started"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out == "started\n");
  CHECK(outcome.err == "vramguard: warning: VRAMGUARD=0 is set: the command runs without a budget\n");
}

TEST_CASE("a library that the loader would pass over is refused") {
  const CommandFixture fixture;
  SECTION("missing") {
    std::filesystem::remove(fixture.library());
    const Outcome outcome = fixture.vramguard({"run", "true"});
    CHECK(outcome.exit_status == 125);
    CHECK_THAT(outcome.err, StartsWith("vramguard: error: libvramguard.so is neither in " + fixture.path("bin")));
    CHECK_THAT(fixture.vramguard({"version"}).out, Contains("not found"));
  }
  SECTION("not a library") {
    std::filesystem::remove(fixture.library());
    fixture.write("bin/libvramguard.so", "text");
    CHECK_THAT(fixture.vramguard({"run", "true"}).err, Contains("is not a shared library"));
  }
  SECTION("in a folder whose name the loader would split") {
    for (const char* name : {"a b", "a:b", "a$LIB"}) {
      std::filesystem::copy(fixture.path("bin"), fixture.path(name));
      const Outcome outcome = fixture.vramguard({"run", fixture.path(name) + "/vramguard", "run", "true"});
      CHECK(outcome.exit_status == 125);
      CHECK_THAT(outcome.err, Contains("cannot be preloaded"));
    }
  }
  SECTION("installed, it is found in the lib folder") {
    std::filesystem::create_directories(fixture.path("lib"));
    std::filesystem::rename(fixture.library(), fixture.path("lib/libvramguard.so"));
    CHECK(fixture.vramguard({"run", "printenv", "LD_PRELOAD"}).out == fixture.path("lib/libvramguard.so") + "\n");
  }
}
