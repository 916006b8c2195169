#include "core/hook_facts.h"

#include <catch2/catch.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

const DeviceInfo kDevice{3, "GPU-8f6e", "0000:3b:00.0", 80_GiB};

std::map<std::string, std::string> variables(const HookFacts& facts) {
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : hook_variables(facts, "trim", 7, "/var/log/p.log")) {
    REQUIRE(name.rfind("VRAMGUARD_HOOK_", 0) == 0);
    CHECK(result.emplace(name.substr(15), value).second);
  }
  return result;
}

HookFacts facts_of_oom() {
  HookFacts facts;
  facts.event = HookEvent::Oom;
  facts.seq = 12;
  facts.device = &kDevice;
  facts.level = PressureLevel::Critical;
  facts.previous = PressureLevel::Medium;
  facts.scope = "device";
  facts.budget = 8_GiB;
  facts.used = 5;
  facts.free = 6;
  facts.card_free = 7;
  facts.requested = 8;
  facts.missing = 9;
  facts.attempt = 2;
  facts.deadline = std::chrono::milliseconds(4999);
  return facts;
}

std::string name_of_process() {
  std::string name = content_of("/proc/self/comm");
  return name.substr(0, name.find('\n'));
}

TEST_CASE("an oom hook is told all there is to tell", "[hook]") {
  const std::map<std::string, std::string> expected{{"EVENT", "oom"},
                                                    {"NAME", "trim"},
                                                    {"RUN", "7"},
                                                    {"SEQ", "12"},
                                                    {"PID", std::to_string(getpid())},
                                                    {"COMM", name_of_process()},
                                                    {"DEVICE", "3"},
                                                    {"DEVICE_UUID", "GPU-8f6e"},
                                                    {"PCI_BUS_ID", "0000:3b:00.0"},
                                                    {"LEVEL", "critical"},
                                                    {"PREV_LEVEL", "medium"},
                                                    {"SCOPE", "device"},
                                                    {"BUDGET_BYTES", "8589934592"},
                                                    {"USED_BYTES", "5"},
                                                    {"FREE_BYTES", "6"},
                                                    {"DEVICE_FREE_BYTES", "7"},
                                                    {"DEVICE_TOTAL_BYTES", "85899345920"},
                                                    {"REQUESTED_BYTES", "8"},
                                                    {"SHORT_BYTES", "9"},
                                                    {"ATTEMPT", "2"},
                                                    {"DEADLINE_MS", "4999"},
                                                    {"LOG", "/var/log/p.log"}};
  CHECK(variables(facts_of_oom()) == expected);
}

TEST_CASE("a variable that does not apply, or that nobody knows, is there and empty", "[hook]") {
  HookFacts facts = facts_of_oom();
  facts.event = HookEvent::Pressure;
  facts.budget.reset();
  facts.card_free.reset();
  const auto told = variables(facts);
  CHECK(told.size() == variables(facts_of_oom()).size());
  for (const char* name :
       {"BUDGET_BYTES", "DEVICE_FREE_BYTES", "REQUESTED_BYTES", "SHORT_BYTES", "ATTEMPT", "DEADLINE_MS"}) {
    CAPTURE(name);
    CHECK(told.at(name).empty());
  }
  CHECK(told.at("EVENT") == "pressure");
}

TEST_CASE("a hook is told the name of the process, whatever the thread that starts it is called", "[hook]") {
  std::string told;
  std::thread([&] {
    prctl(PR_SET_NAME, "vramguard");
    told = variables(facts_of_oom()).at("COMM");
  }).join();
  CHECK(told == name_of_process());
  CHECK(told != "vramguard");
}

TEST_CASE("the page about hooks explains every variable and no other", "[hook]") {
  const std::string page = content_of(VRAMGUARD_SOURCE_DIR "/docs/hooks.md");
  const auto told = variables(facts_of_oom());
  for (const auto& [name, value] : told) {
    CAPTURE(name);
    CHECK(page.find("\n| `" + name + "` |") != std::string::npos);
  }
  std::size_t rows = 0;
  const std::size_t begin = page.find("\n| variable |"), end = page.find("\n\n", begin);
  REQUIRE(begin != std::string::npos);
  for (std::size_t at = page.find("\n| `", begin); at < end; at = page.find("\n| `", at + 1)) ++rows;
  CHECK(rows == told.size());
}

}  // namespace
}  // namespace vramguard
