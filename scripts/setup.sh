#!/usr/bin/env bash
# Installs every Debian package that building and testing vramguard needs and that is missing. Asks nothing.
set -euo pipefail

packages=(
  cmake ninja-build g++ gcc libc6-dev binutils pkg-config git python3 # build and tests
  libspdlog-dev libfmt-dev libtomlplusplus-dev robin-map-dev libcli11-dev catch2 nlohmann-json3-dev
  python3-jsonschema                                    # the tests check what is printed as JSON
  libjemalloc2 libtcmalloc-minimal4 strace             # hosts and witnesses of the tests
  prometheus-cpp-dev prometheus python3-yaml           # the exporter, its test, and the test of the recipes
  clang-format shellcheck                              # scripts/check.sh
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user # the preloaded part for AArch64
)

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: all packages are installed"
  exit 0
fi

echo "setup: missing: ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "setup: this system has no apt-get; install these packages, or what your system calls them, by hand" >&2
  exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "setup: not root, and sudo asks for a password; run: sudo apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo -n)
fi
echo "setup: installing them with apt-get"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
# The tests start Prometheus themselves; Debian's package makes it a service of the machine as well.
if [[ " ${missing[*]} " == *" prometheus "* && -d /run/systemd/system ]]; then
  "${as_root[@]}" systemctl disable --now --quiet prometheus || true
fi
echo "setup: done"
