#include "config/load_config.h"

#include "config/file_keys.h"
#include "tests/unit/config_fixture.h"

#include <catch2/catch.hpp>

#include <random>
#include <sstream>

using namespace vramguard;

namespace {

// One to eight changes: bytes replaced, dropped, doubled, and pieces of the file moved about.
std::string mutate(std::string text, std::mt19937& random) {
  static const std::string kLikely = "=[]{}\".,'#\n\r\t \\%0123456789aGi-+_\xc3\xff";
  for (unsigned changes = 1 + random() % 8; changes > 0; --changes) {
    if (text.empty()) return text;
    const std::size_t at = random() % text.size();
    const std::size_t length = std::min<std::size_t>(text.size() - at, 1 + random() % 40);
    switch (random() % 5) {
      case 0:
        text[at] = kLikely[random() % kLikely.size()];
        break;
      case 1:
        text[at] = static_cast<char>(random());
        break;
      case 2:
        text.erase(at, length);
        break;
      case 3:
        text.insert(random() % text.size(), text.substr(at, length));
        break;
      case 4:
        text.insert(at, std::string(length, kLikely[random() % kLikely.size()]));
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("20,000 damaged files neither crash nor throw, and each is read or refused with a message") {
  std::ifstream file(std::string(VRAMGUARD_SOURCE_DIR) + "/config/vramguard.toml");
  std::ostringstream whole;
  whole << file.rdbuf();
  const std::string valid =
      whole.str() + "\n[gpu.\"cuda:0\"]\nbudget = \"1GiB\"\n[[hook]]\nname = \"a\"\non = \"oom\"\nargv = [\"x\"]\n";

  std::mt19937 random(20);
  std::size_t refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    // Half of them without the comments, or most damage would fall into those.
    std::string text = valid.substr(round % 2 == 0 ? 0 : valid.find("schema  "));
    text = mutate(std::move(text), random);
    Settings settings;
    read_keys({text, round % 3 == 0 ? "" : "it is a test"}, "config.toml", FileRole::Config, settings);
    const LoadResult result = settings.finish();
    if (!result.ok()) ++refused;
    for (const Diagnostic& diagnostic : result.diagnostics) {
      REQUIRE_FALSE(diagnostic.message.empty());
      REQUIRE(to_string(diagnostic).find("config.toml:") == 0);
    }
  }
  CHECK(refused > 10'000);
}
