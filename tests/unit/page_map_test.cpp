#include "core/page_map.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <vector>

#include "tests/unit/allocation_failure.h"
#include "tests/unit/random_ranges.h"

using namespace vramguard;

namespace {

constexpr std::uint64_t kBase = 0x7fc000000000;

Bytes enter(PageMap& pages, AddressRange range) {
  const PageMap::Claim claim = pages.add(range);
  return claim.cost() - pages.secure(claim);
}

// What the rule says, in the most naive way.
void collect(std::set<std::uint64_t>& pages, AddressRange range) {
  for (std::uint64_t page = range.address / kPageBytes; page <= (range.address + range.bytes - 1) / kPageBytes;
       ++page) {
    pages.insert(page);
  }
}

}  // namespace

TEST_CASE("a range costs the pages that it touches", "[page_map]") {
  PageMap pages;
  REQUIRE(enter(pages, {kBase, 1}) == 2_MiB);
  REQUIRE(enter(pages, {kBase + 100_MiB, 2_MiB}) == 2_MiB);
  REQUIRE(enter(pages, {kBase + 200_MiB, 2_MiB + 1}) == 4_MiB);
  REQUIRE(enter(pages, {kBase + 300_MiB + 1, 2_MiB}) == 4_MiB);
  REQUIRE(enter(pages, {kBase + 400_MiB, 40_MiB}) == 40_MiB);
  REQUIRE(enter(pages, {kBase + 500_MiB, 0}) == 0);
  REQUIRE(pages.remove({kBase + 500_MiB, 0}) == 0);
}

TEST_CASE("ranges share their edge pages, and the last one on a page gives it back", "[page_map]") {
  PageMap pages;
  const AddressRange large{kBase, 5_MiB};
  const AddressRange tail{kBase + 5_MiB, 300'000};
  const AddressRange across{kBase + 6_MiB - 512, 1_MiB};
  REQUIRE(enter(pages, large) == 6_MiB);
  REQUIRE(enter(pages, tail) == 0);
  REQUIRE(enter(pages, across) == 2_MiB);
  REQUIRE(pages.remove(large) == 4_MiB);
  REQUIRE(pages.remove(across) == 2_MiB);
  REQUIRE(pages.remove(tail) == 2_MiB);
}

TEST_CASE("a range at the very end of the address space is counted to its end", "[page_map]") {
  PageMap pages;
  const AddressRange last{UINT64_MAX - 3 * kPageBytes + 1, UINT64_MAX};
  REQUIRE(enter(pages, last) == 3 * kPageBytes);
  REQUIRE(pages.remove(last) == 3 * kPageBytes);
}

TEST_CASE("who adds a page that another has not paid yet pays for it, and is refunded when both have", "[page_map]") {
  PageMap pages;
  const AddressRange one{kBase, 512};
  const AddressRange two{kBase + 512, 512};
  PageMap::Claim first = pages.add(one);
  PageMap::Claim second = pages.add(two);
  REQUIRE(first.cost() == 2_MiB);
  REQUIRE(second.cost() == 2_MiB);

  SECTION("both settle") {
    REQUIRE(pages.secure(first) == 0);
    REQUIRE(pages.secure(second) == 2_MiB);
    REQUIRE(pages.remove(one) == 0);
    REQUIRE(pages.remove(two) == 2_MiB);
  }
  SECTION("the first fails") {
    REQUIRE(pages.cancel(first) == 0);
    REQUIRE(pages.secure(second) == 0);
    REQUIRE(pages.remove(two) == 2_MiB);
  }
  SECTION("the first comes and goes before the second settles") {
    REQUIRE(pages.secure(first) == 0);
    REQUIRE(pages.remove(one) == 0);
    REQUIRE(pages.secure(second) == 2_MiB);
    REQUIRE(pages.remove(two) == 2_MiB);
  }
  SECTION("both fail") {
    REQUIRE(pages.cancel(second) == 0);
    REQUIRE(pages.cancel(first) == 0);
    REQUIRE(enter(pages, one) == 2_MiB);
  }
}

TEST_CASE("a page whose payer leaves while another joins leaves the books when that one fails", "[page_map]") {
  PageMap pages;
  const AddressRange payer{kBase, 512};
  REQUIRE(enter(pages, payer) == 2_MiB);
  PageMap::Claim joining = pages.add({kBase + 512, 512});
  REQUIRE(joining.cost() == 0);
  REQUIRE(pages.remove(payer) == 0);
  REQUIRE(pages.cancel(joining) == 2_MiB);
}

TEST_CASE("a claim gets cheaper when another one on its page settles", "[page_map]") {
  PageMap pages;
  PageMap::Claim alone = pages.add({kBase, 512});
  REQUIRE_FALSE(pages.wait_is_worthwhile(alone));
  pages.stop_waiting(alone);
  PageMap::Claim late = pages.add({kBase + 512, 3_MiB});
  REQUIRE(late.cost() == 4_MiB);
  REQUIRE(pages.wait_is_worthwhile(late));  // the other may settle yet
  REQUIRE(late.cost() == 4_MiB);
  REQUIRE(pages.secure(alone) == 0);
  REQUIRE(pages.wait_is_worthwhile(late));
  REQUIRE(late.cost() == 2_MiB);
  REQUIRE_FALSE(pages.wait_is_worthwhile(late));
  pages.stop_waiting(late);
  REQUIRE(pages.secure(late) == 0);
}

TEST_CASE("claims on one page do not wait for each other when none of them can pay", "[page_map]") {
  PageMap pages;
  PageMap::Claim one = pages.add({kBase, 512});
  PageMap::Claim two = pages.add({kBase + 512, 512});
  REQUIRE(pages.wait_is_worthwhile(one));
  REQUIRE_FALSE(pages.wait_is_worthwhile(two));
  pages.cancel(two);
  REQUIRE_FALSE(pages.wait_is_worthwhile(one));

  PageMap::Claim three = pages.add({kBase + 512, 512});
  REQUIRE(pages.wait_is_worthwhile(one));  // that one does not wait yet
  pages.stop_waiting(one);
  REQUIRE(pages.wait_is_worthwhile(three));  // nor does this one now
  pages.cancel(three);
  pages.cancel(one);
}

TEST_CASE("without memory to count them, edges are charged in full and given back in full", "[page_map]") {
  PageMap pages;
  std::vector<AddressRange> ranges;
  for (std::uint64_t i = 0; i < 100; ++i) ranges.push_back({kBase + i * 10_MiB, 6_MiB});
  Bytes charged = 0;
  {
    const AllocationFailure no_memory;
    for (const AddressRange range : ranges) charged += enter(pages, range);
  }
  REQUIRE(charged == 600_MiB);
  REQUIRE(pages.uncounted() == 200);
  for (const AddressRange range : ranges) charged -= pages.remove(range);
  REQUIRE(charged == 0);
}

TEST_CASE("the books equal the distinct pages through any history of calls", "[page_map][fuzz]") {
  PageMap pages;
  RandomRanges ranges(2, kBase, 48 * kPageBytes);
  std::vector<AddressRange> live;
  Bytes charged = 0;
  for (int step = 0; step < 200'000; ++step) {
    const bool grow = live.size() < 30 && (live.empty() || ranges.random() % 2 == 0);
    const std::optional<AddressRange> range = grow ? ranges.take() : std::nullopt;
    if (range) {
      live.push_back(*range);
      charged += enter(pages, *range);
    } else if (!live.empty()) {
      std::swap(live[ranges.random() % live.size()], live.back());
      charged -= pages.remove(live.back());
      ranges.give_back(live.back());
      live.pop_back();
    }
    std::set<std::uint64_t> distinct;
    for (const AddressRange settled : live) collect(distinct, settled);
    if (charged != distinct.size() * kPageBytes) FAIL("step " << step << ": " << charged);
  }
}

// Calls of many threads as one thread can play them: each is split at add, payment, secure or cancel, in any order.
TEST_CASE("the books are right at every moment of calls that overlap in any way", "[page_map][fuzz]") {
  struct Open {
    AddressRange range;
    PageMap::Claim claim;
    Bytes paid = 0;
  };
  PageMap pages;
  RandomRanges ranges(3, kBase, 24 * kPageBytes);
  std::vector<AddressRange> settled;
  std::vector<Open> open;
  Bytes charged = 0;
  int quiet_moments = 0;
  for (int step = 0; step < 300'000; ++step) {
    // Now and then nobody begins a call until all have ended.
    const bool ending = step / 200 % 2 == 1;
    const std::uint64_t action = ranges.random() % 16;
    if (!ending && action < 5 && settled.size() + open.size() < 24) {
      if (const auto range = ranges.take()) open.push_back({*range, pages.add(*range)});
    } else if ((ending || action < 11) && !open.empty()) {
      std::swap(open[ranges.random() % open.size()], open.back());
      Open& call = open.back();
      if (action == 5) {
        pages.wait_is_worthwhile(call.claim);
        pages.stop_waiting(call.claim);
        if (call.paid > call.claim.cost()) {
          charged -= call.paid - call.claim.cost();
          call.paid = call.claim.cost();
        }
      } else if (action < 8 && call.paid == 0) {
        call.paid = call.claim.cost();
        charged += call.paid;
      } else if (action == 8) {
        charged -= call.paid + pages.cancel(call.claim);
        ranges.give_back(call.range);
        open.pop_back();
      } else if (call.paid == call.claim.cost()) {
        charged -= pages.secure(call.claim);
        settled.push_back(call.range);
        open.pop_back();
      }
    } else if (!settled.empty()) {
      std::swap(settled[ranges.random() % settled.size()], settled.back());
      charged -= pages.remove(settled.back());
      ranges.give_back(settled.back());
      settled.pop_back();
    }

    std::set<std::uint64_t> distinct;
    for (const AddressRange range : settled) collect(distinct, range);
    const Bytes least = distinct.size() * kPageBytes;
    Bytes most = 0;
    for (const Open& call : open) {
      collect(distinct, call.range);
      most += call.paid;
    }
    most += distinct.size() * kPageBytes;
    const bool quiet = open.empty();
    quiet_moments += quiet ? 1 : 0;
    if (charged < least || charged > most || (quiet && charged != least)) FAIL("step " << step << ": " << charged);
  }
  REQUIRE(quiet_moments > 10'000);
}
