"""CuPy: sized to the budget, refused with its own exception, goes on.
cupy_limit.py BUDGET_BYTES [async: its pool over the driver's stream-ordered memory]"""

import sys

import cupy

from report import check_card, finish, mib, row

CHUNK = 64 << 20
budget = int(sys.argv[1])
label = "cupy, async pool" if "async" in sys.argv[2:] else "cupy"
if "async" in sys.argv[2:]:
    cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)

free, total = cupy.cuda.runtime.memGetInfo()
row(total == budget and free < budget, f"{label}: memGetInfo", "the budget", f"total {mib(total)}, free {mib(free)}")
memory = cupy.cuda.runtime.getDeviceProperties(0)["totalGlobalMem"]
row(memory == budget, f"{label}: device properties", "the budget", mib(memory))

held = []
refusal = None
while refusal is None and len(held) * CHUNK < 2 * budget:
    try:
        held.append(cupy.empty(CHUNK, dtype=cupy.uint8))
    except Exception as error:  # which one is what is looked at
        refusal = error
allocated = len(held) * CHUNK
row(
    (isinstance(refusal, cupy.cuda.memory.OutOfMemoryError) or "MemoryAllocation" in str(refusal)) and budget * 0.7 < allocated < budget,
    f"{label} is refused",
    "OutOfMemoryError",
    f"{type(refusal).__name__} at {mib(allocated)}",
)
check_card(budget, label)

refusal = None
del held[len(held) // 2 :]
cupy.get_default_memory_pool().free_all_blocks()
try:
    values = cupy.arange(1_000_000, dtype=cupy.int64)
    total = int((values * 2).sum())
    row(total == 999_999_000_000, f"{label} goes on", "sum 999999000000", f"sum {total}")
except Exception as error:
    row(False, f"{label} goes on", "a right sum", f"{type(error).__name__}: {error}")
finish()
