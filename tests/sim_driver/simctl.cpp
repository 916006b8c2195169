// Looks at the simulated devices and disturbs them, while programs run.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "tests/sim_driver/function_id.h"
#include "tests/sim_driver/shared_state.h"
#include "tests/sim_driver/sizes.h"

namespace vgsim {
namespace {

constexpr int kFailed = 1;
constexpr int kUsage = 2;

int usage() {
  std::fputs(
      "usage: simctl used [--bytes] GPU        what everybody together uses, in MiB or bytes\n"
      "       simctl processes GPU             a line 'pid bytes' for each process that uses something\n"
      "       simctl neighbour GPU SIZE|all    lets a neighbour take SIZE, or all that is free\n"
      "       simctl fail NAME N [CODE]        the Nth call of NAME from now fails with CODE (2)\n"
      "       simctl delay NAME MS             each call of NAME takes MS milliseconds longer\n"
      "       simctl calls NAME                calls of NAME by everybody since the last reset\n"
      "       simctl reset                     no neighbours, faults, delays, counts\n",
      stderr);
  return kUsage;
}

int fail(const std::string& text) {
  std::fprintf(stderr, "simctl: %s\n", text.c_str());
  return kFailed;
}

bool parse_int(const char* text, int& value) {
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  value = static_cast<int>(number);
  return *text != '\0' && *end == '\0' && number >= 0 && number <= std::numeric_limits<int>::max();
}

bool parse_gpu(SharedState& state, const char* text, int& gpu) {
  if (parse_int(text, gpu) && gpu < state.device_count()) return true;
  fail(std::string("no GPU ") + text);
  return false;
}

bool parse_function(const char* name, int& function) {
  function = find_function(name);
  if (function >= 0) return true;
  fail(std::string("no function ") + name);
  return false;
}

int used(SharedState& state, const char* gpu_text, bool bytes) {
  int gpu = 0;
  if (!parse_gpu(state, gpu_text, gpu)) return kFailed;
  const std::uint64_t value = state.use(gpu).used;
  std::printf("%llu\n", static_cast<unsigned long long>(bytes ? value : value / kMiB));
  return 0;
}

int processes(SharedState& state, const char* gpu_text) {
  int gpu = 0;
  if (!parse_gpu(state, gpu_text, gpu)) return kFailed;
  for (const ProcessUse& process : state.processes(gpu))
    std::printf("%d %llu\n", process.pid, static_cast<unsigned long long>(process.bytes));
  return 0;
}

int neighbour(SharedState& state, const char* gpu_text, const std::string& size_text) {
  int gpu = 0;
  if (!parse_gpu(state, gpu_text, gpu)) return kFailed;
  const auto size = size_text == "all" ? std::numeric_limits<std::uint64_t>::max() : parse_size(size_text);
  if (!size) return fail("not a size: " + size_text);
  const std::uint64_t got = state.set_neighbour(gpu, *size);
  if (size_text != "all" && got < *size)
    return fail("only " + std::to_string(got) + " bytes were free, and the neighbour has them now");
  return 0;
}

int fail_call(SharedState& state, const char* name, const char* nth_text, const char* code_text) {
  int function = 0, nth = 0, code = 2;
  if (!parse_function(name, function)) return kFailed;
  if (!parse_int(nth_text, nth) || (code_text && !parse_int(code_text, code))) return usage();
  state.fail_nth(function, nth, code);
  return 0;
}

int delay(SharedState& state, const char* name, const char* ms_text) {
  int function = 0, ms = 0;
  if (!parse_function(name, function)) return kFailed;
  if (!parse_int(ms_text, ms)) return usage();
  state.set_delay_ms(function, ms);
  return 0;
}

int calls(SharedState& state, const char* name) {
  int function = 0;
  if (!parse_function(name, function)) return kFailed;
  std::printf("%llu\n", static_cast<unsigned long long>(state.calls(function)));
  return 0;
}

int run(int argc, char** argv) {
  if (argc < 2) return usage();
  const std::string verb = argv[1];
  SharedState* state = shared_state();
  if (!state) return fail("cannot use " + environment().state_path);
  if (verb == "used" && argc == 4 && std::strcmp(argv[2], "--bytes") == 0) return used(*state, argv[3], true);
  if (verb == "used" && argc == 3) return used(*state, argv[2], false);
  if (verb == "processes" && argc == 3) return processes(*state, argv[2]);
  if (verb == "neighbour" && argc == 4) return neighbour(*state, argv[2], argv[3]);
  if (verb == "fail" && (argc == 4 || argc == 5))
    return fail_call(*state, argv[2], argv[3], argc == 5 ? argv[4] : nullptr);
  if (verb == "delay" && argc == 4) return delay(*state, argv[2], argv[3]);
  if (verb == "calls" && argc == 3) return calls(*state, argv[2]);
  if (verb == "reset" && argc == 2) {
    state->reset();
    return 0;
  }
  return usage();
}

}  // namespace
}  // namespace vgsim

int main(int argc, char** argv) { return vgsim::run(argc, argv); }
