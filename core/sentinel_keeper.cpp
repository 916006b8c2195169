#include "core/sentinel_keeper.h"

#include <algorithm>

namespace vramguard {

namespace {

// A request that has just had some of it given back must not find it taken again before it gets there.
constexpr auto kAfterRelease = std::chrono::milliseconds(100);

}  // namespace

bool SentinelKeeper::place(OomHost& host) noexcept {
  if (!wanted() || placing_.exchange(true)) return true;
  const Bytes wanted_bytes = target(host.books());
  const bool whole = grow(host, wanted_bytes);
  placed_.store(true);
  say(host, whole ? "placed" : "missing", wanted_bytes);
  return whole;
}

Bytes SentinelKeeper::target(Ledger& memory) const noexcept {
  const Bytes room = memory.unreserved();
  if (room == kUnlimitedBytes) return wanted_.all ? 0 : wanted_.bytes;
  return wanted_.all ? held_.load() + room / kPageBytes * kPageBytes : wanted_.bytes;
}

bool SentinelKeeper::grow(OomHost& host, Bytes wanted_bytes) noexcept {
  while (held_.load() < wanted_bytes) {
    const Bytes chunk = std::min(kChunkBytes, round_up(wanted_bytes - held_.load(), kPageBytes));
    if (!take_one(host, chunk)) return false;
  }
  return true;
}

bool SentinelKeeper::take_one(OomHost& host, Bytes bytes) noexcept {
  if (!host.books().charge_sentinel(bytes)) return false;
  const std::optional<DeviceReader::Chunk> chunk = memory_.take_chunk(host.identity().ordinal, bytes);
  if (chunk) {
    try {
      const std::lock_guard lock(mutex_);
      pieces_.push_back({*chunk, bytes});
      held_.fetch_add(bytes);
      return true;
    } catch (...) {
      memory_.give_chunk(*chunk);
    }
  }
  host.books().release_sentinel(bytes);
  return false;
}

bool SentinelKeeper::release(Bytes bytes, OomHost& host) noexcept {
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
    memory_.give_chunk(piece.chunk);
    held_.fetch_sub(piece.bytes);
    host.books().release_sentinel(piece.bytes);
    released += piece.bytes;
  }
  if (released > 0 && !wanted_.all) say(host, "released", wanted_.bytes);
  return released > 0;
}

Bytes SentinelKeeper::let_go(OomHost& host) noexcept {
  let_go_.store(true);
  const Bytes before = held();
  release(kUnlimitedBytes, host);
  return before;
}

MonotonicTime SentinelKeeper::tend(OomHost& host) noexcept {
  if (!wanted() || !placed_ || let_go_) return MonotonicTime::max();
  const MonotonicTime now = clock_.now();
  const Bytes wanted_bytes = target(host.books());
  if (held() >= wanted_bytes) return MonotonicTime::max();
  const auto patience = wanted_.all ? MonotonicTime::duration(kAfterRelease) : MonotonicTime::duration(kPatience);
  {
    const std::lock_guard lock(mutex_);
    // Of an emergency sentinel all must fit again.
    const bool room = wanted_.all || wanted_bytes - held() <= host.books().unreserved();
    if (!room) room_since_ = now;
    if (room_since_ && now - *room_since_ < patience) return *room_since_ + patience;
  }
  if (grow(host, wanted_bytes)) {
    if (!wanted_.all || said_missing_) say(host, "retaken", wanted_bytes);
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
