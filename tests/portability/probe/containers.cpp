#include "tests/portability/probe/probe.h"

#include <toml++/toml.h>
#include <tsl/robin_map.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace {

void toml_files() {
  const toml::table parsed = toml::parse(R"(
budget = "8GiB"
headroom = 0.05
[pressure]
levels = [50, 75, 90]
since = 2024-02-29T12:30:00.5Z
)");
  PROBE_EXPECT(parsed["budget"].value<std::string>() == "8GiB");
  PROBE_EXPECT(parsed["headroom"].value<double>() == 0.05);
  PROBE_EXPECT(parsed["pressure"]["levels"].as_array()->size() == 3);
  PROBE_EXPECT(parsed["pressure"]["since"].value<toml::date_time>()->date.day == 29);
  PROBE_EXPECT(!parsed["pressure"]["missing"].value<int>().has_value());
  try {
    static_cast<void>(toml::parse("a = 1\nb = = 2\n", std::string("probe.toml")));
    PROBE_EXPECT(!"a wrong file was accepted");
  } catch (const toml::parse_error& error) {
    PROBE_EXPECT(error.source().begin.line == 2);
    PROBE_EXPECT(*error.source().path == "probe.toml");
  }
}

// Spread over all bits: robin_map crawls on keys whose low bits are equal.
std::uint64_t key_of(std::uint64_t number) { return number * 0x9e3779b97f4a7c15; }

template <typename Map>
void map_keeps_everything() {
  Map map;
  for (std::uint64_t number = 0; number < 50000; ++number) map[key_of(number)] = number;
  for (std::uint64_t number = 0; number < 50000; number += 2) map.erase(key_of(number));
  PROBE_EXPECT(map.size() == 25000);
  std::size_t wrong = 0;
  for (std::uint64_t number = 1; number < 50000; number += 2) wrong += map.at(key_of(number)) != number;
  PROBE_EXPECT(wrong == 0);
}

}  // namespace

namespace probe {

void containers() {
  toml_files();
  map_keeps_everything<tsl::robin_map<std::uint64_t, std::uint64_t>>();
  map_keeps_everything<std::unordered_map<std::uint64_t, std::uint64_t>>();
  map_keeps_everything<std::map<std::uint64_t, std::uint64_t>>();

  for (std::size_t shift = 12; shift <= 26; ++shift) {
    const std::size_t size = std::size_t{1} << shift;
    auto block = std::make_unique<std::byte[]>(size);
    block[0] = std::byte{1};
    block[size - 1] = std::byte{2};
    PROBE_EXPECT(block[0] == std::byte{1} && block[size - 1] == std::byte{2} && block[size / 2] == std::byte{0});
  }
  struct alignas(4096) Page {
    char bytes[4096];
  };
  PROBE_EXPECT(reinterpret_cast<std::uintptr_t>(std::make_unique<Page>().get()) % 4096 == 0);

  std::pmr::monotonic_buffer_resource arena;
  std::pmr::vector<int> numbers(&arena);
  for (int number = 0; number < 1000; ++number) numbers.push_back(1000 - number);
  std::sort(numbers.begin(), numbers.end());
  PROBE_EXPECT(std::is_sorted(numbers.begin(), numbers.end()));

  std::deque<std::variant<int, std::string>> queue;
  for (int number = 0; number < 200; ++number) queue.emplace_back(std::to_string(number));
  PROBE_EXPECT(std::get<std::string>(queue.back()) == "199");
  try {
    static_cast<void>(std::get<int>(queue.back()));
  } catch (const std::bad_variant_access&) {
    PROBE_EXPECT(true);
  }
  auto shared = std::make_shared<std::string>(1000, 'x');
  std::weak_ptr<std::string> weak = shared;
  shared.reset();
  PROBE_EXPECT(weak.expired());
}

}  // namespace probe
