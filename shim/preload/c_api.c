/* vramguard.h, handed on to the core. Nothing here loads it: a program without CUDA stays without a guard. */
#define VRAMGUARD_API __attribute__((visibility("default")))
#include "shim/preload/preload.h"

static const struct vg_c_api* core(void) { return __atomic_load_n(&vg_core_c_api, __ATOMIC_ACQUIRE); }

const char* vramguard_version(void) { return VRAMGUARD_VERSION; }

int vramguard_device_count(void) { return core() ? core()->device_count() : VRAMGUARD_NOT_RUNNING; }

int vramguard_get_statistics(int device, struct vramguard_statistics* statistics) {
  return core() ? core()->get_statistics(device, statistics) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_reset_peak(int device) { return core() ? core()->reset_peak(device) : VRAMGUARD_NOT_RUNNING; }

int vramguard_last_refusal(struct vramguard_refusal* refusal) {
  return core() ? core()->last_refusal(refusal) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_set_budget(int device, uint64_t bytes) {
  return core() ? core()->set_budget(device, bytes) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_set_policy(const char* policy) { return core() ? core()->set_policy(policy) : VRAMGUARD_NOT_RUNNING; }

int vramguard_set_device_policy(int device, const struct vramguard_policy* policy) {
  return core() ? core()->set_device_policy(device, policy) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_add_oom_hook(const char* name, int priority, uint64_t estimated_free, vramguard_oom_hook hook,
                           void* context) {
  return core() ? core()->add_oom_hook(name, priority, estimated_free, hook, context) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_remove_oom_hook(const char* name) {
  return core() ? core()->remove_oom_hook(name) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_register_hook(const struct vramguard_hook* hook) {
  return core() ? core()->register_hook(hook) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_unregister_hook(vramguard_oom_hook hook, void* context) {
  return core() ? core()->unregister_hook(hook, context) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_set_checkpoint(vramguard_checkpoint checkpoint, void* context) {
  return core() ? core()->set_checkpoint(checkpoint, context) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_remove_checkpoint(vramguard_checkpoint checkpoint, void* context) {
  return core() ? core()->remove_checkpoint(checkpoint, context) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_add_pressure_listener(vramguard_pressure_listener listener, void* context) {
  return core() ? core()->add_pressure_listener(listener, context) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_remove_pressure_listener(vramguard_pressure_listener listener, void* context) {
  return core() ? core()->remove_pressure_listener(listener, context) : VRAMGUARD_NOT_RUNNING;
}

int vramguard_reserve(int device, uint64_t bytes) {
  return core() ? core()->reserve(device, bytes) : VRAMGUARD_NOT_RUNNING;
}

uint64_t vramguard_release_reservation(int device) { return core() ? core()->release_reservation(device) : 0; }

int vramguard_has_reservation(int device) { return core() ? core()->has_reservation(device) : 0; }
