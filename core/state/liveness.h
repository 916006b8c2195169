// Whether the thread that marked a piece of shared memory still lives: told by the kernel, whatever it died of.
#pragma once

#include <pthread.h>

namespace vramguard {

// A robust mutex that its holder never gives back. When the thread ends, be it by exec or SIGKILL, the kernel marks it
// within a millisecond; forked children do not hold it, and it needs no descriptor. The memory must stay mapped.

// Once, in memory that nobody else sees yet.
bool prepare_mark(pthread_mutex_t& mark) noexcept;

enum class Mark { Taken, TakenFromDead, Held };
// For the calling thread, for as long as it lives. TakenFromDead: what the one before has left must be put in order.
Mark take_mark(pthread_mutex_t& mark) noexcept;
// Gives a mark back that the calling thread holds.
void leave_mark(pthread_mutex_t& mark) noexcept;

// Also for a copy of the memory. Content that is no mutex tells nothing, but harms nobody.
bool is_held(const pthread_mutex_t& mark) noexcept;
// Nobody has it, and nobody has died with it. One that is neither held nor free was left by a dead thread.
bool is_free(const pthread_mutex_t& mark) noexcept;

}  // namespace vramguard
