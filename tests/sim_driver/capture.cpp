#include "tests/sim_driver/capture.h"

#include <algorithm>
#include <map>

#include "tests/sim_driver/handles.h"

namespace vgsim {

int captures_going_on = 0;

namespace {

bool is_legacy(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 1; }
bool is_per_thread(CUstream stream) { return reinterpret_cast<std::uintptr_t>(stream) == 2; }

std::vector<std::shared_ptr<Capture>>& going_on() {
  static auto* const all = new std::vector<std::shared_ptr<Capture>>;
  return *all;
}

// Never used again, unlike the system's.
std::uint64_t this_thread() {
  static std::uint64_t last = 0;
  static thread_local std::uint64_t id = 0;
  if (id == 0) id = ++last;
  return id;
}

CUstreamCaptureMode& mode_of_thread() {
  static thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

// The default streams of threads that capture them.
std::map<std::uint64_t, CaptureSeat>& seats_of_threads() {
  static auto* const all = new std::map<std::uint64_t, CaptureSeat>;
  return *all;
}

CaptureSeat* existing_seat(CUstream stream) {
  if (is_legacy(stream)) return nullptr;
  if (is_per_thread(stream)) {
    const auto found = seats_of_threads().find(this_thread());
    return found == seats_of_threads().end() ? nullptr : &found->second;
  }
  const Stream* found = handles().streams.find(stream);
  return found ? found->seat.get() : nullptr;
}

// Of a stream that exists and is not the legacy one.
CaptureSeat& seat_of(CUstream stream, Context& context) {
  if (is_per_thread(stream)) {
    CaptureSeat& seat = seats_of_threads()[this_thread()];
    seat.context = &context;
    seat.waits_for_legacy = true;
    return seat;
  }
  Stream& found = *handles().streams.find(stream);
  if (!found.seat) {
    found.seat = std::make_shared<CaptureSeat>();
    found.seat->context = found.context;
    found.seat->waits_for_legacy = (found.flags & kStreamNonBlocking) == 0;
  }
  return *found.seat;
}

void take_seat(CaptureSeat& seat, std::shared_ptr<Capture> capture, std::vector<GraphNode*> dependencies) {
  capture->seats.insert(&seat);
  seat.capture = std::move(capture);
  seat.dependencies = std::move(dependencies);
}

void finish(std::shared_ptr<Capture> capture) {
  auto& all = going_on();
  all.erase(std::remove(all.begin(), all.end(), capture), all.end());
  captures_going_on = static_cast<int>(all.size());
  for (CaptureSeat* seat : capture->seats) {
    seat->capture.reset();
    seat->dependencies.clear();
  }
  capture->seats.clear();
}

// Whether all that forked off has come back to the stream that began.
bool is_joined(const Capture& capture) {
  for (const CaptureSeat* seat : capture.seats)
    for (const GraphNode* last : seat->dependencies)
      if (!comes_after(capture.origin->dependencies, last)) return false;
  return true;
}

// Whether work on the legacy stream would wait for a stream of the capture.
bool makes_wait(const Capture& capture, CUstream stream) {
  Context* context = nullptr;
  if (!is_legacy(stream) || current_context(context) != CUDA_SUCCESS) return false;
  return std::any_of(capture.seats.begin(), capture.seats.end(),
                     [&](const CaptureSeat* seat) { return seat->context == context && seat->waits_for_legacy; });
}

CUresult ruin(Capture& capture, CUresult result) {
  capture.ruined = true;
  return result;
}

}  // namespace

CaptureSeat::~CaptureSeat() {
  if (!capture) return;
  const auto left = capture;
  left->seats.erase(this);
  if (left->origin == this) finish(left);
}

CaptureSeat* captured_seat(CUstream stream) {
  CaptureSeat* seat = existing_seat(stream);
  return seat && seat->capture ? seat : nullptr;
}

CUresult begin_capture(CUstream stream, CUstreamCaptureMode mode, std::shared_ptr<Graph> given,
                       std::vector<GraphNode*> dependencies) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_INVALID_VALUE;
  if (is_legacy(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  CaptureSeat& seat = seat_of(stream, *context);
  if (seat.capture) return CUDA_ERROR_ILLEGAL_STATE;
  auto capture = std::make_shared<Capture>();
  capture->id = driver().next_id++;
  capture->mode = mode;
  capture->thread = this_thread();
  capture->given_graph = given != nullptr;
  capture->graph = given ? std::move(given) : std::make_shared<Graph>();
  capture->origin = &seat;
  going_on().push_back(capture);
  captures_going_on = static_cast<int>(going_on().size());
  take_seat(seat, std::move(capture), std::move(dependencies));
  return CUDA_SUCCESS;
}

CUresult end_capture(CUstream stream, CUgraph* out) {
  Context* context = nullptr;
  if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  CaptureSeat* seat = captured_seat(stream);
  if (!seat) return CUDA_ERROR_ILLEGAL_STATE;
  const std::shared_ptr<Capture> capture = seat->capture;
  if (capture->origin != seat) return ruin(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != this_thread())
    return ruin(*capture, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = is_joined(*capture);
  finish(capture);
  if (capture->ruined) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *out = capture->given_graph ? capture->graph->handle() : give_to_program(capture->graph);
  return CUDA_SUCCESS;
}

CUresult add_captured_node(CaptureSeat& seat, CUgraphNodeType type, NodeContent content) {
  if (seat.capture->ruined) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  seat.dependencies = {&seat.capture->graph->add(type, seat.dependencies, std::move(content))};
  return CUDA_SUCCESS;
}

std::optional<CUresult> capture_record(CUstream stream, std::shared_ptr<CapturedEvent>& event) {
  event.reset();
  if (captures_going_on == 0) return std::nullopt;
  const CaptureSeat* seat = captured_seat(stream);
  if (!seat) return legacy_refusal(stream);
  if (seat->capture->ruined) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event = std::make_shared<CapturedEvent>(CapturedEvent{seat->capture, seat->dependencies});
  return CUDA_SUCCESS;
}

std::optional<CUresult> capture_wait(CUstream stream, const std::shared_ptr<CapturedEvent>& event) {
  CaptureSeat* seat = captures_going_on == 0 ? nullptr : captured_seat(stream);
  const std::shared_ptr<Capture> waited_for = event ? event->capture.lock() : nullptr;
  if (!waited_for || waited_for->seats.empty()) {
    if (seat) return ruin(*seat->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (event) return CUDA_ERROR_CAPTURED_EVENT;
    return legacy_refusal(stream);
  }
  if (is_legacy(stream)) return ruin(*waited_for, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (waited_for->ruined) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!seat) {
    Context* context = nullptr;
    if (const CUresult result = stream_context(stream, context); result != CUDA_SUCCESS) return result;
    take_seat(seat_of(stream, *context), waited_for, event->dependencies);
    return CUDA_SUCCESS;
  }
  if (seat->capture != waited_for) {
    ruin(*waited_for, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    return ruin(*seat->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE);
  }
  for (GraphNode* node : event->dependencies) {
    auto& own = seat->dependencies;
    if (std::find(own.begin(), own.end(), node) == own.end()) own.push_back(node);
  }
  return CUDA_SUCCESS;
}

bool legacy_would_wait(CUstream stream) {
  for (const auto& capture : going_on())
    if (makes_wait(*capture, stream)) return true;
  return false;
}

std::optional<CUresult> legacy_refusal(CUstream stream) {
  std::optional<CUresult> refused;
  for (const auto& capture : going_on())
    if (makes_wait(*capture, stream)) refused = ruin(*capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  return refused;
}

std::optional<CUresult> refuse_capture(CUstream stream) {
  if (captures_going_on == 0) return std::nullopt;
  if (CaptureSeat* seat = captured_seat(stream)) return ruin(*seat->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  return legacy_refusal(stream);
}

CUstreamCaptureMode exchange_thread_mode(CUstreamCaptureMode mode) {
  std::swap(mode, mode_of_thread());
  return mode;
}

CUresult check_capture_rules(Function function) {
  static const auto* const forbidden = new const std::vector<bool>([] {
    std::vector<bool> table(kFunctionCount);
#define VGSIM_NOT_WHILE_CAPTURING(symbol) table[static_cast<std::size_t>(Function::symbol)] = true;
#include "tests/sim_driver/capture_rules.inc"
#undef VGSIM_NOT_WHILE_CAPTURING
    return table;
  }());
  const CUstreamCaptureMode mode = mode_of_thread();
  if (mode == CU_STREAM_CAPTURE_MODE_RELAXED || !(*forbidden)[static_cast<std::size_t>(function)]) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  for (const auto& capture : going_on()) {
    const bool own = capture->thread == this_thread();
    const bool concerned =
        own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
            : capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (concerned) result = ruin(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result;
}

void leave_captures_in(const Context& context) {
  std::erase_if(seats_of_threads(), [&](const auto& seat) { return seat.second.context == &context; });
}

void ruin_captures_into(const Graph& graph) {
  for (const auto& capture : going_on())
    if (capture->graph.get() == &graph) capture->ruined = true;
}

}  // namespace vgsim
