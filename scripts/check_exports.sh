#!/usr/bin/env bash
# Holds the two shared libraries of a build to what a stranger's process can bear: their exports, the oldest glibc they
# load on, what they pull in, and nothing that runs or moves symbols when they are loaded.
#
#   check_exports.sh [--functions FILE] [--floor VERSION] [--preload-only] BUILD_DIR
#
# FILE is the table of driver functions (shim/driver_functions.inc); VERSION, otherwise what configure wrote into
# BUILD_DIR/glibc_floor.txt; NM and READELF name other tools than the host's. Exits 1 when a gate fails, 2 when it cannot look.
set -euo pipefail
export LC_ALL=C

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
functions=$root/shim/driver_functions.inc
floor=
build=
preload_only=
nm=${NM:-nm}
readelf=${READELF:-readelf}
usage() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"; }
while [[ $# -gt 0 ]]; do
  case $1 in
    --functions) functions=${2:?}; shift 2 ;;
    --floor) floor=${2:?}; shift 2 ;;
    --preload-only) preload_only=1; shift ;;
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    *) build=$1; shift ;;
  esac
done
[[ -n $build ]] || { usage >&2; exit 2; }

preload=$build/libvramguard.so
core=$build/libvramguard-core.so
files=("$preload" "$functions")
[[ -n $preload_only ]] || files+=("$core")
for file in "${files[@]}"; do
  [[ -f $file ]] || { echo "check_exports: $file is missing" >&2; exit 2; }
done
for tool in "$nm" "$readelf"; do
  command -v "$tool" >/dev/null || { echo "check_exports: $tool (binutils) is missing" >&2; exit 2; }
done

sanitize=
if [[ -f $build/glibc_floor.txt ]]; then
  sanitize=$(sed -n 's/^sanitize *//p' "$build/glibc_floor.txt")
  if [[ -z $floor ]]; then floor=$(head -n 1 "$build/glibc_floor.txt"); fi
fi
[[ -n $floor ]] || { echo "check_exports: $build/glibc_floor.txt is missing; configure writes it, or give --floor" >&2; exit 2; }
case $floor in
  none*) echo "check_exports: SKIPPED the oldest glibc: ${floor#none }" ;;
  [0-9]*.[0-9]*) ;;
  *) echo "check_exports: '$floor' is no glibc version" >&2; exit 2 ;;
esac

failures=0
fail() {
  echo "check_exports: FAILED: $*"
  failures=$((failures + 1))
}

# "name" or "name@version" of everything a library exports, without the version names themselves.
exports_of() { "$nm" -D --defined-only "$1" | awk '$2 != "A" { sub(/@@/, "@", $3); print $3 }' | sort -u; }
names_of() { exports_of "$1" | sed 's/@.*//' | sort -u; }
needed_by() { "$readelf" -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\].*/\1/p'; }
flags_of() { "$readelf" -dW "$1" | sed -n 's/.*(\(FLAGS\|FLAGS_1\|SYMBOLIC\|BIND_NOW\|TEXTREL\))/\1/p' | xargs; }
# "file version" of everything a library requires.
requirements_of() {
  "$readelf" -VW "$1" | awk '/^Version needs section/ { needs = 1 } /^Version (symbols|definition)/ { needs = 0 }
    needs && / File: / { sub(/.* File: /, ""); file = $1 }
    needs && /^ +0x[0-9a-f]+: +Name: / { print file, $3 }'
}

same_names() { # library expected actual
  local missing extra
  missing=$(comm -23 <(printf '%s\n' "$2") <(printf '%s\n' "$3") | xargs)
  extra=$(comm -13 <(printf '%s\n' "$2") <(printf '%s\n' "$3") | xargs)
  [[ -z $missing ]] || fail "$1 does not export: $missing"
  [[ -z $extra ]] || fail "$1 exports too much: $extra"
}

gate_requirements() { # library pattern-of-needed-files
  local name=${1##*/} file version
  while read -r file; do
    [[ $file =~ ^($2)$ ]] || fail "$name needs $file"
  done < <(needed_by "$1")
  while read -r file version; do
    if [[ ! $version =~ ^GLIBC_[0-9.]+$ ]]; then
      fail "$name requires $version of $file"
    elif [[ $floor != none* && $(printf '%s\n' "$floor" "${version#GLIBC_}" | sort -V | tail -n 1) != "$floor" ]]; then
      fail "$name requires $version of $file, the floor is $floor:" \
        "$("$nm" -D --undefined-only "$1" | awk -v at="@$version" 'index($NF, at) { printf "%s ", $NF }')"
    fi
  done < <(requirements_of "$1")
}

gate_loading() { # library
  local name=${1##*/} unique flags
  unique=$("$readelf" --dyn-syms -W "$1" | awk '$5 == "UNIQUE" { print $8 }' | xargs)
  flags=$(flags_of "$1")
  [[ -z $unique ]] || fail "$name has STB_GNU_UNIQUE symbols: $unique"
  [[ $flags != *TEXTREL* ]] || fail "$name has text relocations"
  [[ $flags == *NODELETE* ]] || fail "$name can be unloaded (no -z nodelete)"
  [[ $flags == *SYMBOLIC* ]] || fail "$name binds its own functions to others' (no -Bsymbolic)"
  [[ $flags == *NOW* ]] || fail "$name is bound lazily (no -z now)"
  [[ $("$readelf" -lW "$1") != *GNU_STACK*\ RWE\ * ]] || fail "$name wants an executable stack"
}

thread_local_bytes() { "$readelf" -lW "$1" | awk '$1 == "TLS" { print $6 }'; }

# The core is loaded late, when the host may have used up the static TLS, and has no thread-local data of its own. What
# libstdc++ keeps for exceptions and call_once is allocated at its first use (no DF_STATIC_TLS).
gate_core_thread_locals() { # library
  local name=${1##*/} bytes own
  [[ $(flags_of "$1") != *STATIC_TLS* ]] || fail "$name needs static TLS"
  bytes=$(thread_local_bytes "$1")
  own=$("$readelf" -sW "$1" | awk '$4 == "TLS" { print $8 }' | sort -u |
    grep -vxE '_ZZN12_GLOBAL__N_110get_globalEvE6global|_ZSt15__once_callable|_ZSt11__once_call' | xargs || true)
  [[ -z $own && $((${bytes:-0})) -le 32 ]] || fail "$name has $((bytes)) bytes of thread-local data: $own"
}

# Only what the compiler's start files put there may run when the preloaded part is loaded: frame_dummy, and _init, which
# does nothing but look for a profiler.
gate_constructors() { # library
  local name=${1##*/} bytes init
  bytes=$("$readelf" -dW "$1" | awk '$2 == "(INIT_ARRAYSZ)" { print $3 }')
  bytes=${bytes:-0}
  if [[ $bytes -gt 8 ]] || { [[ $bytes -gt 0 ]] && ! grep -q ' frame_dummy$' <("$nm" "$1" 2>/dev/null); }; then
    fail "$name has constructors (.init_array of $bytes bytes)"
  fi
  init=$("$readelf" -SW "$1" | sed 's/^ *\[ *[0-9]*\] *//' | awk '$1 == ".init" { print $5 }')
  [[ $((16#${init:-0})) -le 32 ]] || fail "$name has code in .init ($((16#$init)) bytes)"
}

# --- libvramguard.so
wrapped=$(sed -nE 's/^VG_(DRIVER|NVML)_FUNCTION\(([A-Za-z0-9_]*),.*/\2/p' "$functions" | sort)
[[ -n $wrapped ]] || { echo "check_exports: no row in $functions" >&2; exit 2; }
doubled=$(printf '%s\n' "$wrapped" | uniq -d | xargs)
[[ -z $doubled ]] || fail "${functions##*/} has two rows for: $doubled"
same_names libvramguard.so "$(printf '%s\n' "$wrapped" dlsym dlvsym | sort -u)" "$(names_of "$preload" | grep -v '^vramguard_' || true)"

case $("$readelf" -h "$preload" | sed -n 's/ *Machine: *//p') in
  *X86-64*) oldest=GLIBC_2.2.5 ;;
  *) oldest=GLIBC_2.17 ;;
esac
# Programs bind either version, by when they were linked; one that is not here goes past us.
for name in dlsym dlvsym; do
  for version in "$oldest" GLIBC_2.34; do
    grep -qx "$name@$version" <(exports_of "$preload") || fail "libvramguard.so does not export $name@$version"
  done
done

gate_requirements "$preload" 'libc\.so\.6|libdl\.so\.2|ld-linux[-a-z0-9_]*\.so\.[12]'
gate_loading "$preload"
gate_constructors "$preload"
tls=$(thread_local_bytes "$preload")
[[ $((${tls:-0})) -lt 128 ]] || fail "libvramguard.so takes $((tls)) bytes of static TLS; a late dlopen may not get them"

# --- libvramguard-core.so
check_core() {
  same_names libvramguard-core.so vramguard_core_attach "$(names_of "$core")"
  if [[ -n $sanitize ]]; then
    echo "check_exports: SKIPPED what libvramguard-core.so needs: built with $sanitize"
  else
    gate_requirements "$core" 'libc\.so\.6|libm\.so\.6|libdl\.so\.2|libpthread\.so\.0|librt\.so\.1|ld-linux[-a-z0-9_]*\.so\.[12]'
    gate_loading "$core"
    gate_core_thread_locals "$core"
  fi
}
[[ -n $preload_only ]] || check_core

if [[ $failures -gt 0 ]]; then
  echo "check_exports: $failures failed"
  exit 1
fi
echo "check_exports: as it must be (glibc ${floor}, $(printf '%s\n' "$wrapped" | wc -l) driver functions)"
