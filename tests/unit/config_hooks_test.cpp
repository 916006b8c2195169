// [[hook]] tables and [hooks].

#include "config/load_config.h"
#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>

using namespace vramguard;
using Lines = std::vector<std::string>;
using std::chrono::seconds;

TEST_CASE("every key of a hook reaches the configuration") {
  ConfigFixture fixture;
  const Lines none;
  CHECK(fixture.messages_for(R"([[hook]]
name = "trim"
on = "pressure"
at = "medium"
mode = "once"
shell = "curl -s localhost"
priority = -3
estimated_free = "4GiB"
overhead = "64MiB"
timeout = "3s"
cooldown = "0s"
[[hook]]
name = "drop"
on = "oom"
argv = ["drop-caches", "", "a b"]
[[hook]]
name = "tell"
on = "oom-returned"
signal = "RTMIN+2"
target = "parent"
require_handler = false
[[hook]]
name = "new budget"
on = "budget"
argv = ["/usr/bin/true"]
)") == none);
  const auto hooks = fixture.load().config.hooks;
  REQUIRE(hooks.size() == 4);
  CHECK(hooks[0].name == "trim");
  CHECK(hooks[0].on == HookEvent::Pressure);
  CHECK(hooks[0].at == PressureLevel::Medium);
  CHECK(hooks[0].once);
  CHECK(hooks[0].argv == Lines{"/bin/sh", "-c", "curl -s localhost"});
  CHECK_FALSE(hooks[0].signal.has_value());
  CHECK(hooks[0].priority == -3);
  CHECK(hooks[0].estimated_free == 4_GiB);
  CHECK(hooks[0].overhead == 64_MiB);
  CHECK(hooks[0].timeout == seconds(3));
  CHECK(hooks[0].cooldown == seconds(0));

  CHECK(hooks[1].on == HookEvent::Oom);
  CHECK(hooks[1].argv == Lines{"drop-caches", "", "a b"});
  CHECK_FALSE(hooks[1].once);
  CHECK(hooks[1].priority == 0);
  CHECK(hooks[1].estimated_free == 0);
  CHECK(hooks[1].timeout == seconds(10));
  CHECK(hooks[1].cooldown == seconds(15));

  CHECK(hooks[2].on == HookEvent::OomReturned);
  CHECK(hooks[2].argv.empty());
  REQUIRE(hooks[2].signal.has_value());
  CHECK(hooks[2].signal->number == SIGRTMIN + 2);
  CHECK(hooks[2].signal->target == SignalTarget::Parent);
  CHECK_FALSE(hooks[2].signal->require_handler);

  CHECK(hooks[3].on == HookEvent::Budget);
}

TEST_CASE("a later file's hook replaces one of its name in its place, whole") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml",
                "schema = 1\n[[hook]]\nname = \"a\"\non = \"oom\"\nshell = \"old\"\npriority = 7\n"
                "[[hook]]\nname = \"b\"\non = \"oom\"\nshell = \"b\"\n");
  fixture.write("home/.config/vramguard/config.toml",
                "schema = 1\n[[hook]]\nname = \"c\"\non = \"oom\"\nshell = \"c\"\n"
                "[[hook]]\nname = \"a\"\non = \"oom\"\nshell = \"new\"\n");
  const LoadResult result = fixture.load();
  CHECK(result.ok());
  const auto& hooks = result.config.hooks;
  REQUIRE(hooks.size() == 3);
  CHECK(hooks[0].name == "a");
  CHECK(hooks[0].argv.back() == "new");
  CHECK(hooks[0].priority == 0);
  CHECK(hooks[1].name == "b");
  CHECK(hooks[2].name == "c");
}

TEST_CASE("hooks without times of their own have those that hold in the end, whichever source has them") {
  ConfigFixture fixture;
  fixture.write("etc/config.toml",
                "schema = 1\n[[hook]]\nname = \"a\"\non = \"oom\"\nshell = \"a\"\n[hooks]\ntimeout = \"1s\"\n"
                "[[hook]]\nname = \"b\"\non = \"oom\"\nshell = \"a\"\ntimeout = \"2s\"\ncooldown = \"3s\"\n");
  fixture.write("etc/conf.d/x.toml", "schema = 1\n[hooks]\ntimeout = \"4s\"\n");
  fixture.set("VRAMGUARD_HOOKS_COOLDOWN", "1m");
  const LoadResult result = fixture.load();
  REQUIRE(result.config.hooks.size() == 2);
  CHECK(result.config.hooks[0].timeout == seconds(4));
  CHECK(result.config.hooks[0].cooldown == seconds(60));
  CHECK(result.config.hooks[1].timeout == seconds(2));
  CHECK(result.config.hooks[1].cooldown == seconds(3));
  CHECK(effective(result, "hook.\"a\".timeout") == "4s from " + fixture.root() + "/etc/conf.d/x.toml:3");
  CHECK(effective(result, "hook.\"a\".cooldown") == "1m from VRAMGUARD_HOOKS_COOLDOWN");
  CHECK(effective(result, "hook.\"b\".timeout") == "2s from " + fixture.root() + "/etc/config.toml:12");
}

TEST_CASE("the values that hold list every hook and every GPU's sentinel") {
  ConfigFixture fixture;
  CHECK(fixture
            .messages_for("[gpu.\"cuda:1\"]\nsentinel = \"all\"\n[[hook]]\nname = \"a\"\non = \"oom\"\nargv = [\"x\", "
                          "\"y \\\" z\"]\n")
            .empty());
  const LoadResult result = fixture.load();
  const std::string file = fixture.root() + "/config.toml";
  CHECK(effective(result, "gpu.\"cuda:1\".sentinel") == "all from " + file + ":3");
  CHECK(effective(result, "hook.\"a\".name") == "no such key");
  CHECK(effective(result, "hook.\"a\".on") == "oom from " + file + ":6");
  CHECK(effective(result, "hook.\"a\".argv") == "[\"x\", \"y \\\" z\"] from " + file + ":7");
  CHECK(effective(result, "hook.\"a\".timeout") == "10s from default");
}

TEST_CASE("all that is wrong with hooks is said in one pass, at its place") {
  ConfigFixture fixture;
  CHECK(fixture.messages_for(
            "[[hook]]\nname = \"a\"\non = \"oom\"\nshell = \"true\"\n"
            "[[hook]]\nname = \"a\"\non = \"oops\"\nshell = \"true\"\nargv = [1]\nprioriti = 3\npriority = \"3\"\n"
            "[[hook]]\n") ==
        Lines{"config.toml:8:6: error: hook.on: 'oops' is not one of pressure, oom, oom-returned or budget",
              "config.toml:10:8: error: hook.argv takes a list of texts, such as [\"/usr/bin/curl\", \"-s\"]",
              "config.toml:11:1: error: unknown key 'prioriti' in [[hook]]; did you mean 'priority'?",
              "config.toml:12:12: error: hook.priority takes a whole number, not a text",
              "config.toml:6:1: error: a hook with both 'shell' and 'argv': write one of 'shell', 'argv' and 'signal'",
              "config.toml:6:1: error: a second hook is called 'a'; the first is in line 2",
              "config.toml:13:1: error: a hook without a 'name'",
              "config.toml:13:1: error: a hook without 'on': when should it run?",
              "config.toml:13:1: error: a hook without a command: write one of 'shell', 'argv' and 'signal'"});
}

TEST_CASE("what contradicts itself in a hook is an error with its remedy") {
  struct Row {
    const char* hook;
    const char* message;
  };
  for (const Row& row : {
           Row{"on = \"pressure\"\nshell = \"x\"\n",
               "2:1: error: a pressure hook without 'at': write the level at which it runs, low, medium, high or "
               "critical"},
           Row{"on = \"oom\"\nat = \"high\"\nshell = \"x\"\n",
               "5:1: error: 'at' is for hooks with on = \"pressure\" only; remove it"},
           Row{"on = \"oom\"\nshell = \"x\"\ntarget = \"self\"\n",
               "6:1: error: 'target' is for hooks with a 'signal' only; remove it"},
           Row{"on = \"oom\"\nargv = [\"x\"]\nrequire_handler = true\n",
               "6:1: error: 'require_handler' is for hooks with a 'signal' only; remove it"},
           Row{"on = \"oom\"\nsignal = \"SIGFOO\"\n",
               "5:10: error: hook.signal: 'SIGFOO' is no signal; write a name such as SIGUSR1 or SIGRTMIN+1"},
           Row{"on = \"oom\"\nsignal = \"KILL\"\n",
               "5:10: error: hook.signal: 'KILL' cannot be handled by any program; write a signal such as SIGUSR1"},
           Row{"on = \"oom\"\nsignal = \"SIGSTOP\"\n",
               "5:10: error: hook.signal: 'SIGSTOP' cannot be handled by any program; write a signal such as SIGUSR1"},
           Row{"on = \"oom\"\nsignal = \"USR1\"\nshell = \"x\"\n",
               "2:1: error: a hook with both 'signal' and 'shell': write one of 'shell', 'argv' and 'signal'"},
           Row{"on = \"oom\"\nargv = [\"\"]\n", "5:8: error: hook.argv: the command is empty"},
           Row{"on = \"oom\"\nshell = \" \"\n", "5:9: error: hook.shell: the command is empty"},
           Row{"on = \"oom\"\nargv = [\"./x\"]\n",
               "5:8: error: hook.argv: './x' is a relative path, and hooks run in /; write an absolute path or a bare "
               "name"},
           Row{"on = \"oom\"\nshell = \"a\\u0000b\"\n",
               "5:9: error: hook.shell: it has a NUL character in it; a command cannot"},
           Row{"on = \"oom\"\nshell = \"x\"\ntimeout = \"0s\"\n",
               "6:11: error: hook.timeout: '0s' is no time at all; write a duration such as 5s"},
           Row{"on = \"oom\"\nshell = \"x\"\noverhead = \"5%\"\n",
               "6:12: error: hook.overhead: '5%' is a percentage; here a size such as 8GiB is needed"},
       }) {
    CAPTURE(row.hook);
    ConfigFixture fixture;
    const auto lines = fixture.messages_for("[[hook]]\nname = \"a\"\n" + std::string(row.hook));
    CHECK(lines == Lines{std::string("config.toml:") + row.message});
    CHECK(fixture.load().config.hooks.empty());
  }
  ConfigFixture fixture;
  CHECK(fixture.messages_for("[[hook]]\nname = \"a\\nb\"\non = \"oom\"\nshell = \"x\"\n") ==
        Lines{"config.toml:3:8: error: hook.name: it has a control character in it"});
}
