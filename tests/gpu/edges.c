// Allocates one size after another until refused: the card must then have given the budget, not more and not much less.
// edges BUDGET_BYTES
#include "session.h"

struct edge {
  const char* name;
  unsigned long long bytes;  // of one request; of a row for pitched memory
  unsigned rows;             // pitched memory if not 0
  unsigned long long leave;  // first take all but this with 2 MiB requests, so that tiny requests end in time
  int managed;
};

static const struct edge kEdges[] = {
    {"512 B", 512, 0, MIB(8), 0},          {"64 KiB", KIB(64), 0, MIB(512), 0},
    {"300,000 B", 300000, 0, 0, 0},        {"1 MiB", MIB(1), 0, 0, 0},
    {"1 MiB + 1", MIB(1) + 1, 0, 0, 0},    {"2 MiB", MIB(2), 0, 0, 0},
    {"2 MiB + 1", MIB(2) + 1, 0, 0, 0},    {"40 MiB", MIB(40), 0, 0, 0},
    {"pitched, 8 B rows", 8, 2000, 0, 0},  {"pitched, 8 B x 8,000", 8, 8000, 0, 0},
    {"managed, 10 MiB", MIB(10), 0, 0, 1},
};

struct hoard {
  CUdeviceptr* addresses;
  size_t count, room;
  unsigned long long bytes;
};

static void keep(struct hoard* hoard, CUdeviceptr address, unsigned long long bytes) {
  if (hoard->count == hoard->room) {
    hoard->room = hoard->room ? hoard->room * 2 : 1024;
    hoard->addresses = realloc(hoard->addresses, hoard->room * sizeof *hoard->addresses);
  }
  hoard->addresses[hoard->count++] = address;
  hoard->bytes += bytes;
}

static CUresult take(const struct driver* cu, const struct edge* edge, struct hoard* hoard) {
  CUdeviceptr address = 0;
  unsigned long long bytes = edge->bytes;
  CUresult code;
  if (edge->rows) {
    size_t pitch = 0;
    code = cu->cuMemAllocPitch_v2(&address, &pitch, edge->bytes, edge->rows, 4);
    bytes = (unsigned long long)pitch * edge->rows;
  } else if (edge->managed) {
    code = cu->cuMemAllocManaged(&address, edge->bytes, 1);
  } else {
    code = cu->cuMemAlloc_v2(&address, edge->bytes);
  }
  if (code == CUDA_SUCCESS) keep(hoard, address, bytes);
  return code;
}

static void try_edge(const struct session* session, unsigned long long budget, const struct edge* edge) {
  const struct driver* cu = &session->cu;
  struct hoard hoard = {NULL, 0, 0, 0};
  CUresult code = CUDA_SUCCESS;
  static const struct edge kFiller = {"", MIB(2), 0, 0, 0};
  while (edge->leave && code == CUDA_SUCCESS && hoard.bytes < 2 * budget &&
         told_bytes(session) + edge->leave < budget) {
    code = take(cu, &kFiller, &hoard);
  }
  // Twice the budget, or for tiny requests four times what was left, is proof enough that nobody refuses.
  unsigned long long enough = edge->leave ? hoard.bytes + 4 * edge->leave : 2 * budget;
  while (code == CUDA_SUCCESS && hoard.bytes < enough) code = take(cu, edge, &hoard);

  // Managed memory takes nothing until it is touched; this release counts it in full, so the books are asked instead.
  unsigned long long taken = edge->managed ? told_bytes(session) : truth_taken_bytes(&session->truth);
  unsigned long long request = edge->rows ? (hoard.count ? hoard.bytes / hoard.count : 0) : edge->bytes;
  unsigned long long pages = (request + MIB(2) - 1) / MIB(2) + 1;
  int exact = taken <= budget && budget - taken <= pages * MIB(2);
  size_t held = hoard.count;

  for (size_t i = 0; i < hoard.count; ++i) MUST(cu->cuMemFree_v2(hoard.addresses[i]));
  hoard.count = 0;
  static const struct edge kAgain = {"", MIB(64), 0, 0, 0};
  CUresult again = take(cu, &kAgain, &hoard);
  if (again == CUDA_SUCCESS) MUST(cu->cuMemFree_v2(hoard.addresses[0]));
  free(hoard.addresses);

  report(code == CUDA_ERROR_OUT_OF_MEMORY && exact && again == CUDA_SUCCESS, edge->name,
         "code 2 within a request of the budget, goes on", "code %d at %.4f, %zu held, then %d (%s)", code,
         (double)taken / (double)budget, held, again, edge->managed ? "books" : session->source);
}

int main(int argc, char** argv) {
  unsigned long long budget = parse_bytes(argc, argv, 1, GIB(2));
  struct session session = session_start();
  for (size_t i = 0; i < sizeof kEdges / sizeof kEdges[0]; ++i) try_edge(&session, budget, &kEdges[i]);
  return report_failures != 0;
}
