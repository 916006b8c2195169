// Somebody else on the card: neighbour fill LEAVE_BYTES SECONDS, which holds all but that much for so long; or
// neighbour greedy SECONDS, which takes whatever becomes free, again and again. Says "ready" when the card is full.
#include "kinds.h"

enum { kMost = 8192 };

static unsigned long long handles[kMost];
static int count;

static int take(const struct session* session, unsigned long long bytes) {
  const CUmemAllocationProp prop = on_device(session);
  if (count == kMost || session->cu.cuMemCreate(&handles[count], bytes, &prop, 0) != CUDA_SUCCESS) return 0;
  ++count;
  return 1;
}

static void take_all(const struct session* session) {
  for (unsigned long long bytes = MIB(1024); bytes >= MIB(2); bytes /= 2) {
    while (take(session, bytes)) {
    }
  }
}

static void fill(const struct session* session, unsigned long long leave) {
  struct nvml_memory memory = {0, 0, 0};
  for (;;) {
    if (session->truth.memory(session->truth.device, &memory) != 0 || memory.free <= leave + MIB(2)) return;
    unsigned long long bytes = (memory.free - leave) / MIB(2) * MIB(2);
    if (bytes > MIB(1024)) bytes = MIB(1024);
    if (!take(session, bytes)) return;
  }
}

int main(int argc, char** argv) {
  const struct session session = session_without_context();
  const int greedy = argc > 1 && strcmp(argv[1], "greedy") == 0;
  const unsigned long long seconds = parse_bytes(argc, argv, greedy ? 2 : 3, 10);
  if (greedy) {
    take_all(&session);
  } else {
    fill(&session, parse_bytes(argc, argv, 2, MIB(1024)));
  }
  printf("ready\n");
  fflush(stdout);
  const time_t end = time(NULL) + (time_t)seconds;
  while (time(NULL) < end) {
    if (greedy) {
      take_all(&session);
    } else {
      const struct timespec moment = {0, 20000000};
      nanosleep(&moment, NULL);
    }
  }
  return 0;
}
