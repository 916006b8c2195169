"""The result rows that scripts/gpu_check.sh gathers, and what NVML says this process takes. Standard library only."""

import ctypes
import os
import sys

failures = 0


def row(ok, name, expected, seen):
    global failures
    failures += not ok
    seen = " ".join(str(seen).split())
    # In one piece: several processes may report at once.
    sys.stdout.write("\t".join(["row", "PASS" if ok else "FAIL", name, expected, seen[:160]]) + "\n")
    sys.stdout.flush()


def finish():
    sys.exit(1 if failures else 0)


def mib(count):
    return f"{count / 2**20:.0f} MiB"


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


def taken_bytes(pid=None):
    """A process's bytes on the first card by NVML, of this one by default; None where NVML does not tell."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        nvml.nvmlInit_v2()
        device = ctypes.c_void_p()
        nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
        processes = (_Process * 256)()
        count = ctypes.c_uint(256)
        if nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), processes):
            return None
    except (OSError, AttributeError):
        return None
    for process in processes[: count.value]:
        if process.pid == (pid or os.getpid()) and 0 < process.bytes < 2**63:
            return process.bytes
    return None


def check_card(budget, what):
    """Modules that are loaded late are in nobody's books yet; they may lie on top of the budget by a little."""
    taken = taken_bytes()
    if taken is not None:
        ok = taken <= budget + 2**26
        row(ok, f"{what}: the card at the refusal", "budget + 64 MiB at most", f"{mib(taken)} of {mib(budget)}")
