// A program whose whole budget is held by a sentinel, beside a neighbour that takes whatever becomes free, in a loop:
// how many of its requests are lost to that, and from when on. sentinel_race BUDGET_BYTES SECONDS
#include "session.h"

enum { kSlots = 64 };

int main(int argc, char** argv) {
  const struct session session = session_start();
  const unsigned long long budget = parse_bytes(argc, argv, 1, MIB(4096)), seconds = parse_bytes(argc, argv, 2, 60);
  CUdeviceptr slots[kSlots] = {0};
  unsigned long long random = 20261130, sizes[kSlots] = {0}, live = 0, most = 0, slowest_us = 0;
  unsigned asked = 0, lost = 0, other = 0, before_loss = 0;
  const unsigned long long mine = budget - MIB(700);  // beside the context
  const time_t end = time(NULL) + (time_t)seconds;
  while (time(NULL) < end) {
    const unsigned slot = next_random(&random) % kSlots;
    if (slots[slot]) {
      MUST(session.cu.cuMemFree_v2(slots[slot]));
      slots[slot] = 0;
      live -= sizes[slot];
      continue;
    }
    const unsigned long long bytes = MIB(2) * (1 + next_random(&random) % 64);
    if (live + bytes > mine) continue;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    const CUresult code = session.cu.cuMemAlloc_v2(&slots[slot], bytes);
    clock_gettime(CLOCK_MONOTONIC, &after);
    const unsigned long long us =
        (unsigned long long)(after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
    if (us > slowest_us) slowest_us = us;
    ++asked;
    if (code == CUDA_SUCCESS) {
      sizes[slot] = bytes;
      live += bytes;
      if (live > most) most = live;
    } else {
      slots[slot] = 0;
      ++*(code == CUDA_ERROR_OUT_OF_MEMORY ? &lost : &other);
      if (before_loss == 0) before_loss = asked;
    }
  }
  printf("asked=%u\nlost=%u\nbefore_loss=%u\n", asked, lost, before_loss ? before_loss : asked);
  report(other == 0 && asked > 0 && slowest_us < 5000000, "sentinel \"all\" beside a greedy neighbour",
         "served, or OUT_OF_MEMORY at once", "%u asked, %u other codes, slowest %llu ms, up to %llu MiB live", asked,
         other, slowest_us / 1000, most >> 20);
  return report_failures != 0;
}
