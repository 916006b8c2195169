// Contexts that come and go take their memory with them: half the budget can be had again and again.
// contexts BUDGET_BYTES
#include "session.h"

enum { kRounds = 8 };

static long long apart(const struct session* session) {
  return (long long)told_bytes(session) - (long long)truth_taken_bytes(&session->truth);
}

static unsigned rounds_with_second_context(const struct session* session, unsigned long long half, int* last) {
  const struct driver* cu = &session->cu;
  unsigned good = 0;
  for (int i = 0; i < kRounds; ++i) {
    CUcontext second = NULL;
    CUdeviceptr address = 0;
    MUST(cu->cuCtxCreate_v2(&second, 0, session->device));
    *last = cu->cuMemAlloc_v2(&address, half);
    good += *last == CUDA_SUCCESS;
    MUST(cu->cuCtxDestroy_v2(second));
    MUST(cu->cuCtxSetCurrent(session->context));
  }
  return good;
}

enum ending { kReset, kRelease };

static unsigned rounds_with_primary(struct session* session, unsigned long long half, enum ending ending, int* last) {
  const struct driver* cu = &session->cu;
  unsigned good = 0;
  for (int i = 0; i < kRounds; ++i) {
    CUcontext context = NULL;
    CUdeviceptr address = 0;
    MUST(cu->cuDevicePrimaryCtxRetain(&context, session->device));
    MUST(cu->cuCtxSetCurrent(context));
    *last = cu->cuMemAlloc_v2(&address, half);
    good += *last == CUDA_SUCCESS;
    if (ending == kReset) {
      MUST(cu->cuDevicePrimaryCtxReset_v2(session->device));
    } else {
      MUST(cu->cuDevicePrimaryCtxRelease_v2(session->device));
    }
  }
  return good;
}

int main(int argc, char** argv) {
  unsigned long long budget = parse_bytes(argc, argv, 1, GIB(4));
  unsigned long long half = budget / 2;
  int last = 0;
  struct session session = session_start();
  const struct driver* cu = &session.cu;

  long long first = apart(&session);
  CUcontext second = NULL;
  MUST(cu->cuCtxCreate_v2(&second, 0, session.device));
  long long both = apart(&session);
  MUST(cu->cuCtxDestroy_v2(second));
  MUST(cu->cuCtxSetCurrent(session.context));
  long long after = apart(&session);
  if (session.truth.by_process) {
    report(llabs(first) <= (long long)MIB(2) && llabs(both) <= (long long)MIB(2) && llabs(after) <= (long long)MIB(2),
           "a second context is counted and given back", "books within 2 MiB of the driver",
           "%+lld with one, %+lld with two, %+lld after", first, both, after);
  }
  unsigned good = rounds_with_second_context(&session, half, &last);
  report(good == kRounds, "second context with half the budget, destroyed", "8 of 8", "%u of 8, last code %d", good,
         last);

  // From here the primary context is the only one; the last release ends it and all it holds.
  MUST(cu->cuDevicePrimaryCtxRelease_v2(session.device));
  good = rounds_with_primary(&session, half, kRelease, &last);
  report(good == kRounds, "primary context with half the budget, released", "8 of 8", "%u of 8, last code %d", good,
         last);
  good = rounds_with_primary(&session, half, kReset, &last);
  report(good == kRounds, "primary context with half the budget, reset", "8 of 8", "%u of 8, last code %d", good, last);
  return report_failures != 0;
}
