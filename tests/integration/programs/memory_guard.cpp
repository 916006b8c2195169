// Does with a MemoryGuard on a CudaDevice what its stdin says, and answers each line with one.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/memory_guard.h"
#include "shim/api/cuda_device.h"
#include "shim/driver_abi.h"

using namespace vramguard;
using namespace vramguard::abi;

namespace {

template <typename... Parameters>
int call(const char* name, Parameters... parameters) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  const auto function = reinterpret_cast<CUresult (*)(Parameters...)>(dlsym(library, name));
  return function(parameters...);
}

MemoryPolicy policy_of(const std::string& name) {
  if (name == "retry") return RetryAfterFree{};
  if (name == "wait") return WaitAndRetry{std::chrono::seconds(20)};
  if (name == "spill") return Spill{4_GiB};
  if (name == "checkpoint") return CheckpointAndFail{};
  return Fail{};
}

constexpr std::size_t kEnd = 1_MiB;

struct Session {
  // The first and the last of the youngest buffer's bytes.
  std::vector<unsigned char> read_back() const {
    const DeviceBuffer<unsigned char>& buffer = buffers.back();
    std::vector<unsigned char> content(std::min<std::size_t>(2 * kEnd, buffer.size()), 0xEE);
    const std::size_t half = content.size() / 2, rest = content.size() - half;
    CUcontext context = nullptr;
    call("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
    call("cuCtxPushCurrent_v2", context);
    call("cuMemcpyDtoH_v2", static_cast<void*>(content.data()), CUdeviceptr{buffer.address()}, half);
    call("cuMemcpyDtoH_v2", static_cast<void*>(content.data() + half),
         CUdeviceptr{buffer.address() + buffer.size() - rest}, rest);
    call("cuCtxPopCurrent_v2", &context);
    call("cuDevicePrimaryCtxRelease_v2", CUdevice{0});
    return content;
  }

  // What the driver keeps of a pool although nobody uses it.
  std::string keep_pool(std::size_t bytes) {
    CUmemoryPool pool = nullptr;
    cuuint64_t threshold = UINT64_MAX;
    CUdeviceptr address = 0;
    const std::vector<int> results = {
        call("cuDeviceGetDefaultMemPool", &pool, CUdevice{0}),
        call("cuMemPoolSetAttribute", pool, 4, static_cast<void*>(&threshold)),
        call("cuMemAllocAsync", &address, bytes, CUstream{}),
        call("cuMemFreeAsync", address, CUstream{}),
        call("cuCtxSynchronize"),
    };
    return std::all_of(results.begin(), results.end(), [](int result) { return result == 0; }) ? "ok" : "failed";
  }

  std::string answer(std::istream& in) {
    std::string word;
    std::uint64_t number = 0;
    in >> word;
    if (word == "guard") {
      std::string policy;
      Bytes reserve = 0;
      in >> number >> reserve >> policy;
      MemoryGuardBuilder builder(std::make_shared<CudaDevice>(0));
      builder.budget_bytes(number).reserve_bytes(reserve);
      if (policy != "unsaid") builder.oom_policy(policy_of(policy));
      guard = std::make_unique<MemoryGuard>(builder.build());
      return "ok";
    }
    if (word == "alloc") {
      in >> number;
      buffers.push_back(guard->safe_alloc<unsigned char>(number));
      const std::vector<unsigned char> content = read_back();
      const bool zero = std::all_of(content.begin(), content.end(), [](unsigned char byte) { return byte == 0; });
      return std::string(buffers.back().on_host() ? "host" : "device") + (zero ? " zero" : " not zero");
    }
    if (word == "fill") {
      in >> number;
      int count = 0;
      try {
        for (;; ++count) buffers.push_back(guard->safe_alloc<unsigned char>(number));
      } catch (const BudgetExceeded&) {
        return std::to_string(count) + " budget";
      } catch (const OutOfDeviceMemory&) {
        return std::to_string(count) + " device";
      }
    }
    if (word == "copy") {
      in >> number;
      std::vector<unsigned char> data(number);
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 7 + 3);
      buffers.push_back(guard->safe_alloc_copy<unsigned char>(data));
      if (data.size() > 2 * kEnd) data.erase(data.begin() + kEnd, data.end() - kEnd);
      return read_back() == data ? "same" : "different";
    }
    if (word == "free") {
      for (DeviceBuffer<unsigned char>& buffer : buffers) guard->free(std::move(buffer));
      buffers.clear();
      return "ok";
    }
    if (word == "hook") {  // NAME OVERHEAD: gives back the youngest buffer, or fails
      MemoryHook hook;
      in >> hook.name >> hook.execution_overhead_bytes;
      hook.callback = [this, fails = hook.name == "fails"](const MemoryShortage&) -> Bytes {
        if (fails) throw std::runtime_error("hook");
        if (buffers.empty()) return 0;
        guard->free(std::move(buffers.back()));
        buffers.pop_back();
        return 0;
      };
      guard->register_hook(std::move(hook));
      return "ok";
    }
    if (word == "unhook") {
      in >> word;
      return guard->remove_hook(word) ? "ok" : "none";
    }
    if (word == "checkpoint") {
      guard->on_oom([this](const MemoryShortage& shortage) { saved += shortage.requested; });
      return "ok";
    }
    if (word == "saved") return std::to_string(saved);
    if (word == "listen") {
      guard->add_pressure_listener([this](PressureLevel, PressureLevel to) { heard = to; });
      return "ok";
    }
    if (word == "heard") return std::string(to_string(heard.load()));
    if (word == "raw") {  // BYTES, not by the guard
      in >> number;
      CUdeviceptr address = 0;
      CUcontext context = nullptr;
      call("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
      call("cuCtxSetCurrent", context);
      return std::to_string(call("cuMemAlloc_v2", &address, static_cast<std::size_t>(number)));
    }
    if (word == "attached") return guard->attached() ? "yes" : "no";
    if (word == "end") {
      guard.reset();
      return "ok";
    }
    if (word == "used") return std::to_string(guard->stats().used);
    if (word == "budget") return std::to_string(guard->budget());
    if (word == "recovered") return std::to_string(guard->stats().oom_recoveries);
    if (word == "release") return std::to_string(guard->release_reservation());
    if (word == "pool") {
      in >> number;
      CUcontext context = nullptr;
      call("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
      call("cuCtxSetCurrent", context);
      return keep_pool(number);
    }
    if (word == "context") {  // of our own on device `number`, and current
      in >> number;
      call("cuCtxCreate_v2", &own_context, 0U, static_cast<CUdevice>(number));
      return own_context != nullptr ? "ok" : "failed";
    }
    if (word == "current") {
      CUcontext current = nullptr, of_buffer = nullptr;
      call("cuCtxGetCurrent", &current);
      if (!buffers.empty()) {
        call("cuPointerGetAttribute", static_cast<void*>(&of_buffer), 1, CUdeviceptr{buffers.back().address()});
      }
      const std::string what = current == nullptr ? "none" : current == own_context ? "own" : "other";
      return what + (of_buffer != nullptr && of_buffer == own_context ? " own" : " primary");
    }
    return "?";
  }

  std::unique_ptr<MemoryGuard> guard;
  std::vector<DeviceBuffer<unsigned char>> buffers;
  CUcontext own_context = nullptr;
  Bytes saved = 0;
  std::atomic<PressureLevel> heard{PressureLevel::None};
};

}  // namespace

int main() {
  Session session;
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::string answer;
    try {
      answer = session.answer(in);
    } catch (const BudgetExceeded&) {
      answer = "BudgetExceeded";
    } catch (const OutOfDeviceMemory&) {
      answer = "OutOfDeviceMemory";
    } catch (const DeviceError& error) {
      answer = "DeviceError " + std::to_string(error.code()) + " " + error.what();
    }
    std::cout << answer << std::endl;
  }
}
