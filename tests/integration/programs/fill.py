# An unmodified Python program that uses the driver through ctypes: fill.py BYTES
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
allocated = []
while True:
    address = ctypes.c_uint64()
    code = cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(int(sys.argv[1])))
    if code:
        break
    allocated.append(address)
print("fill", code, len(allocated))
for address in allocated:
    assert cuda.cuMemFree_v2(address) == 0
