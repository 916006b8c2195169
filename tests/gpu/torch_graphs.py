"""CUDA graphs of PyTorch under a budget: captured and replayed with the right result, memory refused inside a capture is
its own exception, and the program goes on. torch_graphs.py BUDGET_BYTES"""

import sys
import time

import torch

from report import check_card, finish, mib, row

budget = int(sys.argv[1])
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda().eval()
static_input = torch.randn(256, 512, device="cuda")

with torch.no_grad():
    warm = torch.cuda.Stream()
    warm.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(warm):
        for _ in range(3):
            model(static_input)
    torch.cuda.current_stream().wait_stream(warm)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        static_output = model(static_input)
    worst = 0.0
    for _ in range(20):
        fresh = torch.randn(256, 512, device="cuda")
        static_input.copy_(fresh)
        graph.replay()
        torch.cuda.synchronize()
        worst = max(worst, (static_output - model(fresh)).abs().max().item())
row(worst < 1e-3, "torch graphs: captured and replayed", "results as without a graph", f"worst difference {worst:.2e}")

# Code that was loaded up to here is in the books in a moment; filling the budget faster than that is another matter.
time.sleep(0.5)
refusal = None
greedy = torch.cuda.CUDAGraph()
held = []
try:
    with torch.cuda.graph(greedy):
        for _ in range(2 * budget // (64 << 20)):
            held.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
except Exception as error:  # which one is what is looked at
    refusal = error
row(
    isinstance(refusal, torch.OutOfMemoryError),
    "torch graphs: refused inside a capture",
    "torch.OutOfMemoryError",
    f"{type(refusal).__name__} after {mib(len(held) * (64 << 20))}",
)
check_card(budget, "torch graphs")
refusal = None
held.clear()
del greedy
torch.cuda.synchronize()
torch.cuda.empty_cache()
static_input.fill_(1.0)
graph.replay()
torch.cuda.synchronize()
row(bool(torch.isfinite(static_output).all()), "torch graphs: go on", "the first graph replays", "finite")
finish()
