// What the path of a refused request asks of the owner of the device.
#pragma once

#include "core/device_info.h"
#include "core/ledger.h"
#include "core/log_record.h"
#include "core/refusal.h"
#include "core/signal_sender.h"

namespace vramguard {

// Thread-safe. No call disturbs a capture.
class OomHost {
 public:
  virtual Ledger& books() noexcept = 0;
  virtual const DeviceInfo& identity() const noexcept = 0;
  // Brings the books up to date where they are bounds or estimates. True if less is charged than before.
  virtual bool look_again() noexcept = 0;
  // Another process of the group holds the sentinel: it gives back so much. True if it has.
  virtual bool ask_group_for_sentinel(Bytes) noexcept { return false; }
  // To each live member of the group, this process included. Sent: to one at least.
  virtual SendResult send_to_group(const SignalAction&, int) noexcept { return SendResult::NoTarget; }
  // Gives back to the card what the driver keeps for nobody. True if less is charged than before.
  virtual bool trim() noexcept = 0;
  // Now, not as somebody saw it last.
  virtual std::optional<Bytes> card_free() noexcept = 0;
  // As somebody saw it last: for threads that must not wait for an answer.
  virtual std::optional<Bytes> card_free_as_seen() noexcept { return card_free(); }
  // Whether another thread of this program is there to free something.
  virtual bool others_can_free() noexcept = 0;
  // Whether the program frees its own caches when it is refused something, and then asks again.
  virtual bool program_frees_on_refusal() noexcept = 0;
  virtual void post(const LogRecord& record) noexcept = 0;
  // As post(), for what must be on the disk when the program is killed for it.
  virtual void post_urgent(const LogRecord& record) noexcept = 0;
  // The program has been told that there is no memory.
  virtual void oom_returned(const OomRequest& request, RefusalScope scope) noexcept = 0;

 protected:
  ~OomHost() = default;
};

}  // namespace vramguard
