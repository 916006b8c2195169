# A Python program that uses docs/examples/vramguard.py, with the library and without: knows_us.py FOLDER
import ctypes
import sys

sys.path.insert(0, sys.argv[1])
import vramguard

assert not vramguard.running() and vramguard.statistics() is None
cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0


def allocate(size):
    address = ctypes.c_uint64()
    return cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)), address


held, calls = [], []
if vramguard.running():

    @vramguard.on_oom("free", estimated_free=64 << 20)
    def free(request):
        calls.append(request.requested)
        cuda.cuMemFree_v2(held.pop())

    while len(calls) < 3:
        code, address = allocate(64 << 20)
        assert code == 0, code
        held.append(address)
    vramguard.remove_oom_hook("free")

    @vramguard.on_checkpoint
    def save(request):
        calls.append("saved")

    vramguard.set_policy("checkpoint-and-fail")
    assert allocate(64 << 20)[0] == 2
    numbers = vramguard.statistics()
    vramguard.set_budget(numbers.budget + (64 << 20))
    print("python", calls, numbers.refused, numbers.recovered, numbers.level in vramguard.LEVELS, allocate(64 << 20)[0])
else:
    vramguard.set_policy("spill")
    vramguard.set_budget(1)
    print("python without", vramguard.present(), vramguard.release_reservation())
