#include "tests/sim_driver/graph_memory.h"

#include <algorithm>

#include "tests/sim_driver/linear_heap.h"

namespace vgsim {
namespace {

// Between the addresses of pools and the linear memory.
constexpr std::uint64_t kAddressBase = 0x1800'0000'0000ULL;
constexpr std::uint64_t kAddressesPerDevice = 1ULL << 39;
constexpr std::uint64_t kRangeChunks = 64;  // 2 GiB of addresses

std::map<const Device*, DeviceGraphMemory>& memory_of_devices() {
  static auto* const all = new std::map<const Device*, DeviceGraphMemory>;
  return *all;
}

ChunkRanges& ranges_of(const Device& device) {
  static auto* const all = new std::map<int, DeviceRanges>;
  const std::uint64_t base = kAddressBase + static_cast<std::uint64_t>(device.physical) * kAddressesPerDevice;
  return all->try_emplace(device.physical, base, kAddressesPerDevice).first->second;
}

std::unordered_map<CUdeviceptr, GraphAddresses*>& addresses_of_nodes() {
  static auto* const all = new std::unordered_map<CUdeviceptr, GraphAddresses*>;
  return *all;
}

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

template <class Body>
void for_each_chunk(std::uint64_t address, std::uint64_t bytes, Body body) {
  for (std::uint64_t chunk = address / kChunkBytes; chunk <= (address + bytes - 1) / kChunkBytes; ++chunk) body(chunk);
}

}  // namespace

// --- what a device gives ---

std::uint64_t DeviceGraphMemory::idle_of_streams() const {
  std::uint64_t bytes = 0;
  for (const auto& [stream, idle] : idle_of_stream_) bytes += idle;
  return bytes;
}

bool DeviceGraphMemory::start(std::uint64_t bytes, std::uint64_t stream) {
  if (bytes == 0) return true;
  std::uint64_t& idle = idle_of_stream_[stream];
  const std::uint64_t usable = reserved_.current - in_use_.current - (idle_of_streams() - idle);
  if (bytes > usable) {
    if (!driver().take(*device_, bytes - usable)) return false;
    reserved_.set(reserved_.current + bytes - usable);
  }
  idle -= std::min(idle, bytes);
  in_use_.set(in_use_.current + bytes);
  return true;
}

void DeviceGraphMemory::finish(std::uint64_t bytes, std::uint64_t kept, std::uint64_t stream) {
  if (bytes == 0) return;
  in_use_.set(in_use_.current - (bytes - kept));
  idle_of_stream_[stream] += bytes - kept;
}

void DeviceGraphMemory::trim() {
  driver().give(*device_, reserved_.current - in_use_.current);
  reserved_.set(in_use_.current);
  idle_of_stream_.clear();
}

DeviceGraphMemory& graph_memory(Device& device) {
  return memory_of_devices().try_emplace(&device, device).first->second;
}

void synchronise_graph_memory() {
  for (auto& [device, memory] : memory_of_devices()) memory.synchronise();
}

// --- where the nodes of a graph lie ---

GraphAddresses::~GraphAddresses() {
  for (const auto& [address, place] : places_) addresses_of_nodes().erase(address);
  for (const auto& [device, area] : areas_)
    for (const auto& [address, chunks] : area.ranges) ranges_of(*device).give(address, chunks);
}

CUdeviceptr GraphAddresses::place(Device& device, std::uint64_t bytes, const std::vector<GraphNode*>& after) {
  bytes = rounded(bytes);
  Area& area = areas_[&device];
  const auto fits = [&](const Reusable& old) {
    return old.device == &device && old.bytes >= bytes && comes_after(after, old.free_node);
  };
  CUdeviceptr address = 0;
  if (const auto old = std::find_if(reusable_.begin(), reusable_.end(), fits); old != reusable_.end()) {
    address = old->address;
    old->address += bytes;
    old->bytes -= bytes;
    if (old->bytes == 0) reusable_.erase(old);
  } else {
    address = extend(device, area, bytes);
    if (address == 0) return 0;
  }
  for_each_chunk(address, bytes, [&](std::uint64_t chunk) { area.chunks.insert(chunk); });
  places_[address] = Place{&device, bytes, false};
  addresses_of_nodes()[address] = this;
  return address;
}

CUdeviceptr GraphAddresses::extend(Device& device, Area& area, std::uint64_t bytes) {
  if (bytes > area.end - area.next) {
    std::uint64_t chunks = std::max(kRangeChunks, chunks_of(bytes));
    auto start = ranges_of(device).take(chunks);
    if (!start) start = ranges_of(device).take(chunks = chunks_of(bytes));
    if (!start) return 0;
    area.ranges.emplace_back(*start, chunks);
    area.next = *start;
    area.end = *start + chunks * kChunkBytes;
  }
  area.next += bytes;
  return area.next - bytes;
}

bool GraphAddresses::add_free(CUdeviceptr address, const GraphNode& node) {
  const auto found = places_.find(address);
  if (found == places_.end() || found->second.freed) return false;
  Place& place = found->second;
  place.freed = true;
  reusable_.push_back(Reusable{address, place.bytes, place.device, &node});
  return true;
}

bool GraphAddresses::can_free(CUdeviceptr address) const {
  const auto found = places_.find(address);
  return found != places_.end() && !found->second.freed;
}

std::vector<std::pair<Device*, std::uint64_t>> GraphAddresses::footprint() const {
  std::vector<std::pair<Device*, std::uint64_t>> all;
  for (const auto& [device, area] : areas_) all.emplace_back(device, area.chunks.size() * kChunkBytes);
  return all;
}

void GraphAddresses::begin_allocation(CUdeviceptr address, std::uint64_t bytes, Device& device) {
  Area& area = areas_[&device];
  for_each_chunk(address, bytes, [&](std::uint64_t chunk) { ++area.users[chunk]; });
  add_owned(address, bytes, &device, shared_from_this());
  live_.insert(address);
}

void GraphAddresses::take_back(const Allocation& allocation) {
  Area& area = areas_[allocation.device];
  std::uint64_t ended = 0;
  for_each_chunk(allocation.address, allocation.bytes, [&](std::uint64_t chunk) {
    const auto users = area.users.find(chunk);
    if (--users->second != 0) return;
    area.users.erase(users);
    ended += kChunkBytes;
  });
  live_.erase(allocation.address);
  // While the graph runs, it has all of its memory.
  if (!running_) graph_memory(*allocation.device).end_kept(ended);
}

bool GraphAddresses::start(std::uint64_t stream) {
  const auto all = footprint();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (graph_memory(*all[i].first).start(all[i].second, stream)) continue;
    while (i-- > 0) graph_memory(*all[i].first).finish(all[i].second, 0, stream);
    return false;
  }
  running_ = true;
  return true;
}

void GraphAddresses::finish(std::uint64_t stream) {
  running_ = false;
  for (const auto& [device, bytes] : footprint())
    graph_memory(*device).finish(bytes, areas_[device].users.size() * kChunkBytes, stream);
}

void GraphAddresses::free_all() {
  for (const CUdeviceptr address : std::vector<CUdeviceptr>(live_.begin(), live_.end()))
    end_allocation(driver().allocations.find(address));
}

GraphAddresses* find_graph_addresses(CUdeviceptr address) {
  const auto found = addresses_of_nodes().find(address);
  return found == addresses_of_nodes().end() ? nullptr : found->second;
}

}  // namespace vgsim
