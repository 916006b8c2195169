#include "core/thread_set.h"

#include <catch2/catch.hpp>

#include <memory>
#include <thread>
#include <vector>

namespace vramguard {
namespace {

TEST_CASE("a thread is in the set while its member lives, and no other thread is", "[hook]") {
  ThreadSet set;
  CHECK_FALSE(set.has_this_thread());
  {
    const ThreadSet::Member member(set);
    CHECK(set.has_this_thread());
    bool other = true;
    std::thread([&] { other = set.has_this_thread(); }).join();
    CHECK_FALSE(other);
    {
      const ThreadSet::Member again(set);
      CHECK(set.has_this_thread());
    }
    CHECK(set.has_this_thread());
  }
  CHECK_FALSE(set.has_this_thread());
}

TEST_CASE("a set that is full takes nobody in, and has room again afterwards", "[hook]") {
  ThreadSet set;
  std::vector<std::unique_ptr<ThreadSet::Member>> members;
  std::thread([&] {
    for (int i = 0; i < 64; ++i) members.push_back(std::make_unique<ThreadSet::Member>(set));
  }).join();
  {
    const ThreadSet::Member member(set);
    CHECK_FALSE(set.has_this_thread());
  }
  members.pop_back();
  const ThreadSet::Member member(set);
  CHECK(set.has_this_thread());
}

}  // namespace
}  // namespace vramguard
