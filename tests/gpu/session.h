// The start that most programs share: driver, truth and a current context on one device, as a rule the first.
#pragma once

#include <time.h>

#include "driver.h"
#include "report.h"
#include "truth.h"

struct session {
  struct driver cu;
  struct truth truth;
  CUdevice device;
  CUcontext context;
  const char* source;
};

static inline struct session session_without_context_on(int ordinal) {
  struct session session;
  memset(&session, 0, sizeof session);
  session.cu = load_driver();
  CUresult code = session.cu.cuInit(0);
  if (code != CUDA_SUCCESS) {
    fprintf(stderr, "cuInit gave %d\n", code);
    exit(4);
  }
  MUST(session.cu.cuDeviceGet(&session.device, ordinal));
  char pci_bus_id[32] = "";
  session.cu.cuDeviceGetPCIBusId(pci_bus_id, sizeof pci_bus_id, session.device);
  session.truth = truth_open(pci_bus_id[0] ? pci_bus_id : NULL);
  return session;
}

static inline struct session session_without_context(void) { return session_without_context_on(0); }

static inline struct session session_start_on(int ordinal) {
  struct session session = session_without_context_on(ordinal);
  MUST(session.cu.cuDevicePrimaryCtxRetain(&session.context, session.device));
  MUST(session.cu.cuCtxSetCurrent(session.context));
  session.source = truth_choose_source(&session.truth);
  return session;
}

static inline struct session session_start(void) { return session_start_on(0); }

// What no call shows, as streams and the driver's own small needs, is seen four times a second.
static inline void look_around(void) {
  const struct timespec moment = {0, 400000000};
  nanosleep(&moment, NULL);
}

// What the driver's own interface says is in use on the device that is current: our books under the guard, the card's
// without.
static inline unsigned long long told_bytes(const struct session* session) {
  size_t free_bytes = 0, total_bytes = 0;
  MUST(session->cu.cuMemGetInfo_v2(&free_bytes, &total_bytes));
  return total_bytes - free_bytes;
}

static inline unsigned long long parse_bytes(int argc, char** argv, int index, unsigned long long otherwise) {
  return argc > index ? strtoull(argv[index], NULL, 10) : otherwise;
}

// A small generator with a fixed seed, so that a failure can be repeated.
static inline unsigned long long next_random(unsigned long long* state) {
  unsigned long long x = *state;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return *state = x;
}

// Every magnitude from 1 byte to `most` equally often.
static inline unsigned long long random_bytes(unsigned long long* state, unsigned long long most) {
  unsigned bits = 0;
  while (bits < 62 && (1ULL << (bits + 1)) <= most) ++bits;
  unsigned long long base = 1ULL << (next_random(state) % (bits + 1));
  unsigned long long bytes = base + next_random(state) % base;
  return bytes > most ? most : bytes;
}
