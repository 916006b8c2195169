/* A program that uses vramguard.h, and runs without vramguard, too: knows_us WHAT */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "shim/vramguard.h"
#include "tests/integration/programs/guest.h"

static struct driver cu;
static CUdeviceptr held[64];
static int held_count;

static void hold(size_t bytes) {
  for (CUdeviceptr address = 0; held_count < 64 && cu.cuMemAlloc_v2(&address, bytes) == 0;)
    held[held_count++] = address;
}

/* Frees one allocation at a call, and asks for too much itself: that must be refused without another call of this. */
static uint64_t free_one(const struct vramguard_request* request, void* context) {
  ++*(int*)context;
  must(request->size == sizeof *request && request->device == 0, "request");
  must(request->missing > 0 && request->missing <= request->requested, "missing");
  must(ask_too_much(&cu) == 2, "nested");
  must(held_count > 0 && cu.cuMemFree_v2(held[--held_count]) == 0, "free");
  return 0;
}

static uint64_t boast(const struct vramguard_request* request, void* context) {
  ++*(int*)context;
  return request->requested;
}

static void save(const struct vramguard_request* request, void* context) { *(uint64_t*)context += request->requested; }

static int rises[8];

static void listen(const struct vramguard_pressure* change, void* context) {
  must(change->size == sizeof *change && context == rises, "listener");
  __atomic_store_n(&rises[change->to], 1, __ATOMIC_RELEASE);
}

static int soon(const int* flag) {
  for (int i = 0; i < 3000 && !__atomic_load_n(flag, __ATOMIC_ACQUIRE); ++i) usleep(1000);
  return *flag;
}

static int run_hooks(void) {
  static int boasts, frees;
  CUdeviceptr address = 0;
  hold(64 * kMiB);
  must(vramguard_add_oom_hook("free-one", 2, 64 * kMiB, free_one, &frees) == 0, "free-one");
  must(vramguard_add_oom_hook("boast", 1, 0, boast, &boasts) == 0, "boast");
  const int code = (int)cu.cuMemAlloc_v2(&address, 64 * kMiB);
  must(vramguard_remove_oom_hook("free-one") == 0, "remove");
  must(vramguard_remove_oom_hook("free-one") == VRAMGUARD_NOT_FOUND, "removed");
  const int without = (int)ask_too_much(&cu);
  printf("hooks %d %d %d %d\n", code, frees, boasts, without);
  return 0;
}

static int run_statistics(void) {
  struct vramguard_statistics all = {.size = sizeof all}, old = {.size = offsetof(struct vramguard_statistics, peak)};
  memset((char*)&old + old.size, 0x5a, sizeof old - old.size);
  CUdeviceptr address = allocate_bytes(&cu, 100 * kMiB);
  must(vramguard_get_statistics(0, &all) == 0, "statistics");
  must(vramguard_get_statistics(0, &old) == 0 && old.used == all.used, "an older program's");
  must(old.peak == 0x5a5a5a5a5a5a5a5a, "what it does not know is left alone");
  must(vramguard_get_statistics(7, &all) == VRAMGUARD_NO_DEVICE, "no device");
  must(vramguard_get_statistics(0, NULL) == VRAMGUARD_INVALID, "no output");
  printf("statistics %d %llu %llu %d\n", vramguard_device_count(), (unsigned long long)all.budget,
         (unsigned long long)all.used, all.used <= all.peak);
  must(cu.cuMemFree_v2(address) == 0, "free");
  must(vramguard_set_budget(0, 0) == VRAMGUARD_INVALID && vramguard_set_budget(0, 1024ULL * kMiB) == 0, "set_budget");
  must(vramguard_get_statistics(0, &all) == 0, "statistics");
  printf("budget %llu refused_above %d fits_below %d\n", (unsigned long long)all.budget,
         (int)cu.cuMemAlloc_v2(&address, 600 * (size_t)kMiB), (int)cu.cuMemAlloc_v2(&address, 400 * kMiB));
  return 0;
}

static int run_checkpoint(void) {
  static uint64_t asked;
  hold(64 * kMiB);
  must(vramguard_set_policy("hope") == VRAMGUARD_INVALID, "no such policy");
  must(vramguard_set_policy("checkpoint-and-fail") == 0, "policy");
  must(vramguard_set_checkpoint(save, &asked) == 0, "checkpoint");
  CUdeviceptr address = 0;
  const int first = (int)cu.cuMemAlloc_v2(&address, 256 * kMiB), second = (int)cu.cuMemAlloc_v2(&address, 256 * kMiB);
  printf("checkpoint %d %d %llu\n", first, second, (unsigned long long)asked / kMiB);
  return 0;
}

static int run_listener(void) {
  must(vramguard_add_pressure_listener(NULL, NULL) == VRAMGUARD_INVALID, "no listener");
  must(vramguard_add_pressure_listener(listen, rises) == 0, "listener");
  hold(64 * kMiB);
  must(soon(&rises[VRAMGUARD_LEVEL_CRITICAL]) || soon(&rises[VRAMGUARD_LEVEL_HIGH]), "heard");
  printf("listener heard\n");
  return 0;
}

static uint64_t fail(const struct vramguard_request* request, void* context) {
  (void)request;
  ++*(int*)context;
  return VRAMGUARD_HOOK_FAILED;
}

static int run_registered(void) {
  static int fails, elsewhere, frees;
  CUdeviceptr address = 0;
  struct vramguard_hook hook = {.size = sizeof hook, .name = "same", .device = -1, .priority = 1};
  struct vramguard_refusal refusal = {.size = sizeof refusal};
  must(vramguard_last_refusal(&refusal) == VRAMGUARD_NOT_FOUND, "none yet");
  hold(64 * kMiB);
  must(vramguard_last_refusal(&refusal) == 0 && refusal.size == sizeof refusal, "refused");
  must(refusal.scope == VRAMGUARD_SCOPE_BUDGET && refusal.requested == 64 * kMiB && !refusal.deferred, "why");
  must(refusal.missing > 0 && refusal.missing <= 64 * kMiB && refusal.budget == 2048ULL * kMiB, "by how much");
  must(vramguard_register_hook(&hook) == VRAMGUARD_INVALID, "no function");
  hook.hook = fail, hook.context = &fails;
  must(vramguard_register_hook(&hook) == 0, "fails");
  hook.context = &elsewhere, hook.device = 1;
  must(vramguard_register_hook(&hook) == 0, "of another device");
  hook.hook = free_one, hook.context = &frees, hook.device = 0, hook.priority = 2;
  must(vramguard_register_hook(&hook) == 0, "frees");
  hook.device = 2;
  must(vramguard_register_hook(&hook) == VRAMGUARD_NO_DEVICE, "no device");
  must(vramguard_remove_oom_hook("same") == VRAMGUARD_NOT_FOUND, "no name of it");
  const int served = (int)cu.cuMemAlloc_v2(&address, 64 * kMiB);
  must(vramguard_unregister_hook(free_one, &frees) == 0, "unregister");
  must(vramguard_unregister_hook(free_one, &frees) == VRAMGUARD_NOT_FOUND, "unregistered");
  must(cu.cuMemAlloc_v2(&address, 64 * kMiB) == 2, "refused");
  printf("registered %d %d %d %d\n", served, fails, elsewhere, frees);
  return 0;
}

static int run_policy(void) {
  static uint64_t asked;
  struct vramguard_statistics all = {.size = sizeof all};
  struct vramguard_policy policy = {.size = sizeof policy, .name = "hope"};
  CUdeviceptr address = 0, spilled = 0;
  must(vramguard_set_device_policy(0, &policy) == VRAMGUARD_INVALID, "no such policy");
  policy.name = "spill", policy.spill_limit = 64 * kMiB;
  must(vramguard_set_device_policy(7, &policy) == VRAMGUARD_NO_DEVICE, "no device");
  must(vramguard_set_device_policy(0, &policy) == 0, "spill");
  while (cu.cuMemAlloc_v2(&address, 64 * kMiB) == 0) spilled = address;
  must(vramguard_get_statistics(0, &all) == 0 && all.spilled == 64 * kMiB, "spilled");
  must(cu.cuMemFree_v2(spilled) == 0 && vramguard_get_statistics(0, &all) == 0 && all.spilled == 0, "given back");
  must(all.peak >= all.used && vramguard_reset_peak(0) == 0, "reset");
  policy.name = "wait-and-retry", policy.wait_timeout_ms = 1;
  must(vramguard_set_device_policy(0, &policy) == 0 && cu.cuMemAlloc_v2(&address, 64 * kMiB) == 2, "not for long");
  must(vramguard_set_checkpoint(save, &asked) == 0, "checkpoint");
  must(vramguard_remove_checkpoint(save, NULL) == VRAMGUARD_NOT_FOUND, "not this one");
  must(vramguard_remove_checkpoint(save, &asked) == 0, "removed");
  must(vramguard_set_policy("checkpoint-and-fail") == 0 && ask_too_much(&cu) == 2 && asked == 0, "not called");
  printf("policy\n");
  return 0;
}

static int run_reserve(void) {
  struct vramguard_statistics all = {.size = sizeof all};
  must(vramguard_reserve(0, 256 * kMiB) == 0 && vramguard_get_statistics(0, &all) == 0, "reserve");
  printf("reserve %llu", (unsigned long long)all.sentinel / kMiB);
  must(vramguard_reserve(0, 100 * kMiB) == 0 && vramguard_get_statistics(0, &all) == 0, "less");
  printf(" %llu %llu", (unsigned long long)all.sentinel / kMiB, (unsigned long long)all.sentinel_wanted / kMiB);
  printf(" %llu", (unsigned long long)vramguard_release_reservation(0) / kMiB);
  must(vramguard_reserve(0, 64 * kMiB) == 0, "again");
  printf(" %llu\n", (unsigned long long)vramguard_release_reservation(0) / kMiB);
  return 0;
}

static int run_reservation(void) {
  printf("reservation %d", vramguard_has_reservation(0));
  printf(" %llu", (unsigned long long)vramguard_release_reservation(0) / kMiB);
  printf(" %d %llu\n", vramguard_has_reservation(0), (unsigned long long)vramguard_release_reservation(0));
  return 0;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (!vramguard_version) {
    cu = start_cuda();
    printf("without %d\n", (int)ask_too_much(&cu));
    return 0;
  }
  must(vramguard_device_count() == VRAMGUARD_NOT_RUNNING, "before CUDA");
  must(vramguard_set_policy("fail") == VRAMGUARD_NOT_RUNNING, "before CUDA");
  cu = start_cuda();
  if (!strcmp(what, "off")) return printf("off %s %d\n", vramguard_version(), vramguard_device_count()) < 0;
  if (!strcmp(what, "hooks")) return run_hooks();
  if (!strcmp(what, "statistics")) return run_statistics();
  if (!strcmp(what, "checkpoint")) return run_checkpoint();
  if (!strcmp(what, "listener")) return run_listener();
  if (!strcmp(what, "registered")) return run_registered();
  if (!strcmp(what, "policy")) return run_policy();
  if (!strcmp(what, "reserve")) return run_reserve();
  return run_reservation();
}
