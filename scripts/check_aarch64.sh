#!/usr/bin/env bash
# Builds the preloaded part for AArch64 with a cross compiler, holds it to the gates of check_exports.sh, and, where
# qemu-user is installed, runs a program under it with a stand-in core and driver (tests/portability/aarch64).
#
#   check_aarch64.sh WORK_DIR
#
# Exits 77 when there is no cross compiler (Debian: gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user).
set -euo pipefail

work=${1:?"usage: check_aarch64.sh WORK_DIR"}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=aarch64-linux-gnu
cc=$target-gcc
floor=2.17

skip() { echo "check_aarch64: SKIPPED: $*"; exit 77; }
command -v $cc >/dev/null || skip "$cc is not installed"
echo '#include <dlfcn.h>' | $cc -E - >/dev/null 2>&1 || skip "$cc has no C library (libc6-dev-arm64-cross)"
command -v cmake >/dev/null || skip "cmake is not installed"

rm -rf "$work"
mkdir -p "$work/objects"
work=$(cd "$work" && pwd)

AR=$target-ar sh "$root/cmake/glibc_floor/make_stubs.sh" $cc $target-objdump $floor "$work/floor"
cmake -DTABLE="$root/shim/driver_functions.inc" -DOUT="$work/exports.map" -DOLDEST=GLIBC_2.17 -P "$root/shim/version_script.cmake"

# As shim/CMakeLists.txt and cmake/VramguardShared.cmake have it.
flags=(-std=gnu11 -O2 -g -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-builtin -fno-tree-loop-distribute-patterns
  -fno-stack-protector -mno-outline-atomics -ffunction-sections -fdata-sections -Wall -Wextra -Wshadow -Werror -I"$root" '-DVRAMGUARD_VERSION="check"')
objects=()
for source in "$root"/shim/preload/*.c "$root"/shim/preload/*_aarch64.S; do
  [[ -f $source ]] || { echo "check_aarch64: FAILED: $source is missing"; exit 1; }
  object=$work/objects/$(basename "$source").o
  $cc "${flags[@]}" -c -o "$object" "$source"
  objects+=("$object")
done
$cc -shared -nostartfiles -L"$work/floor/link" -o "$work/libvramguard.so" "${objects[@]}" -static-libgcc -Wl,--as-needed \
  -Wl,--version-script="$work/exports.map" -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,relro,-z,now -Wl,-z,nodelete \
  -Wl,--gc-sections -Wl,--no-undefined -Wl,-z,noexecstack -Wl,--fatal-warnings -Wl,-soname,libvramguard.so
NM=$target-nm READELF=$target-readelf "$root/scripts/check_exports.sh" --preload-only --floor $floor "$work"

qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if [[ -z $qemu ]]; then
  echo "check_aarch64: built and checked; SKIPPED running it: qemu-user is not installed"
  exit 0
fi
here=$root/tests/portability/aarch64
plain=(-std=gnu11 -O1 -g -Wall -Wextra -Werror -I"$root" '-DVRAMGUARD_VERSION="check"')
mkdir -p "$work/driver" "$work/alone"
$cc "${plain[@]}" -fPIC -shared -Wl,-Bsymbolic -Wl,-soname,libcuda.so.1 -o "$work/driver/libcuda.so.1" "$here/driver.c"
$cc "${plain[@]}" -fPIC -shared -o "$work/libvramguard-core.so" "$here/core.c"
$cc "${plain[@]}" -o "$work/host" "$here/host.c" -ldl
cp "$work/libvramguard.so" "$work/alone/"

sysroot=$(dirname "$(dirname "$($cc -print-file-name=libc.so.6)")")
run() { # library mode environment...
  local settings=()
  for setting in "LD_PRELOAD=$1" "LD_LIBRARY_PATH=$work/driver" "${@:3}"; do settings+=(-E "$setting"); done
  "$qemu" -L "$sysroot" "${settings[@]}" "$work/host" "$2"
}
run "$work/libvramguard.so" guarded
run "$work/libvramguard.so" off VRAMGUARD=0
message=$(run "$work/alone/libvramguard.so" no-core 2>&1) || { echo "$message"; exit 1; }
[[ $message == *"vramguard: error: the guard cannot be loaded"* ]] || { echo "check_aarch64: FAILED: not a word about the missing core"; exit 1; }
echo "check_aarch64: built, checked and run under $(basename "$qemu")"
