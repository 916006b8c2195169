"""vramguard for Python programs: its numbers, settings and callbacks, over the C API (shim/vramguard.h).

Copy this file next to your program. Without the library preloaded everything here does nothing, so a program that uses it
runs anywhere:

    import vramguard

    torch.cuda.init()  # before that the guard is not there, running() is False, and registering warns

    @vramguard.on_checkpoint
    def save(request):
        torch.save(model.state_dict(), "last.pt")
"""

import atexit
import ctypes
import dataclasses
import functools
import os
import warnings

UNLIMITED = 2**64 - 1
LEVELS = ("none", "low", "medium", "high", "critical")
_FAILURES = {
    -1: "vramguard is not running in this process, or CUDA has not been initialised yet",
    -2: "no device of that number",
    -3: "an argument that cannot be",
    -4: "no hook of that name",
    -5: "out of memory",
}
_library = ctypes.CDLL(None)  # what is preloaded is part of the process
_kept = {}  # the callbacks that the library may call: Python must not collect them


class Error(RuntimeError):
    """A call that vramguard could not serve."""


class _Statistics(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_uint64)
        for name in (
            "budget used peak sentinel device_total device_free allocations frees refused recovered".split()
        )
    ]
    _fields_ += [("level", ctypes.c_int)]


class Request(ctypes.Structure):
    """A request that does not fit: device, requested, missing, budget, used (bytes), attempt, deadline_ms."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_int),
        ("requested", ctypes.c_uint64),
        ("missing", ctypes.c_uint64),
        ("budget", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
        ("attempt", ctypes.c_uint),
        ("deadline_ms", ctypes.c_uint),
    ]


class _Pressure(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("device", ctypes.c_int),
        ("from_level", ctypes.c_int),
        ("to_level", ctypes.c_int),
        ("budget", ctypes.c_uint64),
        ("used", ctypes.c_uint64),
        ("free", ctypes.c_uint64),
    ]


@dataclasses.dataclass(frozen=True)
class Statistics:
    """Bytes, and how often things happened. `budget` is None without one, `device_free` where it is not known."""

    budget: int | None
    used: int
    peak: int
    sentinel: int
    device_total: int
    device_free: int | None
    allocations: int
    frees: int
    refused: int
    recovered: int
    level: str


@dataclasses.dataclass(frozen=True)
class Pressure:
    """A published change of the pressure level."""

    device: int
    before: str
    level: str
    budget: int
    used: int
    free: int


_OOM_HOOK = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.POINTER(Request), ctypes.c_void_p)
_CHECKPOINT = ctypes.CFUNCTYPE(None, ctypes.POINTER(Request), ctypes.c_void_p)
_LISTENER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Pressure), ctypes.c_void_p)


def present():
    """Whether the library is preloaded into this process, and not switched off."""
    return hasattr(_library, "vramguard_version") and os.environ.get("VRAMGUARD") != "0"


def version():
    """The library's version, or None."""
    if not present():
        return None
    _library.vramguard_version.restype = ctypes.c_char_p
    return _library.vramguard_version().decode()


def running():
    """Whether this process is guarded: the library is there, and CUDA has been initialised."""
    return present() and _library.vramguard_device_count() >= 0


def _ready():
    """running(), and a warning where it will only be later: what is registered now would be lost."""
    if present() and not running():
        warnings.warn("vramguard is not running yet: call this after CUDA is initialised (torch.cuda.init())", stacklevel=3)
    return running()


def _check(result):
    if result < 0:
        raise Error(_FAILURES.get(result, f"error {result}"))
    return result


def statistics(device=0):
    """The numbers of one device, or None where nothing is guarded."""
    if not running():
        return None
    raw = _Statistics(size=ctypes.sizeof(_Statistics))
    _check(_library.vramguard_get_statistics(device, ctypes.byref(raw)))
    values = {name: getattr(raw, name) for name, *_ in _Statistics._fields_[1:]}
    for name in ("budget", "device_free"):
        if values[name] == UNLIMITED:
            values[name] = None
    return Statistics(**{**values, "level": LEVELS[raw.level]})


def set_budget(size, device=0):
    """Changes the budget, in bytes; None takes it away. Nothing that is in use is taken back."""
    if _ready():
        _check(_library.vramguard_set_budget(device, ctypes.c_uint64(UNLIMITED if size is None else size)))


def set_policy(policy):
    """"fail", "retry-after-free", "wait-and-retry", "checkpoint-and-fail" or "spill"."""
    if _ready():
        _check(_library.vramguard_set_policy(policy.encode()))


def on_oom(name, priority=0, estimated_free=0):
    """Decorates a function that frees what it can when a request does not fit. It is given the Request, on the thread that
    was refused, and may return how much it believes it has freed."""

    def register(function):
        @functools.wraps(function)
        def call(request, _context):
            return int(function(request.contents) or 0)

        if _ready():
            callback = _OOM_HOOK(call)
            _check(
                _library.vramguard_add_oom_hook(
                    name.encode(), priority, ctypes.c_uint64(estimated_free), callback, None
                )
            )
            _kept[name] = callback
        return function

    return register


def remove_oom_hook(name):
    if running():
        _check(_library.vramguard_remove_oom_hook(name.encode()))


def on_checkpoint(function):
    """Decorates the function that saves the program's work, once, before it is told that there is no memory (policy
    checkpoint-and-fail). It is given the Request. Save from tensors that exist: new device memory will not be had."""

    def call(request, _context):
        function(request.contents)

    if _ready():
        callback = _CHECKPOINT(call)
        _check(_library.vramguard_set_checkpoint(callback, None))
        _kept["checkpoint"] = callback
    return function


def on_pressure(function):
    """Decorates a function that is given each Pressure change, on the guard's own thread. It must be quick."""

    def call(change, _context):
        c = change.contents
        function(Pressure(c.device, LEVELS[c.from_level], LEVELS[c.to_level], c.budget, c.used, c.free))

    if _ready():
        callback = _LISTENER(call)
        _check(_library.vramguard_add_pressure_listener(callback, None))
        _kept[f"pressure {len(_kept)}"] = callback
        # The guard's thread lives longer than the interpreter.
        atexit.register(_library.vramguard_remove_pressure_listener, callback, None)
    return function


def release_reservation(device=0):
    """Gives the sentinel back to the card, for good; how much that was."""
    if not running():
        return 0
    _library.vramguard_release_reservation.restype = ctypes.c_uint64
    return _library.vramguard_release_reservation(device)
