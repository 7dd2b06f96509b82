#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what bootscope needs: system packages by apt, Python packages into .venv. Says beforehand
# what it will install, and whether that can be had; does nothing when everything is there.
#
#   setup.sh demo       what recording a system that others have built needs
#   setup.sh build      (default) that, and what building from source needs
#   setup.sh test       'demo', and what the tests of 'make test' need
#   setup.sh test-full  everything
set -eu
cd "$(dirname "$0")/.."

QEMU_MAJOR=10
# What the emulated board needs, and a system that others have built ('debian').
EMULATE="qemu-system-arm gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc libc6-dev make
	u-boot-tools device-tree-compiler fdisk dosfstools mtools squashfs-tools
	debian-archive-keyring ca-certificates"
# What compiling U-Boot, kernel and BusyBox needs besides.
BUILD="bison flex bc swig python3-dev python3-setuptools libssl-dev libgnutls28-dev uuid-dev pkg-config ccache
	gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	qemu-system-riscv gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
# What a board with an x86-64 CPU needs besides (its kernel's build has a tool of its own that reads ELF), and, where the computer is none itself, a compiler for it.
PC="qemu-system-x86 grub-common libelf-dev"
PC_COMPILER="gcc-x86-64-linux-gnu libc6-dev-amd64-cross"
# Root file systems and compressors that a system may ask for.
FILES="e2fsprogs erofs-utils f2fs-tools btrfs-progs xfsprogs xz-utils bzip2 lz4 lzop zstd
	qemu-user"
# C libraries of other architectures: tests read their entries in library caches.
TEST="chromium node-typescript shellcheck git ser2net sigrok-cli openssh-client openssh-server mandoc zsh fish
	libc6-arm64-cross libc6-riscv64-cross"
# A download of packages, a virtual environment, and what a recording of 'debian' or a build of 'stock' takes.
DEMO_MB=2500
BUILD_MB=8000

usage() {
	say "usage: tools/setup.sh demo | build | test | test-full"
	exit 2
}
say() { printf '%s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 3; }

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		env DEBIAN_FRONTEND=noninteractive "$@"
	elif command -v sudo > /dev/null; then
		sudo env DEBIAN_FRONTEND=noninteractive "$@"
	else
		fail "needs root for '$*': run as root, or install sudo"
	fi
}

installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null | grep -qx installed; }

is_qemu() { case $1 in qemu-system-*) ;; *) return 1 ;; esac; }

# qemu_good PACKAGE: whether the QEMU of a package is there and new enough.
qemu_good() {
	program=$1
	[ "$1" != qemu-system-riscv ] || program=qemu-system-riscv64
	[ "$1" != qemu-system-x86 ] || program=qemu-system-x86_64
	version=$("$program" --version 2> /dev/null | sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p')
	[ -n "$version" ] && [ "$version" -ge "$QEMU_MAJOR" ]
}

has_browser() { command -v chromium > /dev/null || command -v google-chrome > /dev/null; }

# Ubuntu packages Chromium as a snap only; there Playwright fetches its own.
is_ubuntu() { grep -qx 'ID=ubuntu' /etc/os-release; }

# Packages of the list that are not installed; QEMU also when it is too old.
missing() {
	for package in "$@"; do
		if is_qemu "$package"; then
			qemu_good "$package" || printf '%s ' "$package"
		elif [ "$package" = chromium ]; then
			has_browser || is_ubuntu || printf '%s ' "$package"
		else
			installed "$package" || printf '%s ' "$package"
		fi
	done
}

# Debian 12 has QEMU 10 in bookworm-backports. It is used for this one call, with the packages that are named:
# apt's own list of sources stays as it is.
install_from_backports() {
	wanted=$*
	# shellcheck disable=SC2016
	mirror=$(apt-get indextargets --format '$(REPO_URI)|$(ORIGIN)' 'Created-By: Packages' |
		sed -n '/security/d; s/|Debian$//p' | head -n 1)
	[ -n "$mirror" ] || fail "cannot tell which Debian mirror this machine uses"
	work=$(mktemp -d)
	mkdir -p "$work/parts" "$work/lists/partial"
	cp /etc/apt/sources.list.d/* "$work/parts/" 2> /dev/null || true
	[ ! -f /etc/apt/sources.list ] || cp /etc/apt/sources.list "$work/parts/host.list"
	printf 'Types: deb\nURIs: %s\nSuites: bookworm-backports\nComponents: main\nSigned-By: %s\n' \
		"$mirror" /usr/share/keyrings/debian-archive-keyring.gpg > "$work/parts/bootscope.sources"
	set -- -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/parts" \
		-o Dir::State::lists="$work/lists" -o APT::Sandbox::User=root
	as_root apt-get "$@" update
	# shellcheck disable=SC2086
	as_root apt-get "$@" install -y --no-install-recommends -t bookworm-backports $wanted
	as_root rm -rf "$work"
}

# Fails before anything is installed where it can be known that this cannot come to a good end.
check_beforehand() {
	command -v apt-get > /dev/null || fail "this set-up knows apt only; install these yourself: $*"
	[ "$(id -u)" -eq 0 ] || command -v sudo > /dev/null ||
		fail "needs root to install '$*': run as root, or install sudo"
	as_root apt-get -q -o APT::Update::Error-Mode=any update ||
		say "setup: some of apt's indexes could not be fetched; going on with those that are there"
	# Every Debian has 'make': where apt does not know it, it knows nothing.
	known=$(apt-cache show make "$@" 2> /dev/null | sed -n 's/^Package: //p')
	for package in make "$@"; do
		printf '%s\n' "$known" | grep -qxF "$package" && continue
		case $package in
		gcc-arm-linux-gnueabihf | libc6-dev-armhf-cross)
			fail "$(dpkg --print-architecture) has no package $package: there is no cross compiler for 32-bit ARM here" ;;
		gcc-aarch64-linux-gnu | libc6-dev-arm64-cross)
			fail "$(dpkg --print-architecture) has no package $package: there is no cross compiler for 64-bit ARM here" ;;
		gcc-riscv64-linux-gnu | libc6-dev-riscv64-cross)
			fail "$(dpkg --print-architecture) has no package $package: there is no cross compiler for RISC-V here" ;;
		gcc-x86-64-linux-gnu | libc6-dev-amd64-cross)
			fail "$(dpkg --print-architecture) has no package $package: there is no cross compiler for x86-64 here" ;;
		*) fail "apt knows no package $package; is the network there, and Debian's main part among apt's sources?" ;;
		esac
	done
	as_root apt-get -q install --simulate --no-install-recommends "$@" > /dev/null ||
		fail "apt cannot install these packages together (its reasons are above); nothing was changed"
}

# has_room MEGABYTES: fails where a disk has less.
has_room() {
	for folder in . "${BOOTSCOPE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}}"; do
		while [ ! -d "$folder" ]; do folder=$(dirname "$folder"); done
		free=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
		[ "$free" -ge "$1" ] || fail "$1 MB are needed, $folder has $free MB left; nothing was changed"
	done
}

# What Debian ships for boards comes from a Debian mirror: that of the host's apt, or one that is named.
has_debian() {
	[ -z "${BOOTSCOPE_DEBIAN_MIRROR:-}" ] || return 0
	! is_ubuntu || fail "this is Ubuntu, the demo takes Debian's packages for the board:
  set BOOTSCOPE_DEBIAN_MIRROR to the address of a Debian mirror, or build from source: make setup, bin/bootscope record stock"
}

install_packages() {
	# shellcheck disable=SC1091
	. /etc/os-release
	say "setup: will install these system packages with apt (as root):"
	say "  $*"
	backports=
	others=
	for package in "$@"; do
		if is_qemu "$package" && [ "${VERSION_CODENAME:-}" = bookworm ]; then
			backports="$backports $package"
			say "  ($package from bookworm-backports, without changing apt's sources)"
		else
			others="$others $package"
		fi
	done
	# shellcheck disable=SC2086
	check_beforehand $others
	# shellcheck disable=SC2086
	[ -z "$others" ] || as_root apt-get -q install -y --no-install-recommends $others
	# shellcheck disable=SC2086
	[ -z "$backports" ] || install_from_backports $backports
	for package in "$@"; do
		! is_qemu "$package" || qemu_good "$package" ||
			fail "this distribution's $package is older than $QEMU_MAJOR; Debian 12, 13 or a current Ubuntu is needed"
	done
}

# install_python FOLDER LOCK: a virtual environment, made anew when the lock file or the interpreter has changed.
# Nothing is compiled beforehand: most modules are never used, and Python compiles and keeps what is.
install_python() {
	wanted="$(python3 -V) $(sha256sum "$2" | cut -d ' ' -f 1)"
	[ "$(cat "$1/bootscope-lock" 2> /dev/null)" != "$wanted" ] || return 0
	count=$(grep -c '^[a-z0-9].*==' "$2" || true)
	say "setup: will install $count Python packages (exact versions, from $2) into $1"
	python3 -m venv "$1"
	"$1/bin/python" -m pip install -q --no-compile --disable-pip-version-check --require-hashes -r "$2"
	printf '%s\n' "$wanted" > "$1/bootscope-lock"
}

asked=${1:-build}
[ "$(dpkg --print-architecture 2> /dev/null)" = amd64 ] || PC="$PC $PC_COMPILER"
lock=requirements.lock
case $asked in
demo) packages=$EMULATE; room=$DEMO_MB ;;
build) packages="$EMULATE $BUILD $PC $FILES"; room=$BUILD_MB ;;
test) packages="$EMULATE $FILES $TEST"; room=$DEMO_MB; lock=requirements-dev.lock ;;
test-full) packages="$EMULATE $BUILD $PC $FILES $TEST"; room=$BUILD_MB; lock=requirements-dev.lock ;;
*) usage ;;
esac
# Debian parts this from python3 itself.
python3 -c 'import ensurepip, venv' 2> /dev/null || packages="$packages python3-venv"
# The tests' lock holds everything the other one does, so it is never replaced by it.
if [ -f .venv/bootscope-lock ] && grep -q "$(sha256sum requirements-dev.lock | cut -d ' ' -f 1)" .venv/bootscope-lock; then
	lock=requirements-dev.lock
fi
[ "$asked" != demo ] || has_debian
# shellcheck disable=SC2046,SC2086
set -- $(missing $packages)
if [ $# -gt 0 ] || [ ! -d .venv ]; then has_room "$room"; fi
[ $# -eq 0 ] || install_packages "$@"
command -v python3 > /dev/null || fail "python3 is missing"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "Python 3.11 or newer is needed"
# labgrid has packages of its own that would get in the way of ours; bootscope only talks to it.
labgrid=
# Both environments are made at once, one inside the other: where the outer folder is missing, the outer one may
# find that the other has just made it, and fail.
mkdir -p .venv
case $asked in
test | test-full)
	install_python .venv/labgrid requirements-labgrid.lock &
	labgrid=$!
	# Where the other installation fails, this one comes to its end all the same: nothing goes on after setup.
	trap 'wait "$labgrid" || true' EXIT
	;;
esac
install_python .venv "$lock"
if [ -n "$labgrid" ]; then
	trap - EXIT
	wait "$labgrid"
fi
if [ "$lock" = requirements-dev.lock ] && is_ubuntu && ! has_browser; then
	browser=${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}
	if ! ls "$browser"/chromium-* > /dev/null 2>&1; then
		say "setup: will fetch Chromium for the browser tests (by Playwright, into $browser)"
		as_root .venv/bin/python -m playwright install-deps chromium
		.venv/bin/python -m playwright install chromium
	fi
fi
