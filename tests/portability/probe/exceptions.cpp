#include "tests/portability/probe/probe.h"

#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

struct Base {
  virtual ~Base() = default;
};
struct Left : virtual Base {
  int left = 1;
};
struct Right : virtual Base {
  int right = 2;
};
struct Both : Left, Right {};

struct CountsDown {
  int& count;
  ~CountsDown() { --count; }
};

int deep(int levels, int& alive) {
  ++alive;
  CountsDown here{alive};
  if (levels == 0) throw std::out_of_range("bottom");
  return deep(levels - 1, alive) + 1;
}

template <typename Thrown, typename Caught>
bool caught_as(Thrown value) {
  try {
    throw value;
  } catch (const Caught&) {
    return true;
  } catch (...) {
    return false;
  }
}

void nested() {
  try {
    try {
      throw std::runtime_error("inner");
    } catch (...) {
      std::throw_with_nested(std::logic_error("outer"));
    }
  } catch (const std::logic_error& outer) {
    PROBE_EXPECT(outer.what() == std::string("outer"));
    try {
      std::rethrow_if_nested(outer);
      PROBE_EXPECT(!"nothing was nested");
    } catch (const std::runtime_error& inner) {
      PROBE_EXPECT(inner.what() == std::string("inner"));
    }
  }
}

void rethrown() {
  int passes = 0;
  try {
    try {
      throw std::length_error("again");
    } catch (std::exception&) {
      ++passes;
      throw;
    }
  } catch (const std::length_error& error) {
    ++passes;
    PROBE_EXPECT(error.what() == std::string("again"));
  }
  PROBE_EXPECT(passes == 2);
  PROBE_EXPECT(std::uncaught_exceptions() == 0);
  PROBE_EXPECT(std::current_exception() == nullptr);
}

void across_threads() {
  std::exception_ptr carried;
  std::thread([&] {
    try {
      throw std::domain_error("from a thread");
    } catch (...) {
      carried = std::current_exception();
    }
  }).join();
  try {
    std::rethrow_exception(carried);
  } catch (const std::domain_error& error) {
    PROBE_EXPECT(error.what() == std::string("from a thread"));
  }
  std::promise<int> promise;
  std::thread([&] { promise.set_exception(std::make_exception_ptr(7)); }).join();
  try {
    promise.get_future().get();
    PROBE_EXPECT(!"the future threw nothing");
  } catch (int seven) {
    PROBE_EXPECT(seven == 7);
  }
}

// More threads than the unwinder's emergency pool has places.
void many_threads() {
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 16; ++worker) {
    workers.emplace_back([worker] {
      for (int round = 0; round < 8; ++round) {
        int alive = 0;
        try {
          deep(worker + round, alive);
          PROBE_EXPECT(!"deep() returned");
        } catch (const std::out_of_range&) {
          PROBE_EXPECT(alive == 0);
        }
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

namespace probe {

void exceptions() {
  PROBE_EXPECT((caught_as<int, int>(1)));
  PROBE_EXPECT((!caught_as<int, long>(1)));
  PROBE_EXPECT((caught_as<std::out_of_range, std::logic_error>(std::out_of_range(""))));
  PROBE_EXPECT((caught_as<std::bad_alloc, std::exception>(std::bad_alloc())));
  PROBE_EXPECT((caught_as<Both, Left>({})));
  PROBE_EXPECT((caught_as<Both, Right>({})));
  PROBE_EXPECT((caught_as<Both, Base>({})));
  PROBE_EXPECT((!caught_as<Left, Right>({})));

  nested();
  rethrown();
  across_threads();
  many_threads();

  const std::function<int(int)> thrower = [](int value) -> int { throw value + 1; };
  try {
    thrower(41);
  } catch (int value) {
    PROBE_EXPECT(value == 42);
  }
  try {
    std::function<void()>()();
  } catch (const std::bad_function_call&) {
    PROBE_EXPECT(true);
  }
  try {
    throw std::system_error(ENOENT, std::generic_category(), "open");
  } catch (const std::system_error& error) {
    PROBE_EXPECT(error.code() == std::errc::no_such_file_or_directory);
    PROBE_EXPECT(std::string(error.what()) == "open: No such file or directory");
  }
  try {
    std::map<int, int>().at(1);
  } catch (const std::out_of_range&) {
    PROBE_EXPECT(true);
  }
  // Far beyond any address space, kept from the compiler's eyes.
  volatile std::size_t too_many = std::size_t{1} << 60;
  try {
    std::unique_ptr<char[]> never(new char[too_many]);
    PROBE_EXPECT(!"2^60 bytes were given");
  } catch (const std::bad_alloc&) {
    PROBE_EXPECT(true);
  }
  PROBE_EXPECT(new (std::nothrow) char[too_many] == nullptr);
  std::unique_ptr<Base> object = std::make_unique<Both>();
  PROBE_EXPECT(dynamic_cast<Right*>(object.get()) != nullptr);
  PROBE_EXPECT(dynamic_cast<std::exception*>(object.get()) == nullptr);
}

}  // namespace probe
