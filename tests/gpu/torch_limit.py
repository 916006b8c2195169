"""PyTorch: sized to the budget, refused with its own exception, goes on. The allocator is chosen by
PYTORCH_CUDA_ALLOC_CONF. torch_limit.py BUDGET_BYTES [LABEL]"""

import sys

import torch

from report import check_card, finish, mib, row

CHUNK = 64 << 20
budget = int(sys.argv[1])
label = sys.argv[2] if len(sys.argv) > 2 else "torch"

free, total = torch.cuda.mem_get_info()
row(total == budget and free < budget, f"{label}: mem_get_info", "the budget", f"total {mib(total)}, free {mib(free)}")
memory = torch.cuda.get_device_properties(0).total_memory
row(memory == budget, f"{label}: device properties", "the budget", mib(memory))

held = []
refusal = None
while refusal is None and len(held) * CHUNK < 2 * budget:
    try:
        held.append(torch.empty(CHUNK, dtype=torch.uint8, device="cuda"))
    except Exception as error:  # which one is what is looked at
        refusal = error
allocated = torch.cuda.memory_allocated()
row(
    isinstance(refusal, torch.OutOfMemoryError) and budget * 0.7 < allocated < budget,
    f"{label} is refused",
    "torch.OutOfMemoryError",
    f"{type(refusal).__name__} at {mib(allocated)}",
)
check_card(budget, label)

refusal = None
del held[len(held) // 2 :]
torch.cuda.empty_cache()
try:
    a = torch.arange(1024 * 1024, dtype=torch.float32, device="cuda").reshape(1024, 1024) / 2**20
    gpu = (a @ a).sum().item()
    cpu = (a.cpu().double() @ a.cpu().double()).sum().item()
    row(abs(gpu - cpu) < 1e-3 * abs(cpu), f"{label} goes on", f"sum {cpu:.6g}", f"sum {gpu:.6g}")
except Exception as error:
    row(False, f"{label} goes on", "a right matrix product", f"{type(error).__name__}: {error}")
finish()
