// Programs that never use the driver: the preload is in them as well, and must not be noticed.
#include <fstream>

#include "tests/integration/robustness.h"

using namespace vramguard::integration;

namespace {

const char* const kCommands[] = {
    "/bin/true",
    "/bin/false",
    "/bin/bash -c 'ls / | head -n 3; exit 4'",
    "/bin/sh -c 'echo out; echo err >&2; (exit 3)'",
    "ls /no/such/file",
    "sort /etc/passwd | uniq -c | wc -l",
    "find /etc -maxdepth 1 -name 'host*' | sort",
    "LD_BIND_NOW=1 /bin/ls /",
    "LD_BIND_NOW=1 /bin/bash -c 'echo $((6 * 7))'",
    "env -i /bin/echo nothing in the environment",
    "cd \"$HOME\" && git init -q repository 2>&1 && cd repository && git status --short && git log",
    "kill -TERM $$",
};

bool has(const char* file) { return std::ifstream(file).good(); }

}  // namespace

TEST_CASE("programs that never use the driver end, print and fail as without the preload") {
  for (const char* command : kCommands) {
    Host host;
    const Run run = same_with_and_without(host, "/bin/sh", {"-c", command});
    CHECK(run.log.empty());
  }
}

TEST_CASE("python runs as without the preload, with threads, processes and ctypes") {
  if (skipped(!has("/usr/bin/python3"), "no /usr/bin/python3")) return;
  Host host;
  const std::string script = R"(
import ctypes, subprocess, threading
print(ctypes.CDLL(None).cos, subprocess.run(["/bin/echo", "child"], capture_output=True).stdout)
threads = [threading.Thread(target=lambda: None) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
try:
    ctypes.CDLL(None).cuInit
except AttributeError:
    print("no cuInit")
raise SystemExit(6)
)";
  const std::string quiet = "import re\n" + script;
  const Run run = same_with_and_without(host, "/usr/bin/python3", {"-c", "print(sum(range(10)))"});
  CHECK(run.out == "45\n");
  const Run more = host.run("/usr/bin/python3", {"-c", quiet});
  CHECK(more.exit_status == 6);
  CHECK(more.out.find("b'child\\n'\nno cuInit\n") != std::string::npos);
  CHECK(more.log.empty());
}

TEST_CASE("a static program runs as without the preload") {
  Host host;
  CHECK(same_with_and_without(host, program("static_program")).exit_status == 5);
}

TEST_CASE("in a program without the driver the library opens nothing but libc, and starts no thread") {
  const char* const kStrace = "/usr/bin/strace";
  if (skipped(!has(kStrace), "no strace")) return;
  Host host;
  const std::string trace = host.path("trace");
  const std::vector<std::string> arguments{"-f", "-E",  "LD_LIBRARY_PATH=", "-E", "LD_PRELOAD=" + preload_path(),
                                           "-o", trace, "/bin/true"};
  const Run run = host.run(kStrace, arguments, {.preload = false});
  if (skipped(run.exit_status != 0, "strace cannot trace here")) return;
  std::vector<std::string> opened;
  for (const std::string& line : vramguard::lines_of(trace)) {
    CHECK(line.find(" clone") == std::string::npos);
    CHECK(line.find(" mkdir") == std::string::npos);
    CHECK(line.find(" write(") == std::string::npos);
    CHECK(line.find(" socket") == std::string::npos);
    const std::size_t open = line.find(" open"), name = line.find('"');
    if (open == std::string::npos || name == std::string::npos) continue;
    opened.push_back(line.substr(name + 1, line.find('"', name + 1) - name - 1));
  }
  CAPTURE(opened);
  for (const std::string& file : opened) {
    CHECK((file == preload_path() || file == "/etc/ld.so.cache" || file.find("/libc.so.6") != std::string::npos ||
           file.find("/libdl.so.2") != std::string::npos));  // of glibc too, and empty since 2.34
  }
  CHECK(opened.size() <= 4);
}

TEST_CASE("functions that a program finds by weak references answer NOT_INITIALIZED where there is no driver") {
  Host host;
  const Run without = host.run(program("without_driver"), {}, {.preload = false});
  CHECK(without.out.rfind("none ", 0) == 0);
  const Run with = host.run(program("without_driver"));
  CHECK(with.exit_status == 0);
  CHECK(with.out == "all 0\n");
  CHECK(with.err.empty());
  CHECK(with.log.empty());
}

TEST_CASE("loaded by a running program instead of preloaded, the library does no harm") {
  if (skipped(!has("/usr/bin/python3"), "no /usr/bin/python3") || skipped_when_sanitized()) return;
  Host host;
  const std::string script =
      "import ctypes\n"
      "ours = ctypes.CDLL('" +
      preload_path() +
      "')\n"
      "print(ours.cuInit(0))\n"
      "driver = ctypes.CDLL('libcuda.so.1')\n"
      "print(driver.cuInit(0))\n"
      "print(ours.cuInit(0), ours.dlsym is not None)\n"
      "ours.dlsym.restype = ctypes.c_void_p\n"
      "print(ours.dlsym(None, b'puts') == ctypes.cast(ctypes.CDLL(None).puts, ctypes.c_void_p).value)\n";
  const Run run = host.run("/usr/bin/python3", {"-c", script}, {.preload = false});
  CAPTURE(run.err);
  CHECK(run.signal == 0);
  CHECK(run.exit_status == 0);
  CHECK(run.out == "3\n0\n0 True\nTrue\n");
}
