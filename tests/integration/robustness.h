// What the robustness tests share: the same program with and without us, other preloads beside ours, skipping aloud.
#pragma once

#include <cstdio>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>

#include "tests/integration/harness.h"

namespace vramguard::integration {

// For what the build or the machine does not have. True, after saying why, when the test cannot run.
inline bool skipped(bool cannot, const std::string& why) {
  if (!cannot) return false;
  std::printf("skipped: %s\n", why.c_str());
  std::fflush(stdout);
  SUCCEED("skipped: " + why);
  return true;
}

// Programs that come from elsewhere, or that change what a sanitizer needs, cannot load a sanitized core.
inline bool skipped_when_sanitized() { return skipped(sanitized(), "not with a sanitized core"); }

inline void check_same_lines(const std::string& actual, const std::string& expected) {
  std::istringstream actual_lines(actual), expected_lines(expected);
  for (std::string a, e; std::getline(actual_lines, a) && std::getline(expected_lines, e);) CHECK(a == e);
  CHECK(actual.size() == expected.size());
}

inline Options preloading(const std::string& list, Options options = {}) {
  options.preload = false;
  options.env["LD_PRELOAD"] = list;
  return options;
}

// The program must not be able to tell whether we are there. Returns the run with us.
inline Run same_with_and_without(Host& host, const std::string& file, const std::vector<std::string>& arguments = {},
                                 Options options = {}) {
  options.preload = false;
  const Run without = host.run(file, arguments, options);
  options.preload = true;
  Run with = host.run(file, arguments, options);
  CAPTURE(file, arguments);
  CHECK(with.exit_status == without.exit_status);
  CHECK(with.signal == without.signal);
  check_same_lines(with.out, without.out);
  check_same_lines(with.err, without.err);
  return with;
}

}  // namespace vramguard::integration
