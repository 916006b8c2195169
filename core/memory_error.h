// What a MemoryGuard throws. what() says what was asked, what is short, and what can be done about it.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "core/bytes.h"

namespace vramguard {

// What all of them have in common: catch this one to catch any. Plain values.
class MemoryError : public std::runtime_error {
 public:
  // Asked for; 0 where no request was made.
  Bytes requested() const noexcept { return requested_; }
  ~MemoryError() override;

 protected:
  MemoryError(const std::string& what, Bytes requested) : std::runtime_error(what), requested_(requested) {}

 private:
  Bytes requested_;
};

// The request does not fit into what is left of the budget, and the OOM policy did not help.
class BudgetExceeded final : public MemoryError {
 public:
  BudgetExceeded(Bytes requested, Bytes missing, Bytes used, Bytes reserved, Bytes budget);
  ~BudgetExceeded() override;
  Bytes missing() const noexcept { return missing_; }  // so much more would have been needed
  Bytes used() const noexcept { return used_; }        // of the budget, when the request was given up
  Bytes budget() const noexcept { return budget_; }

 private:
  Bytes missing_, used_, budget_;
};

// The budget has room, but the device is full, and the OOM policy did not help.
class OutOfDeviceMemory final : public MemoryError {
 public:
  OutOfDeviceMemory(Bytes requested, std::optional<Bytes> device_free);
  ~OutOfDeviceMemory() override;
  Bytes missing() const noexcept { return missing_; }  // requested() where the device does not tell what is free
  std::optional<Bytes> device_free() const noexcept { return device_free_; }

 private:
  Bytes missing_;
  std::optional<Bytes> device_free_;
};

// count * sizeof(T) does not fit in 64 bits: most often a negative count.
class RequestTooLarge final : public MemoryError {
 public:
  RequestTooLarge(Bytes count, Bytes element_bytes);
  ~RequestTooLarge() override;
};

// The device or its driver failed for another reason than a lack of memory. Nothing was allocated.
class DeviceError final : public MemoryError {
 public:
  // `code` as the driver says it; 0 where it said nothing.
  explicit DeviceError(const std::string& what, int code = 0, Bytes requested = 0)
      : MemoryError(what, requested), code_(code) {}
  ~DeviceError() override;
  int code() const noexcept { return code_; }

 private:
  int code_;
};

}  // namespace vramguard
