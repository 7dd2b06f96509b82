# SPDX-License-Identifier: Apache-2.0
"""Runs a program in the tools container, with user namespaces of the kernel: without root and without a
daemon.

The program sees the container's own /usr, /etc and /var; of this computer it sees the home folder, the
working folder, /tmp, /dev, /proc, /sys, the network, and folders that are named, at their own paths. It
cannot change the container.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bootscope.builder.archive import MIRROR
from bootscope.container.fetching import mirrors_of_debian
from bootscope.core.errors import ToolError, UserError, printable
from bootscope.core.paths import data_dir, is_installed, package_dir
from bootscope.core.process import run

ROOT, NEW = "root", "new"
OPT = "opt/bootscope-tools"
PYTHON, COMMANDS, PROGRAM = f"/{OPT}/python", f"/{OPT}/bin", f"/{OPT}/program"
"""In the container: Python packages, commands, and the program of bootscope itself."""
_PACKAGE = f"{PROGRAM}/src/bootscope"
_UNSHARE = ("unshare", "--user", "--map-root-user", "--mount", "--propagation", "unchanged")
"""Mounts in a private namespace reach no other process, so the propagation need not change."""
_KERNEL = ("/dev", "/proc", "/sys", "/tmp")
_OWN = ("usr", "bin", "sbin", "lib", "lib64")
_NOT_KEPT = ("PATH", "LANG", "LANGUAGE", "LC_", "LD_", "PYTHON", "VIRTUAL_ENV")
_LOCKED = {os.ST_NOSUID: "nosuid", os.ST_NODEV: "nodev", os.ST_NOEXEC: "noexec", os.ST_NOATIME: "noatime"}
"""Restrictions of this computer's mounts stay in force, and must be repeated."""

_SCRIPT = rf"""
set -eu
result=$1 options=$2 source=$3 program=$4 here=$5
shift 5
root=$result/{ROOT} new=$result/{NEW}
mount -t tmpfs -o mode=755 tools "$new"
cp -a "$root/etc" "$root/var" "$new/"
for name in bin sbin lib lib64; do ln -s "usr/$name" "$new/$name"; done
for name in hosts resolv.conf passwd group localtime pip.conf; do
	[ ! -e "/etc/$name" ] || cp -L "/etc/$name" "$new/etc/$name"
done
for name in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
	[ ! -e "$name" ] || cp -L "$name" "$new/etc/ssl/certs/ca-certificates.crt"
done
for folder in usr {OPT}; do
	mkdir -p "$new/$folder"
	mount --bind "$root/$folder" "$new/$folder"
	[ -z "$options" ] || mount -o "$options" "$new/$folder"
done
mount --bind "$source" "$new$program"
while [ "$1" != -- ]; do
	mkdir -p "$new$1"
	mount --rbind "$1" "$new$1"
	shift
done
shift
exec chroot "$new" /usr/bin/env -C "$here" "$@"
"""


@dataclass(frozen=True)
class Inside:
    """The container with the result of the step; `writable` while it is made."""

    result: Path
    writable: bool = False

    def check(self) -> None:
        """Raises ToolError where this computer does not allow such namespaces."""
        done = run([*_UNSHARE, "true"], check=False, timeout_s=60)
        if done.status:
            raise ToolError(
                "the tools container needs user namespaces, and this computer refuses them: "
                f"{printable(done.output)}",
                hint="on Ubuntu: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0; or run its root "
                "folder with podman: bootscope help cluster",
            )

    def command(self, words: Iterable[str], folders: Iterable[Path], here: Path | None = None) -> list[str]:
        """The command that runs `words` there with these folders, in the folder `here` (default: the current
        one).

        Raises UserError for a folder at a path that belongs to the container.
        """
        here = here or Path.cwd()
        shown = [str(path) for path in _outermost([*map(Path, _KERNEL), Path.home(), here, *folders])]
        source, program = (package_dir(), _PACKAGE) if is_installed() else (data_dir(), PROGRAM)
        options = "" if self.writable else ",".join(["remount", "bind", "ro", *self._locked()])
        given = [str(self.result), options, str(source), program, str(here), *shown, "--", *words]
        return [*_UNSHARE, "sh", "-c", _SCRIPT, "sh", *given]

    def _locked(self) -> list[str]:
        flags = os.statvfs(self.result).f_flag
        return [name for flag, name in _LOCKED.items() if flags & flag]


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """The existing folders that are not below another one. Raises UserError for one that hides the
    container's."""
    known = sorted({path.resolve() for path in paths if path.is_dir()})
    for path in known:
        if len(path.parts) < 2 or path.parts[1] in _OWN:
            raise UserError(
                f"the tools container cannot show {path}: that is its own there",
                hint="work in another folder, such as your home folder",
            )
    return [path for path in known if not any(other in path.parents for other in known)]


def environment() -> dict[str, str]:
    """The environment there: ours, without what refers to programs and modules of this computer."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_NOT_KEPT)}
    if mirrors := mirrors_of_debian():
        env.setdefault(MIRROR, mirrors[0])
    return {
        **env,
        "LANG": "C.UTF-8",
        "PATH": f"{COMMANDS}:/usr/bin:/usr/sbin",
        "PYTHONPATH": f"{PROGRAM}/src:{PYTHON}",
        "PYTHONNOUSERSITE": "1",
    }
