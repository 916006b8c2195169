// The arrays and mipmapped arrays that live, and the memory they have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "tests/sim_driver/array_pages.h"
#include "tests/sim_driver/array_shape.h"
#include "tests/sim_driver/handles.h"
#include "tests/sim_driver/physical_memory.h"

namespace vgsim {

// Names a part of a sparse array that has memory of its own; all zeros for a deferred array, which has one memory.
using Subresource = std::array<std::uint64_t, 6>;

struct ArrayObject {
  Context* context = nullptr;
  ArrayShape shape{};
  ArrayObject* whole = nullptr;            // what this is a level or a plane of, and ends with
  std::uint64_t own_bytes = 0;             // physical bytes of pages that nobody shares
  std::optional<ArrayPages::Place> place;  // in a page that others share
  std::map<unsigned int, CUarray> parts;
  std::map<Subresource, std::shared_ptr<AllocationHandle>> backing;

  // A deferred array has none until some is mapped.
  bool has_memory() const { return whole ? whole->has_memory() : !shape.is_deferred() || !backing.empty(); }
};

// Guarded by DriverLock.
struct Arrays {
  HandleTable<ArrayObject> arrays;
  HandleTable<ArrayObject> mipmaps;
  // Arrays of different formats share no page; nor do those of different contexts.
  std::map<std::pair<Context*, CUarray_format>, ArrayPages> pages;
};

// Never destroyed.
Arrays& arrays();

// An array of the current context with its memory, which none is taken for if the shape says so.
CUresult make_array(const ArrayShape& shape, ArrayObject& array);

// Gives its memory back and ends its parts; the object itself is the caller's.
void end_array(ArrayObject& array);

// The level or plane `index` of an array; the same handle each time.
CUarray part_of(ArrayObject& whole, unsigned int index, const ArrayShape& shape);

void end_arrays_of(Context& context);

// A box in an array that a copy reads or writes, in bytes, rows and slices. Its array must have memory for it.
struct ArrayBox {
  std::uint64_t x, y, z, width, height, depth;
};
CUresult check_array_box(CUarray array, const ArrayBox& box);

}  // namespace vgsim
