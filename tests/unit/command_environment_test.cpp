#include "core/command_environment.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

namespace vramguard {
namespace {

std::vector<std::string> all(const CommandEnvironment& environment) {
  std::vector<std::string> result;
  for (const char* const* variable = environment.pointers(); *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
  }
  return result;
}

std::vector<std::string> inherited(std::vector<const char*> environment) {
  environment.push_back(nullptr);
  const HookEnvironment made(environment.data());
  return all(made.with({}));
}

using Lines = std::vector<std::string>;

TEST_CASE("our library is taken out of LD_PRELOAD, wherever it lies, and others stay") {
  CHECK(without_our_library("/opt/vramguard/lib/libvramguard.so") == "");
  CHECK(without_our_library("/a.so:/opt/$LIB/libvramguard.so:/b.so") == "/a.so:/b.so");
  CHECK(without_our_library("libvramguard.so /a.so  /b.so") == "/a.so:/b.so");
  CHECK(without_our_library("/a.so:/b.so") == "/a.so:/b.so");
  CHECK(without_our_library("/x/libvramguard.so.old:/y/notlibvramguard.so") ==
        "/x/libvramguard.so.old:/y/notlibvramguard.so");
  CHECK(without_our_library("") == "");
  CHECK(without_our_library("::") == "");
}

TEST_CASE("a command inherits the program's environment, in order, but for what is ours") {
  CHECK(inherited({"A=1", "LD_PRELOAD=/l/libvramguard.so", "B="}) == Lines{"A=1", "B="});
  CHECK(inherited({"LD_PRELOAD=/a.so:/l/libvramguard.so", "B=2"}) == Lines{"LD_PRELOAD=/a.so", "B=2"});
  CHECK(inherited({"XLD_PRELOAD=libvramguard.so", "VRAMGUARD_BUDGET=1G"}) ==
        Lines{"XLD_PRELOAD=libvramguard.so", "VRAMGUARD_BUDGET=1G"});
  CHECK(inherited({}) == Lines{});
  CHECK(all(CommandEnvironment()) == Lines{});
}

TEST_CASE("what an outer hook was told is not told again") {
  CHECK(inherited({"VRAMGUARD_HOOK_LEVEL=high", "A=1", "VRAMGUARD_HOOK_NEW=x"}) == Lines{"A=1"});
}

TEST_CASE("values are added under the prefix, harmless whatever they hold") {
  const char* const inherited_variables[] = {"A=1", nullptr};
  const HookEnvironment environment(inherited_variables);
  CommandEnvironment made = environment.with({{"EVENT", "oom"},
                                              {"VRAMGUARD_HOOK_NAME", "x=y z"},
                                              {"COMM", std::string("a\0b\n", 4)},
                                              {"EMPTY", ""},
                                              {"", "none"},
                                              {"A=B", "none"},
                                              {std::string("A\0", 2), "none"}});
  const Lines expected{"A=1", "VRAMGUARD_HOOK_EVENT=oom", "VRAMGUARD_HOOK_NAME=x=y z", "VRAMGUARD_HOOK_COMM=a?b\n",
                       "VRAMGUARD_HOOK_EMPTY="};
  CHECK(all(made) == expected);
  const CommandEnvironment moved = std::move(made);
  CHECK(all(moved) == expected);
}

TEST_CASE("the environment is that of the moment when it was read") {
  setenv("VRAMGUARD_TEST_VARIABLE", "before", 1);
  const HookEnvironment environment;
  setenv("VRAMGUARD_TEST_VARIABLE", "after", 1);
  const Lines variables = all(environment.with({}));
  unsetenv("VRAMGUARD_TEST_VARIABLE");
  CHECK(std::count(variables.begin(), variables.end(), "VRAMGUARD_TEST_VARIABLE=before") == 1);
}

}  // namespace
}  // namespace vramguard
