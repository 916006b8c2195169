"""NCCL all-reduce of two ranks on two cards, each under its budget: right sums, refused with its own exception, goes on.
torch_nccl.py BUDGET_BYTES"""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from report import finish, mib, row

CHUNK = 64 << 20


def rank_main(rank, budget):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=2)
    wrong = 0
    for size in (1, 1000, 1 << 20, 1 << 24):
        values = torch.full((size,), float(rank + 1), device="cuda")
        dist.all_reduce(values)
        wrong += int((values != 3.0).sum().item())
    row(wrong == 0, f"nccl rank {rank}: all-reduce", "0 wrong sums", f"{wrong} wrong")
    held, refusal = [], None
    while refusal is None and len(held) * CHUNK < 2 * budget:
        try:
            held.append(torch.empty(CHUNK, dtype=torch.uint8, device="cuda"))
        except Exception as error:  # which one is what is looked at
            refusal = error
    row(
        isinstance(refusal, torch.OutOfMemoryError),
        f"nccl rank {rank} is refused",
        "torch.OutOfMemoryError",
        f"{type(refusal).__name__} at {mib(len(held) * CHUNK)}",
    )
    free, total = torch.cuda.mem_get_info()
    row(total == budget, f"nccl rank {rank}: mem_get_info", "the budget", f"total {mib(total)}, free {mib(free)}")
    refusal = None
    held.clear()
    torch.cuda.empty_cache()
    values = torch.ones(1 << 20, device="cuda")
    dist.all_reduce(values)
    row(bool((values == 2.0).all()), f"nccl rank {rank} goes on", "a right sum", f"{values[0].item()}")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(rank_main, args=(int(sys.argv[1]),), nprocs=2)
    finish()
