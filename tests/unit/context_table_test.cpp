#include "core/context_table.h"

#include <catch2/catch.hpp>

using namespace vramguard;

TEST_CASE("a context is added once, and a handle that comes again is another context", "[context_table]") {
  ContextTable table;
  REQUIRE(table.add(7, 0, true) == true);
  REQUIRE(table.add(7, 0, true) == false);
  const ContextId first = table.find(7)->id;
  REQUIRE(table.alive(first));
  REQUIRE(table.take(7)->id == first);
  REQUIRE_FALSE(table.take(7));
  REQUIRE_FALSE(table.alive(first));
  REQUIRE(table.add(7, 0, true) == true);
  REQUIRE(table.find(7)->id != first);
}

TEST_CASE("only the primary contexts of one device are taken together", "[context_table]") {
  ContextTable table;
  table.add(1, 0, true);
  table.add(2, 0, false);
  table.add(3, 1, true);
  REQUIRE(table.count(0) == 2);
  REQUIRE(table.take_primary(0)->handle == 1);
  REQUIRE_FALSE(table.take_primary(0));
  REQUIRE(table.count(0) == 1);
  REQUIRE(table.count(1) == 1);
}

TEST_CASE("a context that was attached to ends with its last reference", "[context_table]") {
  ContextTable table;
  table.add(1, 0, false);
  REQUIRE_FALSE(table.drop_extra_reference(1));
  table.add_reference(1);
  REQUIRE(table.drop_extra_reference(1));
  REQUIRE_FALSE(table.drop_extra_reference(1));
  table.add_reference(99);  // unknown
  REQUIRE_FALSE(table.drop_extra_reference(99));
}
