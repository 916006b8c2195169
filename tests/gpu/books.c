// Random allocations and frees of every size: what the guard says is used must stay, to the byte, what the driver took.
// books [BUDGET_BYTES [OPERATIONS [MOST_LIVE]]]
#include "session.h"

enum { kCheckEvery = 500 };

struct books {
  struct session session;
  unsigned long long told_at_start, taken_at_start;
  unsigned long long worst_difference;
  long long first_absolute;
  unsigned checks, wrong_checks;
};

static void check(struct books* books) {
  unsigned long long told = told_bytes(&books->session) - books->told_at_start;
  unsigned long long taken = truth_taken_bytes(&books->session.truth) - books->taken_at_start;
  unsigned long long difference = told > taken ? told - taken : taken - told;
  ++books->checks;
  books->wrong_checks += difference != 0;
  if (difference > books->worst_difference) books->worst_difference = difference;
}

static CUresult allocate(const struct driver* cu, unsigned long long* random, CUdeviceptr* address) {
  if (next_random(random) % 8 == 0) {
    size_t pitch = 0;
    size_t width = random_bytes(random, KIB(4)), height = random_bytes(random, KIB(8));
    return cu->cuMemAllocPitch_v2(address, &pitch, width, height, 4);
  }
  return cu->cuMemAlloc_v2(address, random_bytes(random, MIB(40)));
}

int main(int argc, char** argv) {
  unsigned long long budget = parse_bytes(argc, argv, 1, 0);
  unsigned operations = (unsigned)parse_bytes(argc, argv, 2, 20000);
  unsigned most_live = (unsigned)parse_bytes(argc, argv, 3, 2000);
  struct books books;
  memset(&books, 0, sizeof books);
  books.session = session_start();
  const struct driver* cu = &books.session.cu;
  books.told_at_start = told_bytes(&books.session);
  books.taken_at_start = truth_taken_bytes(&books.session.truth);
  books.first_absolute = (long long)books.told_at_start - (long long)books.taken_at_start;

  CUdeviceptr* live = calloc(most_live, sizeof *live);
  unsigned count = 0, most_seen = 0, refused = 0, failed_frees = 0;
  unsigned long long random = 20260920, peak = 0;
  for (unsigned i = 1; i <= operations; ++i) {
    // Slightly more allocations than frees until the table is full, then about as many.
    int wants_allocation = count == 0 || (count < most_live && next_random(&random) % 100 < 56);
    if (wants_allocation) {
      if (allocate(cu, &random, &live[count]) == CUDA_SUCCESS) {
        ++count;
      } else {
        ++refused;
      }
    } else {
      unsigned victim = (unsigned)(next_random(&random) % count);
      failed_frees += cu->cuMemFree_v2(live[victim]) != CUDA_SUCCESS;
      live[victim] = live[--count];
    }
    if (count > most_seen) most_seen = count;
    if (i % kCheckEvery == 0) {
      check(&books);
      unsigned long long taken = truth_taken_bytes(&books.session.truth);
      if (taken > peak) peak = taken;
    }
  }
  while (count > 0) failed_frees += cu->cuMemFree_v2(live[--count]) != CUDA_SUCCESS;
  check(&books);
  unsigned long long left = told_bytes(&books.session) - books.told_at_start;

  size_t free_bytes = 0, total_bytes = 0;
  MUST(cu->cuMemGetInfo_v2(&free_bytes, &total_bytes));
  if (budget) report(total_bytes == budget, "total is the budget", "the budget", "%zu of %llu", total_bytes, budget);
  report(books.wrong_checks == 0, "books equal the driver's", "0 bytes", "%llu bytes, %u of %u checks (%s)",
         books.worst_difference, books.checks - books.wrong_checks, books.checks, books.session.source);
  report(refused == 0 && failed_frees == 0, "nothing that fits is refused", "0 of all",
         "%u refused, %u frees failed of %u, %u live, peak %llu MiB", refused, failed_frees, operations, most_seen,
         peak >> 20);
  report(left == 0, "all freed, nothing left", "0 bytes", "%llu bytes", left);
  if (budget && books.session.truth.by_process) {
    report(llabs(books.first_absolute) <= (long long)MIB(2), "the context is charged as measured", "within 2 MiB",
           "%+lld bytes of %llu MiB", books.first_absolute, books.taken_at_start >> 20);
  }
  free(live);
  return report_failures != 0;
}
