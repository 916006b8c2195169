#!/usr/bin/env bash
# Shows that every gate of scripts/check_exports.sh fails when it should, on libraries made wrong by hand.
#
#   check_exports_test.sh SOURCE_DIR WORK_DIR
set -euo pipefail

check=$1/scripts/check_exports.sh
work=$2
cc=${CC:-cc}
cxx=${CXX:-c++}
failed=0

rm -rf "$work"
mkdir -p "$work/src" "$work/good"
cd "$work/src"

cat >rows.inc <<'END'
// a comment with VG_DRIVER_FUNCTION(cuNotARow, 1.0, (void))
VG_DRIVER_FUNCTION(cuInit, 2.0, (unsigned int flags))
VG_DRIVER_FUNCTION(cuMemAlloc_v2, 3.2, (CUdeviceptr* dptr, size_t bytes))
END
case $($cc -dumpmachine) in
  x86_64*) oldest=GLIBC_2.2.5 ;;
  *) oldest=GLIBC_2.17 ;;
esac
cat >preload.map <<END
VRAMGUARD_1 { global: cu*; vramguard_*; extra; local: *; };
$oldest { global: dlsym; dlvsym; };
GLIBC_2.34 { global: dlsym; dlvsym; } $oldest;
END
cat >preload.c <<END
int cuInit(unsigned f) { return (int)f; }
int cuMemAlloc_v2(void *p, unsigned long n) { return p != 0 && n; }
int vramguard_version(void) { return 1; }
void *new_dlsym(void *h, const char *n) { return n ? h : 0; }
void *old_dlsym(void *h, const char *n) { return n ? h : 0; }
void *new_dlvsym(void *h, const char *n, const char *v) { return n && v ? h : 0; }
void *old_dlvsym(void *h, const char *n, const char *v) { return n && v ? h : 0; }
#ifndef NO_NEW_DLSYM
__asm__(".symver new_dlsym, dlsym@@GLIBC_2.34");
#endif
#ifndef NO_OLD_DLSYM
__asm__(".symver old_dlsym, dlsym@$oldest");
#endif
__asm__(".symver new_dlvsym, dlvsym@@GLIBC_2.34");
__asm__(".symver old_dlvsym, dlvsym@$oldest");
END
echo '{ global: vramguard_core_attach; local: *; };' >core.map
echo 'extern "C" int vramguard_core_attach() { return 0; }' >core.cpp

link='-fPIC -shared -Wl,-Bsymbolic -Wl,-z,now -Wl,-z,nodelete -Wl,--as-needed'
core_map=core.map
preload() { # folder, then more flags and sources
  # shellcheck disable=SC2086
  "$cc" $link -Wl,--version-script=preload.map -nostartfiles -o "$work/$1/libvramguard.so" preload.c "${@:2}"
}
core() {
  # shellcheck disable=SC2086
  "$cxx" $link -Wl,--version-script="$core_map" -static-libstdc++ -static-libgcc -o "$work/$1/libvramguard-core.so" core.cpp "${@:2}"
}

# Runs the gates on a copy of the good folder; the rest of the line makes the one library that is wrong.
fails_with() { # message command...
  local message=$1 output
  shift
  rm -rf "$work/bad"
  cp -r "$work/good" "$work/bad"
  "$@"
  if output=$("$check" --functions rows.inc --floor "${floor:-2.17}" "$work/bad" 2>&1); then
    echo "NOT NOTICED: $message"
  elif grep -qF -- "$message" <<<"$output"; then
    echo "noticed: $message"
    return
  else
    printf 'FAILED, BUT NOT WITH "%s":\n%s\n' "$message" "$output"
  fi
  failed=$((failed + 1))
}

preload good
core good
"$check" --functions rows.inc --floor 2.17 "$work/good" || { echo "NOT PASSED: the good libraries"; failed=1; }

without() { # flag command...
  local link=${link/$1/}
  "${@:2}"
}
source_line() { printf '%s\n' "$1" >"$2"; echo "$2"; }

fails_with "libvramguard.so is missing" rm "$work/bad/libvramguard.so"
fails_with "libvramguard-core.so is missing" rm "$work/bad/libvramguard-core.so"
rows_without() { grep -v cuInit rows.inc >less.inc; cp rows.inc kept.inc; mv less.inc rows.inc; }
rows_twice() { cp rows.inc kept.inc; grep cuInit kept.inc >>rows.inc; }
fails_with "exports too much: cuInit" rows_without
mv kept.inc rows.inc
fails_with "two rows for: cuInit" rows_twice
mv kept.inc rows.inc
fails_with "does not export: cuMemAlloc_v2" preload bad -DcuMemAlloc_v2=other
fails_with "exports too much: extra" preload bad "$(source_line 'int extra(void) { return 1; }' extra.c)"
fails_with "does not export dlsym@$oldest" preload bad -DNO_OLD_DLSYM
fails_with "does not export dlsym@GLIBC_2.34" preload bad -DNO_NEW_DLSYM
fails_with "libvramguard.so needs libm.so.6" preload bad -Wl,--no-as-needed -lm
fails_with "libvramguard.so requires GLIBC_2" \
  preload bad "$(source_line 'int stat(const char *, void *); int vramguard_s(void) { return stat("", 0); }' newer.c)"
fails_with "requires GLIBC_PRIVATE" \
  preload bad "$(source_line 'int __libc_alloca_cutoff(unsigned long); int vramguard_s(void) { return __libc_alloca_cutoff(1); }' private.c)"
fails_with "libvramguard.so has text relocations" preload bad -Wl,-z,notext \
  "$(source_line '__asm__(".text\n.globl vramguard_t\nvramguard_t: .quad cuInit\n"); void vramguard_u(void) {}' text.c)"
fails_with "libvramguard.so has constructors" \
  preload bad "$(source_line '__attribute__((constructor)) static void early(void) { __asm__(""); }' early.c)"
fails_with "libvramguard.so has code in .init" \
  preload bad "$(source_line '__asm__(".section .init,\"ax\"\n.globl _init\n_init: .skip 64\n.text"); void vramguard_u(void) {}' init.c)"
fails_with "bytes of static TLS" \
  preload bad "$(source_line '__thread char big[128]; char *vramguard_t(void) { return big; }' tls.c)"
fails_with "can be unloaded" without -Wl,-z,nodelete preload bad
fails_with "binds its own functions to others'" without -Wl,-Bsymbolic preload bad
fails_with "is bound lazily" without -Wl,-z,now preload bad -Wl,-z,lazy
fails_with "executable stack" preload bad -Wl,-z,execstack
core_map=$(source_line '{ global: vramguard_core_attach; _Z*; local: *; };' open.map)
fails_with "libvramguard-core.so exports too much: _Z5strayv" \
  core bad \
  "$(source_line 'void stray() {}' stray.cpp)"
fails_with "libvramguard-core.so has STB_GNU_UNIQUE symbols" \
  core bad \
  "$(source_line 'template <class T> struct Of { static int value; }; template <class T> int Of<T>::value = 3; int* stray() { return &Of<int>::value; }' unique.cpp)"
core_map=core.map
fails_with "libvramguard-core.so does not export: vramguard_core_attach" core bad -Dvramguard_core_attach=other
fails_with "libvramguard-core.so needs libstdc++.so.6" core bad -Wl,--no-as-needed -Wl,-Bdynamic -l:libstdc++.so.6
fails_with "libvramguard-core.so needs libgcc_s.so.1" core bad -Wl,--no-as-needed -l:libgcc_s.so.1
fails_with "libvramguard-core.so has 8 bytes of thread-local data: " \
  core bad "$(source_line 'thread_local long own; extern "C" long* vramguard_own() { return &own; }' tls.cpp)" -Wl,--no-gc-sections
fails_with "libvramguard-core.so needs static TLS" core bad -ftls-model=initial-exec tls.cpp

if [[ $failed -gt 0 ]]; then
  echo "$failed of the gates do not hold"
  exit 1
fi
