# SPDX-License-Identifier: Apache-2.0
"""What packages' scripts would do, done to files: users and groups, enabled units; and unpacking them."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.builder.filesystems.model import Entry
from bootscope.builder.offline import presets, users
from bootscope.builder.sources import Resolved
from bootscope.builder.step import Context
from bootscope.builder.steps import packages
from bootscope.core.errors import ToolError, UserError
from bootscope.core.process import Finished

LIB, ETC = "/usr/lib/systemd/system", "/etc/systemd/system"
PRESETS = "/usr/lib/systemd/system-preset"


# ---- users ----


def test_users_and_groups_of_files_of_sysusers() -> None:
    texts = {
        "b.conf": 'u! bus - "The Bus" /nonexistent\nu ssh -:nogroup "ssh" /run/sshd\n# none\nm bus video\n',
        "a.conf": "g nogroup 65534\ng video 44\nu root 0 - /root /bin/bash\n"
        "u sync 4:65534 - /bin /bin/sync\ng x -\n",
    }
    found = users.files(texts)
    assert found["/etc/passwd"].splitlines() == [
        "root:x:0:0:root:/root:/bin/bash",
        "sync:x:4:65534:sync:/bin:/bin/sync",
        "bus:x:998:998:The Bus:/nonexistent:/usr/sbin/nologin",
        "ssh:x:997:65534:ssh:/run/sshd:/usr/sbin/nologin",
    ]
    assert "video:x:44:bus" in found["/etc/group"].splitlines()
    assert "x:x:999:" in found["/etc/group"].splitlines()
    assert found["/etc/shadow"].splitlines()[:2] == ["root::20454::::::", "sync:!*:20454::::::"]


@pytest.mark.parametrize(
    "line",
    [
        "z a",
        "u",
        "u a b",
        "u a 4294967295",
        'u a "x',
        "g a:b 1",
        "m a -",
        'u a - "x:y"',
        'u a - "x\ty"',
        "u ../a 1",
    ],
)
def test_a_line_that_is_no_user_is_named(line: str) -> None:
    with pytest.raises(UserError, match=r"sysusers\.d/x\.conf:2: "):
        users.files({"x.conf": f"g good -\n{line}\n"})


def test_no_two_users_get_one_number() -> None:
    found = users.files({"x.conf": "g nogroup 65534\nu first 5:65534\ng second 5\nu second -\n"})
    passwd = [line.split(":") for line in found["/etc/passwd"].splitlines()]
    assert [(name, number, group) for name, _, number, group, *_ in passwd] == [
        ("first", "5", "65534"),
        ("second", "999", "5"),
    ]


def test_too_many_users_are_told() -> None:
    with pytest.raises(UserError, match="more users and groups than numbers"):
        users.files({"x.conf": "".join(f"u u{number} -\n" for number in range(1100))})


@given(st.text(alphabet="ugmr!- :\"'\n0129abc/", max_size=60))
def test_any_text_gives_whole_files_or_an_error(text: str) -> None:
    try:
        found = users.files({"x.conf": text})
    except UserError:
        return
    fields = {"/etc/passwd": 7, "/etc/group": 4, "/etc/shadow": 9}
    for name, count in fields.items():
        assert all(len(line.split(":")) == count for line in found[name].splitlines())
    numbers = [line.split(":")[2] for line in found["/etc/group"].splitlines()]
    assert all(number.isdecimal() for number in numbers)


# ---- presets ----

UNITS = {
    f"{LIB}/a.service": "[Install]\nWantedBy=day.target\nAlias=first.service\nAlso=b.socket c.service\n",
    f"{LIB}/b.socket": "[Install]\nRequiredBy=a.service\nUpheldBy=x.target\n",
    f"{LIB}/c.service": "[Install]\nAlso=a.service\n",
    f"{LIB}/get@.service": "[Install]\nWantedBy=getty.target\nDefaultInstance=tty1\n",
    f"{LIB}/plain@.service": "[Install]\nWantedBy=getty.target\n",
    f"{LIB}/static.service": "[Service]\n",
    f"{LIB}/off.service": "[Install]\nWantedBy=day.target\n",
    f"{ETC}/masked.service": "-> /dev/null",
}


def test_units_are_enabled_by_the_first_rule_that_fits() -> None:
    texts = {
        f"{PRESETS}/90-all.preset": "enable off.service\nenable plain@.service one two\n"
        "disable b.*\nenable *\n",
        f"{PRESETS}/10-mine.preset": "# mine\ndisable off.*\n",
    }
    found = presets.links(UNITS, texts)
    assert found == {
        f"{ETC}/day.target.wants/a.service": f"{LIB}/a.service",
        f"{ETC}/first.service": f"{LIB}/a.service",
        f"{ETC}/a.service.requires/b.socket": f"{LIB}/b.socket",
        f"{ETC}/x.target.upholds/b.socket": f"{LIB}/b.socket",
        f"{ETC}/getty.target.wants/get@tty1.service": f"{LIB}/get@.service",
        f"{ETC}/getty.target.wants/plain@one.service": f"{LIB}/plain@.service",
        f"{ETC}/getty.target.wants/plain@two.service": f"{LIB}/plain@.service",
    }


def test_a_file_in_etc_takes_the_place_of_the_one_of_that_name() -> None:
    texts = {f"{PRESETS}/90.preset": "enable *\n", "/etc/systemd/system-preset/90.preset": "disable *\n"}
    assert presets.rules(texts) == [(False, "*", ())]
    assert presets.links(UNITS, texts) == {}


def test_a_link_that_is_there_stays() -> None:
    there = {**UNITS, f"{ETC}/day.target.wants/a.service": "-> elsewhere"}
    assert f"{ETC}/day.target.wants/a.service" not in presets.links(there, {})


@given(
    st.dictionaries(
        st.sampled_from(list(UNITS)), st.text(alphabet="[Install]\nAlso=WtdByc.serv ", max_size=80)
    )
)
def test_any_unit_files_enable_into_one_folder(files: dict[str, str]) -> None:
    assert all(path.startswith(f"{ETC}/") and ".." not in path for path in presets.links(files, {}))


# ---- packages ----


def deb(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """The contents of a package, as dpkg-deb gives them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return data.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, mode: int = 0o644, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname = kind, mode, target
    return info


def unpacked(tmp_path: Path, *contents: bytes) -> Path:
    """The result of the step for packages with these contents."""
    for name in ("out", "scratch"):
        (tmp_path / name).mkdir()
    whole = tmp_path / "packages.tar"
    whole.write_bytes(deb(*((member(f"{n}.deb"), content) for n, content in enumerate(contents))))

    def run(command: list[str | Path]) -> Finished:
        _sh, _c, _line, _name, package, to = command
        Path(to).write_bytes(Path(package).read_bytes())
        return Finished(0, "", 0)

    context = SimpleNamespace(out=tmp_path / "out", scratch=tmp_path / "scratch", run=run)
    packages.step(Resolved(str(whole), "0" * 64, "here", "1")).work(cast(Context, context))
    return tmp_path / "out"


def test_packages_are_unpacked_over_each_other(tmp_path: Path) -> None:
    first = deb(
        (member("./", tarfile.DIRTYPE, 0o755), b""),
        (member("./usr/bin", tarfile.DIRTYPE, 0o755), b""),
        (member("./bin", tarfile.SYMTYPE, 0o777, "usr/bin"), b""),
        (member("./usr/bin/su", mode=0o4755), b"su"),
        (member("./usr/bin/write", mode=0o2755), b"write"),
    )
    second = deb(
        (member("./tmp", tarfile.DIRTYPE, 0o1777), b""),
        (member("./usr/bin/copy", mode=0o755), b"copy"),
        (member("./usr/bin/same", tarfile.LNKTYPE, 0o755, "./usr/bin/copy"), b""),
    )
    result = unpacked(tmp_path, first, second)
    found = {str(entry.path): entry for entry in packages.entries(result)}
    assert json.loads((result / packages.MODES).read_text()) == {"usr/bin/su": 0o4755, "tmp": 0o1777}
    assert found["bin"].target == "usr/bin"
    assert found["usr/bin/su"].mode == 0o4755
    assert found["usr/bin/write"].mode == 0o755
    assert found["tmp"].mode == 0o1777
    same = found["usr/bin/same"].source
    assert same and same.read_bytes() == b"copy"


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "a/../../b", "link/x"])
def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    link = (member("./link", tarfile.SYMTYPE, 0o777, "/tmp"), b"")
    with pytest.raises(ToolError, match="leads somewhere else"):
        unpacked(tmp_path, deb(link, (member(name), b"x")))


def test_what_is_made_here_goes_to_where_links_lead_too() -> None:
    entries = {PurePosixPath("sbin"): Entry(PurePosixPath("sbin"), target="usr/sbin")}
    packages.Merged(entries).add(Entry(PurePosixPath("sbin/small-init"), program=True))
    assert set(map(str, entries)) == {"sbin", "usr", "usr/sbin", "usr/sbin/small-init"}


def test_what_is_put_below_a_link_comes_where_it_leads() -> None:
    tree = packages.Merged()
    for entry in (
        Entry(PurePosixPath("lib"), target="usr/lib"),
        Entry(PurePosixPath("lib")),
        Entry(PurePosixPath("lib/modules/x"), target="y"),
    ):
        tree.add(entry)
    assert tree.entries[PurePosixPath("lib")].target == "usr/lib"
    assert tree.entries[PurePosixPath("usr/lib/modules/x")].target == "y"
    assert PurePosixPath("usr/lib") in tree.entries


@pytest.mark.parametrize(("link", "target"), [("lib", "../x"), ("lib", "/../x"), ("lib", "lib")])
def test_a_folder_that_leads_out_of_the_image_is_refused(link: str, target: str) -> None:
    tree = packages.Merged()
    tree.add(Entry(PurePosixPath(link), target=target))
    with pytest.raises(UserError, match="is a link that leads to"):
        tree.add(Entry(PurePosixPath(link) / "x"))


def test_folders_that_are_links_to_each_other_are_refused() -> None:
    tree = packages.Merged()
    tree.add(Entry(PurePosixPath("a"), target="b"))
    tree.add(Entry(PurePosixPath("b"), target="a"))
    with pytest.raises(UserError, match="links that lead to each other"):
        tree.add(Entry(PurePosixPath("a/x")))
