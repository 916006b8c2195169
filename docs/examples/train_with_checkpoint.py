"""A training that saves its work when the memory runs out, and ends well.

    vramguard run -b 4GiB --policy checkpoint-and-fail -- python train_with_checkpoint.py --out run.pt

The model grows until a step does not fit. Then vramguard calls save() once, PyTorch raises its OutOfMemoryError, and the
program ends with status 3 and a checkpoint on disk; started again with --resume run.pt it goes on where it was.
"""

import argparse
import sys

import torch

import vramguard

parser = argparse.ArgumentParser()
parser.add_argument("--out", default="checkpoint.pt")
parser.add_argument("--resume")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--grow", type=float, default=1.15, help="how much larger each tenth step's batch is")
options = parser.parse_args()

torch.manual_seed(0)
torch.cuda.init()
model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(2048, 2048), torch.nn.ReLU())])
model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
step = 0
if options.resume:
    saved = torch.load(options.resume, map_location="cuda", weights_only=True)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    step = saved["step"]
    print(f"resumed at step {step}")


def state():
    # To host memory piece by piece: no device memory is needed to save.
    return {
        "step": step,
        "model": {name: tensor.cpu() for name, tensor in model.state_dict().items()},
        "optimizer": optimizer.state_dict(),
    }


@vramguard.on_checkpoint
def save(request=None):
    torch.save(state(), options.out)
    print(f"saved step {step} to {options.out}", flush=True)


batch = options.batch
try:
    while step < options.steps:
        inputs = torch.randn(int(batch), 2048, device="cuda")
        loss = model(inputs).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        if step % 10 == 0:
            batch *= options.grow
except torch.OutOfMemoryError as error:
    print(f"step {step} does not fit: {str(error).splitlines()[0]}", flush=True)
    sys.exit(3)
save()
print("done")
