#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <vector>

#include "tests/sim_driver/tests/array_fixture.h"
#include "tests/sim_driver/tests/recording.h"

namespace {

struct RecordedShape {
  CUDA_ARRAY3D_DESCRIPTOR_v2 wanted;
  unsigned int levels;  // 0: no mipmapped array
  int error;
  std::size_t bytes, alignment, device_bytes_for_4;
};

std::vector<RecordedShape> recorded_shapes() {
  std::vector<RecordedShape> shapes;
  for (const auto& row : rows_of("arrays.tsv")) {
    const auto number = [&](std::size_t column) { return std::stoul(row[column]); };
    const auto format = static_cast<CUarray_format>(number(3));
    shapes.push_back({shape(number(0), number(1), number(2), format, static_cast<unsigned int>(number(4)),
                            static_cast<unsigned int>(number(5))),
                      static_cast<unsigned int>(number(6)), static_cast<int>(number(7)), number(8), number(9),
                      number(10)});
  }
  return shapes;
}

std::string text_of(const RecordedShape& one) {
  return std::to_string(one.wanted.Width) + " x " + std::to_string(one.wanted.Height) + " x " +
         std::to_string(one.wanted.Depth) + ", format " + std::to_string(one.wanted.Format) + ", channels " +
         std::to_string(one.wanted.NumChannels) + ", flags " + std::to_string(one.wanted.Flags) + ", levels " +
         std::to_string(one.levels);
}

// What the driver says that such an array would need, in `needs`.
CUresult ask(const RecordedShape& one, CUDA_ARRAY_MEMORY_REQUIREMENTS_v1& needs) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 deferred = one.wanted;
  deferred.Flags |= CUDA_ARRAY3D_DEFERRED_MAPPING;
  CUarray array = nullptr;
  CUmipmappedArray mipmap = nullptr;
  const CUresult result =
      one.levels ? cuMipmappedArrayCreate(&mipmap, &deferred, one.levels) : cuArray3DCreate_v2(&array, &deferred);
  if (result != CUDA_SUCCESS) return result;
  CHECK((one.levels ? cuMipmappedArrayGetMemoryRequirements(&needs, mipmap, 0)
                    : cuArrayGetMemoryRequirements(&needs, array, 0)) == CUDA_SUCCESS);
  return one.levels ? cuMipmappedArrayDestroy(mipmap) : cuArrayDestroy(array);
}

}  // namespace

TEST_CASE("every recorded array's requirement is the simulator's too") {
  const InContext here;
  const auto shapes = recorded_shapes();
  REQUIRE(shapes.size() == 306);
  for (const RecordedShape& one : shapes) {
    INFO(text_of(one));
    CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 needs{};
    CHECK(ask(one, needs) == one.error);
    CHECK(needs.size == one.bytes);
    CHECK(needs.alignment == one.alignment);
  }
  CHECK(here.taken() == 0);
}

TEST_CASE("four arrays of every recorded shape take what they took on the real device") {
  const InContext here;
  for (const RecordedShape& one : recorded_shapes()) {
    if (one.error != 0) continue;
    INFO(text_of(one));
    std::vector<CUarray> arrays;
    std::vector<CUmipmappedArray> mipmaps;
    for (int i = 0; i < 4; ++i) {
      if (one.levels)
        mipmaps.push_back(make_mipmap(one.wanted, one.levels));
      else
        arrays.push_back(make(one.wanted));
    }
    CHECK(here.taken() == one.device_bytes_for_4);
    for (CUarray array : arrays) CHECK(cuArrayDestroy(array) == CUDA_SUCCESS);
    for (CUmipmappedArray mipmap : mipmaps) CHECK(cuMipmappedArrayDestroy(mipmap) == CUDA_SUCCESS);
    CHECK(here.taken() == 0);
  }
}

// The driver's own order of places is not known, so only the limits that hold for any order are compared.
TEST_CASE("arrays that come and go as recorded take no fewer pages than they fill and no more than one each") {
  const InContext here;
  struct Live {
    CUarray array;
    std::uint64_t bytes;
  };
  std::map<std::string, Live> live;
  std::uint64_t small_bytes = 0, small_count = 0, large_bytes = 0;
  std::size_t steps = 0;
  for (const auto& row : rows_of("array_history.tsv")) {
    const std::uint64_t bytes = std::stoull(row[4]);
    const bool created = row[0] == "create";
    const int change = created ? 1 : -1;
    if (created) {
      const auto wanted = shape(std::stoul(row[2]), std::stoul(row[3]));
      CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 needs{};
      CHECK(ask({wanted, 0, 0, 0, 0, 0}, needs) == CUDA_SUCCESS);
      CHECK(needs.size == bytes);
      live[row[1]] = {make(wanted), bytes};
    } else {
      CHECK(cuArrayDestroy(live[row[1]].array) == CUDA_SUCCESS);
      live.erase(row[1]);
    }
    if (bytes > kMiB) {
      large_bytes += static_cast<std::uint64_t>(change) * ((bytes + kPage - 1) / kPage * kPage);
    } else {
      small_bytes += static_cast<std::uint64_t>(change) * bytes;
      small_count += static_cast<std::uint64_t>(change);
    }
    const std::uint64_t shared = here.taken() - large_bytes;
    INFO("step " << steps);
    REQUIRE(shared % kPage == 0);
    REQUIRE(shared >= small_bytes);
    REQUIRE(shared <= small_count * kPage);
    ++steps;
  }
  CHECK(steps == 1500);
  for (const auto& [id, one] : live) CHECK(cuArrayDestroy(one.array) == CUDA_SUCCESS);
  CHECK(here.taken() == 0);
}
