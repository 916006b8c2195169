// Stream capture: work that becomes nodes of a graph, and the calls that ruin it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "tests/sim_driver/capture_rules.h"
#include "tests/sim_driver/driver.h"
#include "tests/sim_driver/graphs.h"

namespace vgsim {

// One capture, from its begin to its end. Guarded by DriverLock, as all below.
struct Capture {
  std::uint64_t id;
  CUstreamCaptureMode mode;
  std::uint64_t thread;  // that began it
  std::shared_ptr<Graph> graph;
  bool given_graph = false;  // it is the program's
  bool ruined = false;       // the end will give no graph
  struct CaptureSeat* origin = nullptr;
  std::unordered_set<CaptureSeat*> seats;  // of every stream that takes part
};

// A stream's part in a capture. Its end, with the stream's, takes the stream out.
struct CaptureSeat {
  ~CaptureSeat();

  Context* context = nullptr;
  bool waits_for_legacy = false;         // a stream that is not CU_STREAM_NON_BLOCKING
  std::shared_ptr<Capture> capture;      // nullptr: the stream is not captured
  std::vector<GraphNode*> dependencies;  // of the next node
};

// What an event stands for that was recorded in a capture.
struct CapturedEvent {
  std::weak_ptr<Capture> capture;  // gone: the capture has ended
  std::vector<GraphNode*> dependencies;
};

// CU_STREAM_PER_THREAD where a function of the per-thread kind gets the NULL stream.
inline CUstream per_thread(CUstream stream) { return stream ? stream : reinterpret_cast<CUstream>(2); }

// The seat of a stream that is captured, otherwise nullptr.
CaptureSeat* captured_seat(CUstream stream);

CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> given,
                       std::vector<GraphNode*> dependencies);
CUresult end_capture(CUstream stream, CUgraph* out);

// Adds a node after what the stream has captured so far.
CUresult add_captured_node(CaptureSeat& seat, CUgraphNodeType type, NodeContent content);

// The following are empty when the stream is not captured and the caller goes on. Otherwise the call became part of the
// capture, or is refused; the legacy stream is refused what would make it wait for a captured one.

// Makes `event` stand for what the stream has captured so far, or for nothing captured.
std::optional<CUresult> capture_record(CUstream stream, std::shared_ptr<CapturedEvent>& event);

// Lets the stream join what the event stands for.
std::optional<CUresult> capture_wait(CUstream stream, const std::shared_ptr<CapturedEvent>& event);

std::optional<CUresult> legacy_refusal(CUstream stream);
bool legacy_would_wait(CUstream stream);

// `work` is a function without arguments that returns CUresult, for the launch to call.
template <class Work>
std::optional<CUresult> capture_work(CUstream stream, CUgraphNodeType type, Work&& work) {
  if (captures_going_on == 0) return std::nullopt;
  if (CaptureSeat* seat = captured_seat(stream)) {
    NodeContent content;
    content.work = std::forward<Work>(work);
    return add_captured_node(*seat, type, std::move(content));
  }
  return legacy_refusal(stream);
}

// For what cannot be captured: it ruins the capture.
std::optional<CUresult> refuse_capture(CUstream stream);

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode);

// Takes the default streams of all threads out of captures in a context that ends.
void leave_captures_in(const Context& context);

// Ruins what is captured into a graph that is being destroyed.
void ruin_captures_into(const Graph& graph);

}  // namespace vgsim
