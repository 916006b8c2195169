/* Every order in which a physical allocation can be retained, mapped at two addresses, released and unmapped, and at
 * the end released once more than was taken. After each step what the guard says is used is compared with what the
 * driver takes. Prints the orders, the steps, the steps where both were not the same, and the codes that were not as
 * expected. */
#include "tests/integration/programs/guest.h"
#include "tests/integration/programs/nvml_number.h"

enum { kBytes = 64 << 20, kRanges = 2, kMostRetained = 2 };

static struct driver cu;
static CUdeviceptr ranges[kRanges];
static unsigned orders, steps, wrong_books, wrong_codes;

struct state {
  CUmemGenericAllocationHandle handle;
  int references, retained, mapped[kRanges], was_mapped[kRanges];
};

static unsigned long long used(void) {
  size_t free_bytes = 0, total_bytes = 0;
  must(cu.cuMemGetInfo_v2(&free_bytes, &total_bytes) == 0, "cuMemGetInfo_v2");
  return total_bytes - free_bytes;
}

static void check(CUresult code, CUresult expected) {
  ++steps;
  if (code != expected) ++wrong_codes;
  if (used() != nvml_bytes(0)) ++wrong_books;
}

static struct state create(void) {
  CUmemAllocationProp prop = {1, 0, {1, 0}, NULL, {0, 0, 0, {0}}};
  struct state state = {0, 1, 0, {0, 0}, {0, 0}};
  check(cu.cuMemCreate(&state.handle, kBytes, &prop, 0), 0);
  return state;
}

/* Steps: 0 release, 1 retain, 2 and 3 map, 4 and 5 unmap. Whether it was possible. */
static int apply(struct state* state, int step) {
  const int range = step % 2;
  if (step == 0) {
    if (state->references == 0) return 0;
    --state->references;
    check(cu.cuMemRelease(state->handle), 0);
  } else if (step == 1) {
    CUmemGenericAllocationHandle same = 0;
    const int where = state->mapped[0] ? 0 : 1;
    if (!state->mapped[where] || state->retained == kMostRetained) return 0;
    ++state->retained;
    ++state->references;
    check(cu.cuMemRetainAllocationHandle(&same, (void*)ranges[where]), 0);
    must(same == state->handle, "the same handle");
  } else if (step < 4) {
    if (state->references == 0 || state->was_mapped[range]) return 0;
    state->mapped[range] = state->was_mapped[range] = 1;
    check(cu.cuMemMap(ranges[range], kBytes, 0, state->handle, 0), 0);
  } else {
    if (!state->mapped[range]) return 0;
    state->mapped[range] = 0;
    check(cu.cuMemUnmap(ranges[range], kBytes), 0);
  }
  return 1;
}

/* Replays `path` on a fresh allocation, then goes on in every possible way. */
static void explore(int* path, int length) {
  int ended = 1;
  for (int step = 0; step < 6; ++step) {
    struct state state = create();
    for (int i = 0; i < length; ++i) apply(&state, path[i]);
    const int possible = apply(&state, step);
    if (!possible && step == 5 && ended) {
      ++orders;
      check(cu.cuMemRelease(state.handle), 1); /* once too often */
    }
    while (apply(&state, 0) || apply(&state, 4) || apply(&state, 5)) {
    }
    if (!possible) continue;
    ended = 0;
    path[length] = step;
    explore(path, length + 1);
  }
}

int main(void) {
  int path[16];
  cu = start_cuda();
  for (int i = 0; i < kRanges; ++i)
    must(cu.cuMemAddressReserve(&ranges[i], kBytes, 0, 0, 0) == 0, "cuMemAddressReserve");
  explore(path, 0);
  printf("%u %u %u %u\n", orders, steps, wrong_books, wrong_codes);
  return 0;
}
