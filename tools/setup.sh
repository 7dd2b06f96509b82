#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what bootscope needs: system packages by apt, Python packages into .venv. Says beforehand
# what it will install; does nothing when everything is there. With 'test' also what the tests need.
set -eu
cd "$(dirname "$0")/.."

QEMU_MAJOR=10
PACKAGES="qemu-system-arm gcc-arm-linux-gnueabihf libc6-dev-armhf-cross gcc libc6-dev make bison flex bc swig
	python3-dev python3-setuptools libssl-dev libgnutls28-dev uuid-dev pkg-config
	u-boot-tools device-tree-compiler fdisk dosfstools mtools e2fsprogs squashfs-tools erofs-utils f2fs-tools
	btrfs-progs xfsprogs xz-utils bzip2 lz4 lzop ccache
	debian-archive-keyring ca-certificates"
TEST_PACKAGES="chromium shellcheck git squashfs-tools ser2net sigrok-cli
	openssh-client openssh-server mandoc zsh fish"

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

# Whether QEMU is there and new enough.
qemu_good() {
	version=$(qemu-system-arm --version 2> /dev/null | sed -n 's/^QEMU emulator version \([0-9]*\).*/\1/p')
	[ -n "$version" ] && [ "$version" -ge "$QEMU_MAJOR" ]
}

has_browser() { command -v chromium > /dev/null || command -v google-chrome > /dev/null; }

# Ubuntu packages Chromium as a snap only; there Playwright fetches its own.
is_ubuntu() { grep -qx 'ID=ubuntu' /etc/os-release; }

# Packages of the list that are not installed; QEMU also when it is too old.
missing() {
	for package in "$@"; do
		if [ "$package" = qemu-system-arm ]; then
			qemu_good || printf '%s ' "$package"
		elif [ "$package" = chromium ]; then
			has_browser || is_ubuntu || printf '%s ' "$package"
		else
			installed "$package" || printf '%s ' "$package"
		fi
	done
}

# Debian 12 has QEMU 10 in bookworm-backports. It is used for this one call: apt's own list of sources
# stays as it is.
install_from_backports() {
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
	as_root apt-get "$@" install -y --no-install-recommends -t bookworm-backports qemu-system-arm
	as_root rm -rf "$work"
}

install_packages() {
	command -v apt-get > /dev/null || fail "this set-up knows apt only; install these yourself: $*"
	# shellcheck disable=SC1091
	. /etc/os-release
	say "setup: will install these system packages with apt (as root):"
	say "  $*"
	backports=no
	others=
	for package in "$@"; do
		if [ "$package" = qemu-system-arm ] && [ "${VERSION_CODENAME:-}" = bookworm ]; then
			backports=yes
			say "  (qemu-system-arm from bookworm-backports, without changing apt's sources)"
		else
			others="$others $package"
		fi
	done
	as_root apt-get -q update
	# shellcheck disable=SC2086
	[ -z "$others" ] || as_root apt-get -q install -y --no-install-recommends $others
	[ "$backports" = no ] || install_from_backports
	qemu_good || fail "this distribution's QEMU is older than $QEMU_MAJOR; Debian 12, 13 or a current Ubuntu is needed"
}

# install_python FOLDER LOCK: a virtual environment, made anew when the lock file or the interpreter has changed.
install_python() {
	wanted="$(python3 -V) $(sha256sum "$2" | cut -d ' ' -f 1)"
	[ "$(cat "$1/bootscope-lock" 2> /dev/null)" != "$wanted" ] || return 0
	count=$(grep -c '^[a-z0-9].*==' "$2" || true)
	say "setup: will install $count Python packages (exact versions, from $2) into $1"
	python3 -m venv "$1"
	"$1/bin/python" -m pip install -q --disable-pip-version-check --require-hashes -r "$2"
	printf '%s\n' "$wanted" > "$1/bootscope-lock"
}

if ! python3 -c 'import ensurepip, venv' 2> /dev/null; then
	PACKAGES="$PACKAGES python3-venv"
fi
lock=requirements.lock
asked=${1:-}
# The tests' lock holds everything the other one does, so it is never replaced by it.
if [ "$asked" = test ]; then
	PACKAGES="$PACKAGES $TEST_PACKAGES"
	lock=requirements-dev.lock
elif [ -f .venv/bootscope-lock ] && grep -q "$(sha256sum requirements-dev.lock | cut -d ' ' -f 1)" .venv/bootscope-lock; then
	lock=requirements-dev.lock
fi
# shellcheck disable=SC2046,SC2086
set -- $(missing $PACKAGES)
[ $# -eq 0 ] || install_packages "$@"
command -v python3 > /dev/null || fail "python3 is missing"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "Python 3.11 or newer is needed"
install_python .venv "$lock"
# Once, and not at each start where the one who starts it may not write here. What has not changed is left alone.
.venv/bin/python -m compileall -q src || say "setup: src cannot be written to; bootscope will start more slowly"
# labgrid has packages of its own that would get in the way of ours; bootscope only talks to it.
[ "$asked" != test ] || install_python .venv/labgrid requirements-labgrid.lock
if [ "$lock" = requirements-dev.lock ] && is_ubuntu && ! has_browser; then
	browser=${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}
	if ! ls "$browser"/chromium-* > /dev/null 2>&1; then
		say "setup: will fetch Chromium for the browser tests (by Playwright, into $browser)"
		as_root .venv/bin/python -m playwright install-deps chromium
		.venv/bin/python -m playwright install chromium
	fi
fi
