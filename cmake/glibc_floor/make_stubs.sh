#!/bin/sh
# Makes what a shared library is linked against instead of the installed glibc, so that it needs an old one only.
#
#   make_stubs.sh CC OBJDUMP FLOOR OUT      for example: make_stubs.sh gcc objdump 2.17 build/glibc_floor
#
# OUT/link is a folder for `-L`: its libc.so, libm.so, libpthread.so, libdl.so ... come before the system's, wherever
# the compiler driver or CMake writes `-lc` and the like. They name stub libraries in OUT, whose symbols carry the newest
# version at or below FLOOR, and an archive of hidden replacements for functions that came later (fallback/).
#
# Where functions lived in glibc 2.33 and before decides the DT_NEEDED: pthread_create is required from libpthread.so.0,
# dlopen from libdl.so.2. Newer systems keep both files, with the old version names but without the functions;
# the loader checks the version name in the file, and then finds the function in libc, which keeps the old version of it.
set -eu

cc=$1 objdump=$2 floor=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)

installed() {
  path=$("$cc" -print-file-name="$1")
  [ -e "$path" ] || return 1
  printf '%s\n' "$path"
}

need() { installed "$1" || { echo "make_stubs: $cc finds no $1" >&2; exit 1; }; }

machine=$("$cc" -dumpmachine)
case $machine in
  x86_64-*linux-gnu*) loader=ld-linux-x86-64.so.2 ;;
  aarch64-*linux-gnu*) loader=ld-linux-aarch64.so.1 ;;
  *) echo "make_stubs: not tried on $machine" >&2; exit 1 ;;
esac

rm -rf "$out"
mkdir -p "$out/link" "$out/work"
out=$(cd "$out" && pwd)

stub_of() { # library file
  "$objdump" -T "$2" | LC_ALL=C awk -v floor="$floor" -v soname="$1" -v out="$out/work" -f "$here/make_stubs.awk"
}

for library in libc.so.6 libm.so.6 "$loader"; do
  file=$(need "$library")
  stub_of "$library" "$file"
done
# Built on glibc 2.33 or older: what the newer ones merged into libc is still in its own file.
for library in libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1; do
  [ -e "$out/work/$library.s" ] || { file=$(need "$library") && stub_of "$library" "$file"; }
done

for source in "$out"/work/*.s; do
  library=$(basename "$source" .s)
  printf '.section .note.GNU-stack,"",%%progbits\n' >>"$source"
  "$cc" -shared -nostdlib -Wl,--soname="$library" -Wl,--version-script="$out/work/$library.map" \
    -o "$out/$library" "$source"
done

for source in "$here"/fallback/*.c; do
  "$cc" -std=gnu11 -O2 -fPIC -fvisibility=hidden -fno-builtin -ffunction-sections -fdata-sections -Wall -Wextra \
    -c -o "$out/work/$(basename "$source" .c).o" "$source"
done
rm -f "$out/libfallback.a"
"${AR:-ar}" rcs "$out/libfallback.a" "$out"/work/*.o

nonshared=$(installed libc_nonshared.a || true)
cat >"$out/link/libc.so" <<END
GROUP ( $out/libc.so.6
        AS_NEEDED ( $out/$loader $out/libpthread.so.0 $out/libdl.so.2 )
        $out/libfallback.a $nonshared )
END
echo "INPUT ( AS_NEEDED ( $out/libm.so.6 ) )" >"$out/link/libm.so"
for library in libpthread.so.0 libdl.so.2 librt.so.1 libutil.so.1; do
  [ -e "$out/$library" ] || continue
  echo "INPUT ( AS_NEEDED ( $out/$library ) )" >"$out/link/${library%.so.*}.so"
done
rm -rf "$out/work"
