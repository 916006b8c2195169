// What all processes share: the devices' sizes, who uses how much of them, and the faults set with simctl.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim_driver/environment.h"

namespace vgsim {

struct DeviceUse {
  std::uint64_t total;
  std::uint64_t used;  // everybody's, the neighbour's included
};

struct ProcessUse {
  int pid;
  std::uint64_t bytes;
};

// Names memory that a process shares, for as long as anybody holds it; 0 names none. Never used again.
struct SharedMemoryKey {
  std::uint64_t id = 0;
};

struct SharedMemory;

// A mapped file. Thread-safe and process-safe: one robust mutex inside the file guards all numbers, so a process that
// is killed in the middle leaves them usable. The use of dead processes is dropped by whoever looks next.
class SharedState {
 public:
  // Opens or creates the file; nullptr where that fails. Never unmapped.
  static SharedState* open(const std::string& path);

  // Takes over the sizes of `devices` unless a living process uses the file: then what is there holds.
  void configure(const std::vector<DeviceSize>& devices);

  // Gives this process a place in the table; false when the table is full.
  bool join();

  int device_count();
  std::uint64_t total(int device);
  DeviceUse use(int device);
  std::vector<ProcessUse> processes(int device);

  // Admits `bytes` for this process: all or nothing, never beyond the device's memory.
  bool take(int device, std::uint64_t bytes);
  void give(int device, std::uint64_t bytes);

  // Lets others hold `bytes` that this process took on a device; empty when the table is full.
  std::optional<SharedMemoryKey> share(int device, std::uint64_t bytes);
  // Keeps another process's memory on its device even when that process gives it up; false when it is gone already.
  bool hold(SharedMemoryKey key);
  void stop_holding(SharedMemoryKey key);
  // Instead of give() for shared memory: its bytes stay in this process's use until nobody holds them.
  void disown(SharedMemoryKey key);

  // Sets the neighbour's use to `bytes` or to what is free, whichever is less, and returns it.
  std::uint64_t set_neighbour(int device, std::uint64_t bytes);

  // Faults and counts; `function` is an index into the table of functions.
  void count_call(int function);
  std::uint64_t calls(int function) const;
  void fail_nth(int function, int nth, int code);
  // The code that the present call must return, or 0.
  int fault_due(int function);
  void set_delay_ms(int function, int ms);
  int delay_ms(int function) const;

  // Forgets neighbours, faults, delays, counts and dead processes; the living keep what they use.
  void reset();

 private:
  struct Layout;
  class Lock;
  explicit SharedState(Layout* layout) : layout_(layout) {}
  void drop_dead();
  // Gives the bytes back if nobody has the memory any more.
  void settle(SharedMemory& memory);
  // What a process owned is gone with it, and what it held may go.
  void forget_shared_memory_of(int slot);
  std::uint64_t used_locked(int device) const;

  Layout* layout_;
  int slot_ = -1;
};

// The state of this process, opened at first use with environment().state_path; nullptr where that fails.
SharedState* shared_state();

}  // namespace vgsim
