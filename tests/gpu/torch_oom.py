"""A PyTorch training that needs about 6.5 GiB, for what happens when they are not there: prints its losses and ends with
"finished", or with its own OutOfMemoryError and status 3. torch_oom.py [--save-on-signal FILE]"""

import os
import signal
import sys
import time

import torch

from report import taken_bytes

STEPS = 6


def on_signal(path):
    def save(_number, _frame):
        torch.save({"time": time.time()}, path)

    signal.signal(signal.SIGUSR1, save)


def main():
    torch.manual_seed(20261130)
    if len(sys.argv) > 2:
        on_signal(sys.argv[2])
    inputs = torch.randn(64, 8192)
    model = torch.nn.Sequential(*[torch.nn.Linear(8192, 8192, bias=False) for _ in range(6)]).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-5)
    for step in range(STEPS):
        loss = model(inputs.cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.6g}", flush=True)
    print(f"reserved_mib={torch.cuda.max_memory_reserved() >> 20}")
    print(f"taken_bytes={taken_bytes() or -1}")
    print("finished")


try:
    main()
except torch.OutOfMemoryError as error:
    print("OutOfMemoryError:", str(error).splitlines()[0], flush=True)
    time.sleep(0.2)  # a Python signal handler runs between two instructions
    sys.exit(3)
