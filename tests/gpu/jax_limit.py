"""JAX: sized to the budget, refused with RESOURCE_EXHAUSTED, goes on. The allocator is chosen by XLA's own variables.
jax_limit.py BUDGET_BYTES LABEL"""

import sys

import jax
import jax.numpy as jnp

from report import check_card, finish, mib, row

CHUNK = 64 << 20
budget = int(sys.argv[1])
label = sys.argv[2]

device = jax.devices("gpu")[0]
stats = device.memory_stats() or {}
limit = stats.get("bytes_limit")
if limit:
    row(limit <= budget, f"{label}: pool size", "within the budget", mib(limit))

held = []
refusal = None
while refusal is None and len(held) * CHUNK < 2 * budget:
    try:
        held.append(jax.device_put(jnp.full((CHUNK // 4,), 1.0, dtype=jnp.float32), device).block_until_ready())
    except Exception as error:  # which one is what is looked at
        refusal = error
allocated = len(held) * CHUNK
name = type(refusal).__name__
row(
    name in ("XlaRuntimeError", "JaxRuntimeError")
    and "RESOURCE_EXHAUSTED" in str(refusal)
    and budget * 0.4 < allocated < budget,
    f"{label} is refused",
    "RESOURCE_EXHAUSTED",
    f"{name}: {str(refusal)[:60]} at {mib(allocated)}",
)
check_card(budget, label)

refusal = None
del held[len(held) // 2 :]
try:
    a = jnp.arange(512 * 512, dtype=jnp.float32).reshape(512, 512) / 512**2
    total = float((a + a).sum())
    row(abs(total - 512**2) < 100, f"{label} goes on", "sum about 262143", f"sum {total:.6g}")
except Exception as error:
    row(False, f"{label} goes on", "a right sum", f"{type(error).__name__}: {error}")
finish()
