#include "core/sentinel_keeper.h"

#include <algorithm>

namespace vramguard {

namespace {

// A request that has just had some of it given back must not find it taken again before it gets there.
constexpr auto kAfterRelease = std::chrono::milliseconds(100);

}  // namespace

bool SentinelKeeper::place(OomHost& host) noexcept {
  if (!wanted()) return true;
  asked_for_.store(true);
  if (!host.books().may_hold_sentinel()) return true;  // another member of the group has it
  if (placing_.exchange(true)) return !placed_ || was_whole_;
  const Bytes wanted_bytes = target(host.books());
  const bool whole = grow(host, wanted_bytes);
  was_whole_.store(whole);
  placed_.store(true);
  say(host, whole ? "placed" : "missing", wanted_bytes);
  return whole;
}

// While it is not placed nobody tends it, who would take for what was wanted before.
bool SentinelKeeper::want(Bytes bytes, OomHost& host) noexcept {
  if (all_) return true;
  asked_for_.store(true);
  if (!host.books().may_hold_sentinel()) {
    wanted_bytes_.store(bytes);
    return true;
  }
  placing_.store(true);
  placed_.store(false);
  wanted_bytes_.store(bytes);
  let_go_.store(false);
  if (held() > bytes) give_back(held() - bytes, host);
  const bool whole = grow(host, bytes);
  was_whole_.store(whole);
  placed_.store(true);
  if (wanted()) say(host, whole ? "placed" : "missing", bytes);
  return whole;
}

Bytes SentinelKeeper::target(Ledger& memory) const noexcept {
  const Bytes room = memory.unreserved();
  if (room == kUnlimitedBytes) return all_ ? 0 : wanted_bytes_.load();
  return all_ ? held_.load() + room / kPageBytes * kPageBytes : wanted_bytes_.load();
}

bool SentinelKeeper::grow(OomHost& host, Bytes wanted_bytes) noexcept {
  while (held_.load() < wanted_bytes && !let_go_) {
    const Bytes chunk = std::min(kChunkBytes, round_up(wanted_bytes - held_.load(), kPageBytes));
    if (!take_one(host, chunk)) return false;
  }
  return true;
}

bool SentinelKeeper::take_one(OomHost& host, Bytes bytes) noexcept {
  std::optional<Reservation> reservation = host.books().reserve(bytes);
  if (!reservation) return false;
  const std::optional<DeviceReader::Chunk> chunk = memory_.take_chunk(host.identity().ordinal, bytes);
  if (chunk) {
    try {
      const std::lock_guard lock(mutex_);
      if (!let_go_) {
        pieces_.push_back({*chunk, bytes});
        host.books().settle_sentinel(*reservation);
        held_.fetch_add(bytes);
        return true;
      }
    } catch (...) {
    }
    memory_.give_chunk(*chunk);
  }
  return false;
}

bool SentinelKeeper::release(Bytes bytes, OomHost& host) noexcept { return give_back(bytes, host) > 0; }

Bytes SentinelKeeper::give_back(Bytes bytes, OomHost& host) noexcept {
  Bytes released = 0;
  while (released < bytes) {
    Piece piece{};
    {
      const std::lock_guard lock(mutex_);
      if (pieces_.empty()) break;
      piece = pieces_.back();
      pieces_.pop_back();
      room_since_ = clock_.now();
    }
    host.books().free_begins();
    memory_.give_chunk(piece.chunk);
    held_.fetch_sub(piece.bytes);
    host.books().release_sentinel(piece.bytes);
    host.books().free_ends();
    released += piece.bytes;
  }
  if (released > 0 && !all_) say(host, "released", wanted_bytes_.load());
  return released;
}

void SentinelKeeper::take_freed(OomHost& host) noexcept {
  if (!all_ || !placed_ || let_go_ || taking_freed_.exchange(true)) return;
  grow(host, target(host.books()));
  taking_freed_.store(false);
}

Bytes SentinelKeeper::let_go(OomHost& host) noexcept {
  let_go_.store(true);
  const Bytes released = give_back(kUnlimitedBytes, host);
  host.books().leave_sentinel_role();
  return released;
}

void SentinelKeeper::stay_within(OomHost& host) noexcept {
  const Bytes excess = host.books().excess();
  if (excess > 0) release(excess, host);
}

std::optional<Reservation> SentinelKeeper::make_room(Bytes bytes, OomHost& host) noexcept {
  if (held() == 0) return std::nullopt;
  const Bytes card = host.card_free().value_or(bytes);
  const Bytes missing = std::max(host.books().short_of(bytes), bytes - std::min(bytes, card));
  if (missing > 0) release(missing, host);
  return host.books().reserve(bytes);
}

MonotonicTime SentinelKeeper::tend(OomHost& host) noexcept {
  if (!wanted() || !asked_for_ || let_go_) return MonotonicTime::max();
  if (!host.books().may_hold_sentinel()) return clock_.now() + kRetry;
  if (!placed_) place(host);  // whoever had it in the group has ended
  if (!placed_) return MonotonicTime::max();
  stay_within(host);
  const MonotonicTime now = clock_.now();
  const Bytes wanted_bytes = target(host.books());
  if (held() >= wanted_bytes) return MonotonicTime::max();
  const auto patience = all_ ? MonotonicTime::duration(kAfterRelease) : MonotonicTime::duration(kPatience);
  {
    const std::lock_guard lock(mutex_);
    // Of an emergency sentinel all must fit again.
    const bool room = all_ || wanted_bytes - held() <= host.books().unreserved();
    if (!room) room_since_ = now;
    if (room_since_ && now - *room_since_ < patience) return *room_since_ + patience;
  }
  if (grow(host, wanted_bytes)) {
    was_whole_.store(true);
    if (!all_ || said_missing_) say(host, "retaken", wanted_bytes);
    return MonotonicTime::max();
  }
  say(host, "missing", wanted_bytes);
  return now + kRetry;
}

// That it is missing, once until it is whole again.
void SentinelKeeper::say(OomHost& host, const char* state, Bytes wanted_bytes) noexcept {
  const bool missing = *state == 'm';
  if (missing && said_missing_) return;
  said_missing_ = missing;
  LogRecord record(Event::Sentinel, missing ? LogLevel::Warn : LogLevel::Info);
  record.device(host.identity().ordinal).add("state", state).add("sentinel_bytes", held());
  if (missing) record.add("wanted_bytes", wanted_bytes);
  if (const std::optional<Bytes> card = host.card_free()) record.add("device_free_bytes", *card);
  host.post(record);
}

}  // namespace vramguard
