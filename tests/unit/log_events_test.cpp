#include "core/log_events.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace vramguard {
namespace {

std::string section_of(const std::string& page, std::string_view event) {
  const std::string heading = "\n### `" + std::string(event) + "`";
  const std::size_t start = page.find(heading);
  if (start == std::string::npos) return "";
  return page.substr(start, page.find("\n##", start + heading.size()) - start);
}

TEST_CASE("the page about the log explains every event, its level and every field, and no other event") {
  const std::string page = content_of(VRAMGUARD_SOURCE_DIR "/docs/pressure_log.md");
  REQUIRE_FALSE(page.empty());
  for (const EventInfo& info : kEvents) {
    CAPTURE(info.name);
    const std::string section = section_of(page, info.name);
    REQUIRE_FALSE(section.empty());
    std::istringstream fields{std::string(info.fields)};
    for (std::string field; fields >> field;) {
      CAPTURE(field);
      CHECK(section.find("| `" + field + "` |") != std::string::npos);
    }
    std::size_t rows = 0;
    for (std::size_t at = section.find("\n| `"); at != std::string::npos; at = section.find("\n| `", at + 1)) ++rows;
    CHECK(rows == 1 + static_cast<std::size_t>(std::count(info.fields.begin(), info.fields.end(), ' ')));
  }
  for (const std::string_view key : kCommonLogKeys)
    CHECK(page.find("| `" + std::string(key) + "` |") != std::string::npos);
  CHECK(page.find("| `cut` |") != std::string::npos);

  std::size_t headings = 0;
  for (std::size_t at = page.find("\n### `"); at != std::string::npos; at = page.find("\n### `", at + 1)) ++headings;
  CHECK(headings == std::size(kEvents));
}

TEST_CASE("a field is known by its whole name only") {
  const EventInfo& info = info_of(Event::OomReturned);
  CHECK(info.name == "oom_returned");
  CHECK(info.has_field("api"));
  CHECK(info.has_field("context_bytes"));
  CHECK(info.has_field("used_bytes"));
  CHECK_FALSE(info.has_field("bytes"));
  CHECK_FALSE(info.has_field("context"));
  CHECK_FALSE(info.has_field(""));
}

}  // namespace
}  // namespace vramguard
