"""A small training on the card, fed by two forked DataLoader workers. Prints every loss in full: with the guard the same as
without it."""

import sys

import torch
from torch.utils.data import DataLoader, TensorDataset

STEPS = 20
BATCH = 256


def main():
    torch.manual_seed(20260920)
    torch.use_deterministic_algorithms(True)
    inputs = torch.randn(STEPS * BATCH, 64)
    targets = inputs.sin().sum(dim=1, keepdim=True)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)
    ).cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=BATCH, num_workers=2, multiprocessing_context="fork")
    for step, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item()!r}")
    print("finished")


if __name__ == "__main__":
    main()
    sys.exit(0)
