"""One of several PyTorch processes that share a budget: trains a small model beside a store of tensors that grows until
memory runs out, then drops half of it and goes on. torch_members.py SECONDS SEED; prints what came of it."""

import sys
import time

import torch

MIB = 1 << 20


def main():
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    torch.manual_seed(seed)
    model = torch.nn.Linear(1024, 1024).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    stored, steps, refused = [], 0, 0
    print("ready", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            loss = model(torch.randn(64, 1024, device="cuda")).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            stored.append(torch.empty(64 * MIB, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            refused += 1
            del stored[: (len(stored) + 1) // 2]
            torch.cuda.empty_cache()
            time.sleep(0.05)
    finite = bool(torch.isfinite(loss).item())
    print(f"steps={steps}\nrefused={refused}\nfinite={int(finite)}\nfinished", flush=True)


main()
