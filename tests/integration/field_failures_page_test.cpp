// docs/field_failures.md promises tests by name.
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temporary_folder.h"

namespace {

const std::string kSource = VRAMGUARD_SOURCE_DIR;

std::string all_test_sources() {
  std::string text;
  for (const auto& file : std::filesystem::recursive_directory_iterator(kSource + "/tests")) {
    if (file.path().extension() == ".cpp") text += vramguard::content_of(file.path().string());
  }
  return text;
}

// What stands in quotes in the last column of a table.
std::vector<std::string> promised(const std::string& page) {
  std::vector<std::string> names;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| ", 0) != 0) continue;
    std::size_t at = line.rfind(" | ", line.size() - 3);
    while ((at = line.find('"', at)) != std::string::npos) {
      const std::size_t end = line.find('"', at + 1);
      names.push_back(line.substr(at, end + 1 - at));
      at = end + 1;
    }
  }
  return names;
}

}  // namespace

TEST_CASE("every test that the page of failures seen elsewhere names is there") {
  const std::string sources = all_test_sources();
  const std::vector<std::string> names = promised(vramguard::content_of(kSource + "/docs/field_failures.md"));
  CHECK(names.size() > 40);
  for (const std::string& name : names) {
    CAPTURE(name);
    const std::size_t at = sources.find(name);
    REQUIRE(at != std::string::npos);
    const std::string before = sources.substr(at < 20 ? 0 : at - 20, 20);
    CHECK(before.find("TEST_CASE(") != std::string::npos);
  }
}
