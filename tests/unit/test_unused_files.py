# SPDX-License-Identifier: Apache-2.0
"""What lies behind names that a boot looked up; tests/prebuilt/test_syscalls.py asks a real boot."""

from __future__ import annotations

import pytest

from bootscope.capture.store import Store
from bootscope.core.errors import UserError
from bootscope.inventory.unused_files import FOUND, behind, shortest

from .known_builders import inventory_of
from .lab_scenes import MS, boot, known

FILES = {
    "/bin": "-> usr/bin",
    "/usr/bin/busybox": "program 0123456789abcdef",
    "/usr/bin/wc": "-> busybox",
    "/usr/bin/[": "-> busybox",
    "/usr/lib/libc.so.6": "-> libc-2.41.so",
    "/usr/lib/libc-2.41.so": "file 0123456789abcdef",
    "/usr/share": "folder",
    "/usr/share/doc": "folder",
    "/usr/share/doc/a/copyright": "file 0123456789abcdef",
    "/usr/share/doc/b/copyright": "file 0123456789abcdef",
    "/usr/share/empty": "folder",
}


def test_links_lead_from_a_name_to_all_that_it_needs() -> None:
    assert behind(FILES, ["/bin/wc"]) >= {"/bin", "/usr/bin/wc", "/usr/bin/busybox"}
    assert behind(FILES, ["/usr/lib/../lib/libc.so.6"]) >= {"/usr/lib/libc.so.6", "/usr/lib/libc-2.41.so"}
    assert "/usr/bin/[" not in behind(FILES, ["/bin/wc"])
    assert behind({"/a": "-> /b", "/b": "-> a"}, ["/a"]) == {"/a", "/b"}


def test_a_name_from_somewhere_keeps_all_files_of_that_name() -> None:
    assert behind(FILES, ["copyright"]) == {"/usr/share/doc/a/copyright", "/usr/share/doc/b/copyright"}
    assert behind(FILES, ["", "no/such/name"]) == set()


def test_a_folder_goes_whole_where_nothing_is_left_in_it() -> None:
    copyrights = [path for path in FILES if path.endswith("copyright")]
    assert shortest(FILES, copyrights, []) == ["/usr/share"]
    assert shortest(FILES, copyrights, ["/usr/share/doc"]) == ["/usr/share/doc/a", "/usr/share/doc/b"]
    assert shortest(FILES, copyrights[:1], []) == ["/usr/share/doc/a"]
    assert shortest(FILES, ["/usr/bin/["], []) == ["/usr/bin/["]


@pytest.mark.parametrize("name", FOUND)
def test_without_a_recording_nobody_knows(name: str) -> None:
    with pytest.raises(UserError, match="not known") as told:
        FOUND[name](inventory_of())
    assert "--syscalls" in str(told.value.hint)


def test_without_system_calls_programs_that_nothing_ran_are_known(store: Store) -> None:
    story = boot().hook("execve", text=b"/usr/bin/camera").hook("exec", text=b"camera").work(MS).sample()
    files = {
        **{f"/usr/bin/{name}": "-> /bin/busybox" for name in ("wc", "vi", "killall")},
        "/bin/busybox": "program 0123456789abcdef",
        "/bin/sh": "-> busybox",
        "/sbin/reboot": "-> ../bin/busybox",
        "/usr/share/font": "file 0123456789abcdef",
        "/usr/lib/libx.so.1": "file 0123456789abcdef",
    }
    facts = known(store, story.records, files=files)
    unused = FOUND["unused_files"](facts).split()
    # Scripts run killall and begin with #!/bin/sh; nothing tells of a font, and init may reboot.
    assert unused == ["/usr/bin/vi", "/usr/bin/wc"]
