// Processes of one group that race for the last bytes of their budget, and die, while another process looks at the
// card. Every process that has a context is one of the group's. group BUDGET_BYTES MEMBERS [MILLISECONDS]
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "session.h"

enum { kMostMembers = 64, kHeld = 64 };
static const unsigned long long kTrialBytes = MIB(2), kLast = MIB(64);
static const unsigned kRounds = 100;

enum task { kRace, kFill, kAskLast, kGiveLast, kHold, kAskHeld, kTell, kEnd };

// What all processes see. Each member does what `task` says once `step` has changed, and then writes it to `done`.
struct board {
  atomic_uint step;
  atomic_uint done[kMostMembers];
  enum task task;
  int chosen;  // the member that a task is for; -1: all
  atomic_int race_ends;
  atomic_ullong slowest_ms;  // call while racing
  atomic_ulong admitted, refused, other_codes, served;
  atomic_ullong told;  // in use, as a member's cuMemGetInfo says
};

static void nap(long microseconds) {
  const struct timespec time = {0, microseconds * 1000};
  nanosleep(&time, NULL);
}

static void wait_while(atomic_uint* word, unsigned value) {
  while (atomic_load(word) == value) syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void raise_word(atomic_uint* word) {
  atomic_fetch_add(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static unsigned long long now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (unsigned long long)time.tv_sec * 1000 + (unsigned long long)time.tv_nsec / 1000000;
}

static unsigned long long free_bytes(const struct session* session) {
  size_t free = 0, total = 0;
  MUST(session->cu.cuMemGetInfo_v2(&free, &total));
  return free;
}

static void race(const struct session* session, struct board* board, unsigned seed) {
  unsigned long long random = 88172645463325252ULL + seed * 7919ULL;
  CUdeviceptr held[kHeld];
  unsigned count = 0;
  while (!atomic_load(&board->race_ends)) {
    CUresult code = CUDA_ERROR_OUT_OF_MEMORY;
    if (count < kHeld) {
      const unsigned long long asked = now_ms();
      code = session->cu.cuMemAlloc_v2(&held[count], MIB(2) + next_random(&random) % MIB(30));
      const unsigned long long took = now_ms() - asked;
      if (took > atomic_load(&board->slowest_ms)) atomic_store(&board->slowest_ms, took);
      if (code == CUDA_SUCCESS) {
        ++count;
        atomic_fetch_add(&board->admitted, 1);
        continue;
      }
      atomic_fetch_add(code == CUDA_ERROR_OUT_OF_MEMORY ? &board->refused : &board->other_codes, 1);
    }
    for (unsigned i = 0; i < 2 && count > 0; ++i) MUST(session->cu.cuMemFree_v2(held[--count]));
  }
  while (count > 0) MUST(session->cu.cuMemFree_v2(held[--count]));
}

// `step` is the last one that is not for it.
static void member(struct board* board, int number, int parent, unsigned step) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) exit(1);
  const struct session session = session_start();
  CUdeviceptr filling = 0, last = 0;
  for (;;) {
    atomic_store(&board->done[number], step);
    wait_while(&board->step, step);
    step = atomic_load(&board->step);
    if (board->chosen >= 0 && board->chosen != number) continue;
    switch (board->task) {
      case kRace:
        race(&session, board, (unsigned)number);
        break;
      case kFill:  // all but the last bytes
        MUST(session.cu.cuMemAlloc_v2(&filling, (free_bytes(&session) - kLast) / MIB(2) * MIB(2)));
        break;
      case kAskLast:
        if (session.cu.cuMemAlloc_v2(&last, kLast) == CUDA_SUCCESS) {
          atomic_fetch_add(&board->served, 1);
        } else {
          last = 0;
        }
        break;
      case kGiveLast:
        if (last) MUST(session.cu.cuMemFree_v2(last));
        if (filling) MUST(session.cu.cuMemFree_v2(filling));
        last = filling = 0;
        break;
      case kHold:  // all there is, and a worker that lives on
        MUST(session.cu.cuMemAlloc_v2(&last, free_bytes(&session) / MIB(2) * MIB(2)));
        if (fork() == 0) {
          prctl(PR_SET_PDEATHSIG, SIGKILL);
          sleep(20);
          _exit(0);
        }
        break;
      case kAskHeld:  // more than is free beside it
        for (unsigned long long end = now_ms() + 5000; now_ms() < end; nap(1000)) {
          if (session.cu.cuMemAlloc_v2(&last, kLast) != CUDA_SUCCESS) continue;
          atomic_fetch_add(&board->served, 1);
          break;
        }
        break;
      case kTell:
        atomic_store(&board->told, told_bytes(&session));
        break;
      case kEnd:
        exit(0);
    }
  }
}

static struct board* board;
static int members;
static pid_t pids[kMostMembers];

static void tell(enum task task, int chosen) {
  board->task = task;
  board->chosen = chosen;
  raise_word(&board->step);
}

static void wait_done(void) {
  for (int i = 0; i < members; ++i) {
    while (pids[i] > 0 && atomic_load(&board->done[i]) != atomic_load(&board->step)) nap(100);
  }
}

static void let_do(enum task task, int chosen) {
  tell(task, chosen);
  wait_done();
}

static void start_member(int number, unsigned step) {
  const int self = getpid();
  atomic_store(&board->done[number], 0);
  pids[number] = fork();
  if (pids[number] == 0) member(board, number, self, step);
}

static void kill_member(int number) {
  kill(pids[number], SIGKILL);
  waitpid(pids[number], NULL, 0);
  pids[number] = 0;
}

static unsigned long long bytes_of_all(const struct truth* truth) {
  struct nvml_process list[256];
  unsigned count = sizeof list / sizeof list[0];
  unsigned long long sum = 0;
  if (!truth->by_process) {
    unsigned long long used = truth_card_used(truth);
    return used - (used < truth->card_used_before ? used : truth->card_used_before);
  }
  if (truth->processes(truth->device, &count, list) != 0) return 0;
  for (unsigned i = 0; i < count; ++i) {
    for (int k = 0; k < members; ++k) {
      if (list[i].pid == (unsigned)pids[k] && list[i].bytes != ~0ULL) sum += list[i].bytes;
    }
  }
  return sum;
}

// A context is never refused: what those of newcomers took while the budget was full is not held against it.
struct highest {
  unsigned long long bytes;  // of all members together, without that
  unsigned looks;
};

static unsigned unready(void) {
  unsigned count = 0;
  for (int i = 0; i < members; ++i) count += atomic_load(&board->done[i]) == 0;
  return count;
}

static struct highest race_for(const struct truth* truth, unsigned long long budget, unsigned duration_ms,
                               unsigned ms_between_deaths) {
  struct highest highest = {0, 0};
  const unsigned long long context = bytes_of_all(truth) / (unsigned)members;
  unsigned newcomers = 0;
  atomic_store(&board->race_ends, 0);
  tell(kRace, -1);
  const unsigned long long end = now_ms() + duration_ms;
  unsigned long long next_death = now_ms() + ms_between_deaths, random = 4711;
  // However busy the machine is: until they have met the limit. Looks without a pause would keep the members from it.
  for (; now_ms() < end || (board->refused == 0 && now_ms() < end + 20000); ++highest.looks, nap(100)) {
    const unsigned coming = unready();
    const unsigned long long taken = bytes_of_all(truth), excused = newcomers * context;
    if (taken > highest.bytes + excused) highest.bytes = taken - excused;
    if (taken <= budget) newcomers = coming;
    if (ms_between_deaths == 0 || now_ms() < next_death) continue;
    const int dies = (int)(next_random(&random) % (unsigned)members);
    kill_member(dies);
    start_member(dies, atomic_load(&board->step) - 1);
    ++newcomers;
    next_death = now_ms() + ms_between_deaths;
  }
  atomic_store(&board->race_ends, 1);
  wait_done();
  return highest;
}

static void check_race(const struct truth* truth, unsigned long long budget, unsigned duration_ms) {
  const struct highest highest = race_for(truth, budget, duration_ms, 0);
  char title[96];
  snprintf(title, sizeof title, "%d processes never over their budget", members);
  report(highest.bytes <= budget + kTrialBytes && board->refused > 0 && board->other_codes == 0, title,
         "at most a page over it, for a moment", "%.4f in %u looks; %lu admitted, %lu refused, %lu other codes (%s)",
         (double)highest.bytes / (double)budget, highest.looks, board->admitted, board->refused, board->other_codes,
         truth->by_process ? "nvml-process" : "nvml-card");
}

static void check_deaths(const struct truth* truth, unsigned long long budget, unsigned duration_ms) {
  atomic_store(&board->slowest_ms, 0);
  const struct highest highest = race_for(truth, budget, duration_ms, 50);
  report(highest.bytes <= budget + kTrialBytes && atomic_load(&board->slowest_ms) < 1000,
         "one of them killed every 50 ms", "only newcomers' contexts go over it; no call takes 1 s",
         "%.4f in %u looks, slowest call %llu ms", (double)highest.bytes / (double)budget, highest.looks,
         (unsigned long long)atomic_load(&board->slowest_ms));
  // What the books say through a member, and what all have taken.
  unsigned long long told = 0, taken = 1;
  for (const unsigned long long end = now_ms() + 3000; told != taken && now_ms() < end; nap(10000)) {
    let_do(kTell, 0);
    told = atomic_load(&board->told);
    taken = bytes_of_all(truth);
  }
  report(told == taken, "the dead leave nothing in the books", "0 bytes", "books %+lld", (long long)(told - taken));
}

static void check_last_bytes(void) {
  unsigned right = 0, none = 0, several = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    let_do(kFill, (int)(round % (unsigned)members));
    atomic_store(&board->served, 0);
    let_do(kAskLast, -1);
    const unsigned long served = atomic_load(&board->served);
    right += served == 1;
    none += served == 0;
    several += served > 1;
    let_do(kGiveLast, -1);
  }
  char title[96];
  snprintf(title, sizeof title, "%d processes ask at once for the last 64 MiB", members);
  report(right == kRounds, title, "one has them, each time", "one in %u of %u, none in %u, several in %u", right,
         kRounds, none, several);
}

static void check_death(void) {
  let_do(kHold, 0);
  atomic_store(&board->served, 0);
  kill_member(0);
  const unsigned long long killed = now_ms();
  let_do(kAskHeld, 1);
  const unsigned long long ms = now_ms() - killed;
  report(board->served == 1 && ms <= 1000, "a killed member's share, whose forked worker lives on", "free within 1 s",
         "%s after %llu ms", board->served == 1 ? "free" : "not free", ms);
}

int main(int argc, char** argv) {
  unsigned long long budget = parse_bytes(argc, argv, 1, GIB(40));
  members = (int)parse_bytes(argc, argv, 2, 16);
  unsigned duration_ms = (unsigned)parse_bytes(argc, argv, 3, 2000);
  if (members < 2 || members > kMostMembers) return 2;
  board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (board == MAP_FAILED) return 2;
  memset(board, 0, sizeof *board);
  raise_word(&board->step);
  for (int i = 0; i < members; ++i) start_member(i, atomic_load(&board->step));
  // Only after the forks: what NVML is must not be inherited.
  struct truth truth = truth_open(NULL);
  for (int i = 0; i < members; ++i) {
    while (atomic_load(&board->done[i]) == 0) {
      if (waitpid(-1, NULL, WNOHANG) > 0) {
        fprintf(stderr, "a member has ended before it was ready\n");
        return 4;
      }
      nap(1000);
    }
  }
  truth.by_process = 1;
  if (bytes_of_all(&truth) == 0) truth.by_process = 0;
  check_race(&truth, budget, duration_ms);
  check_deaths(&truth, budget, duration_ms * 2);
  check_last_bytes();
  check_death();
  tell(kEnd, -1);
  for (int i = 0; i < members; ++i) {
    if (pids[i] > 0) waitpid(pids[i], NULL, 0);
  }
  return report_failures != 0;
}
