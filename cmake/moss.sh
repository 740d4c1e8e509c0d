#!/usr/bin/env bash
# Everything from a fresh Debian 12 machine to running kernels:
#
#   cmake/moss.sh demo    install what is missing, build, and run the main job
#   cmake/moss.sh test    the same, and run all tests
#   cmake/moss.sh build   install what is missing and build
#
# Installing needs the packages of LLVM 22 in apt's sources. Each command does
# only what is left to do. Environment: MOSS_BUILD_DIR (default: build), and CI:
# when set, `test` also compiles everything with g++-12.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${MOSS_BUILD_DIR:-$root/build}
llvm=/usr/lib/llvm-22
export PATH=$llvm/bin:$PATH

packages=(llvm-22-dev libmlir-22-dev mlir-22-tools llvm-22-tools clang-22
          lld-22 ninja-build cmake python3)

# Install the packages of "$@" that are missing, and nothing if none is.
install_missing() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null |
      grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "== Installing ${missing[*]}"
  local sudo=()
  [ "$(id -u)" -eq 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
    --no-install-recommends "${missing[@]}"
}

# configure <folder> <cmake options>: only if that was not done before.
configure() {
  local folder=$1
  shift
  [ -f "$folder/build.ninja" ] && return
  echo "== Configuring $folder"
  cmake -G Ninja -S "$root" -B "$folder" -DCMAKE_BUILD_TYPE=Release \
    -DMLIR_DIR=$llvm/lib/cmake/mlir "$@"
}

build_moss() {
  install_missing "${packages[@]}"
  configure "$build" -DCMAKE_C_COMPILER=clang-22 \
    -DCMAKE_CXX_COMPILER=clang++-22 -DLLVM_USE_LINKER=lld \
    -DCMAKE_EXE_LINKER_FLAGS=--ld-path=$llvm/bin/ld.lld
  echo "== Building in $build"
  ninja -C "$build"
}

# The other compiler, for its warnings and its view of the standard. The
# optimizer would only take time.
check_gcc() {
  if ! command -v g++-12 >/dev/null; then
    echo "== g++-12 is not installed: its build is skipped"
    return 2
  fi
  local folder=$root/build-gcc
  # The caller looks at the status, so `set -e` is off in here.
  configure "$folder" -DCMAKE_C_COMPILER=gcc-12 -DCMAKE_CXX_COMPILER=g++-12 \
    -DMOSS_ENABLE_PCH=OFF -DCMAKE_CXX_FLAGS_RELEASE=-O0 || return 1
  echo "== Building in $folder"
  ninja -C "$folder" || return 1
}

# lit_count <name of a result in lit's summary>...: how many tests had it.
lit_count() {
  local name total=0 number
  for name in "$@"; do
    number=$(sed -nE "s/^ +$name *: *([0-9]+).*/\1/p" "$build/test.log")
    total=$((total + ${number:-0}))
  done
  echo "$total"
}

run_tests() {
  local passed failed skipped status=0 gcc=0
  echo "== Testing"
  lit -sv "$build/test" 2>&1 | tee "$build/test.log" || status=1
  passed=$(lit_count Passed 'Passed With Retry' 'Expectedly Failed')
  failed=$(lit_count Failed 'Unexpectedly Passed' Unresolved 'Timed Out')
  skipped=$(lit_count Unsupported Skipped Excluded)
  if [ -n "${CI:-}" ]; then
    check_gcc || gcc=$?
    case $gcc in
      0) passed=$((passed + 1)) ;;
      2) skipped=$((skipped + 1)) ;;
      *) failed=$((failed + 1)) status=1 ;;
    esac
  fi
  echo "$passed passed, $failed failed, $skipped skipped"
  return $status
}

case ${1:-} in
  build) build_moss ;;
  demo)
    build_moss
    MOSS_BUILD_DIR=$build "$root/examples/demo.sh"
    ;;
  test)
    build_moss
    run_tests
    ;;
  *)
    sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
