# SPDX-License-Identifier: Apache-2.0
"""Unit files of systemd: what they say, which file a name means, what they are ordered after."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bootscope.analysis.unit_order import after
from bootscope.system.unit_files import (
    UnitFiles,
    escaped,
    filled_in,
    instance_name,
    instance_of,
    is_unit,
    mount_name,
    settings,
    template_of,
    unescaped,
)

LIB, ETC = "/usr/lib/systemd/system", "/etc/systemd/system"
LATE = "[Unit]\nDefaultDependencies=no\n"


def test_settings_go_over_lines_and_begin_anew_when_they_are_emptied() -> None:
    found = settings(
        "[Unit]\nAfter=a.service \\\n# a comment amid it\n; and another\n  b.service\n\n"
        "[Service]\nExecStart=/bin/x --y=1\n",
        "[Unit]\nDescription=one\n[Service]\nExecStart=\nExecStart=/bin/z\n",
    )
    assert found["Unit", "After"] == ("a.service  b.service",)
    assert found["Service", "ExecStart"] == ("/bin/z",)
    assert found["Unit", "Description"] == ("one",)


@given(st.text(alphabet="[]=\\#;\n \tabU\0é", max_size=80))
def test_settings_of_anything_are_texts(text: str) -> None:
    for (section, key), values in settings(text).items():
        assert section == section.strip("\n")
        assert "\n" not in key
        assert all(value and "\n" not in value for value in values)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("dbus.service", True),
        ("getty@tty1.service", True),
        ("-.mount", True),
        ("system-serial\\x2dgetty.slice", True),
        ("dbus", False),
        ("../x.service", False),
        ("a b.service", False),
        (f"{'x' * 300}.service", False),
    ],
)
def test_names_of_units(name: str, good: bool) -> None:
    assert is_unit(name) is good


def test_templates_and_their_instances() -> None:
    assert template_of("getty@tty1.service") == "getty@.service"
    assert template_of("getty@.service") == template_of("cron.service") == ""
    assert instance_of("getty@tty1.service") == "tty1"
    assert instance_name("getty@.service", "tty1") == "getty@tty1.service"
    assert instance_name("cron.service", "tty1") == "cron.service"
    words = ["dev-%i.device", "%I", "%n", "%N", "%p", "%%i", "%j", "%q"]
    name = "serial-getty@dev-tty\\x2d1.service"
    stem = name.removesuffix(".service")
    assert filled_in(words, name) == [
        "dev-dev-tty\\x2d1.device", "dev/tty-1", name, stem, "serial-getty", "%i", "getty", "%q",
    ]  # fmt: skip


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="/"), min_size=1), min_size=1))
def test_a_path_comes_back_from_its_name(parts: list[str]) -> None:
    path = "/".join(parts)
    name = escaped(path)
    assert unescaped(name) == path
    assert "/" not in name
    assert not name.startswith(".")


def test_mounts_have_the_name_of_their_path() -> None:
    assert [mount_name(path) for path in ("/", "/var/log", "tmp", "/a-b")] == [
        "-.mount", "var-log.mount", "tmp.mount", "a\\x2db.mount",
    ]  # fmt: skip


FILES = {
    f"{LIB}/one.service": "[Unit]\nDescription=lib\n",
    f"{ETC}/one.service": "[Unit]\nDescription=etc\n",
    f"{ETC}/one.service.d/b.conf": "[Service]\nType=notify\n",
    f"{LIB}/one.service.d/b.conf": "[Service]\nType=hidden by the one in /etc\n",
    f"{LIB}/one.service.d/a.conf": "[Unit]\nDescription=dropped in\n",
    f"{LIB}/one.service.d/readme": "[Unit]\nDescription=not this\n",
    f"{LIB}/off.service": "[Unit]\nDescription=off\n",
    f"{ETC}/off.service": "-> /dev/null",
    f"{ETC}/other.service": f"-> {LIB}/one.service",
    f"{LIB}/get@.service": "[Unit]\nAfter=dev-%i.device\n",
    f"{LIB}/auto@.service": "-> get@.service",
    f"{ETC}/day.target.wants/get@1.service": f"-> {LIB}/get@.service",
    f"{LIB}/day.target": "[Unit]\nWants=one.service\n",
    f"{LIB}/a.service": "-> b.service",
    f"{LIB}/b.service": "-> a.service",
}


def test_the_first_folder_counts_and_drop_ins_are_added() -> None:
    unit = UnitFiles(FILES).unit("one.service")
    assert unit
    assert unit.path == f"{ETC}/one.service"
    assert unit.last("Unit", "Description") == "dropped in"
    assert unit.last("Service", "Type") == "notify"


def test_links_are_masks_other_names_and_wishes() -> None:
    known = UnitFiles(FILES)
    off, day, instance = (known.unit(name) for name in ("off.service", "day.target", "get@7.service"))
    assert off and off.masked
    assert day and day.dropped_in == (("Wants", "get@1.service"),)
    assert instance and filled_in(instance.words("Unit", "After"), instance.name) == ["dev-7.device"]
    assert known.real_name("other.service") == "one.service"
    assert known.real_name("auto@3.service") == "get@3.service"
    assert known.unit("nowhere.service") is None


def test_links_that_lead_to_each_other_end() -> None:
    known = UnitFiles(FILES)
    assert known.real_name("a.service") in ("a.service", "b.service")
    assert known.unit("a.service") is not None


PATHS = st.sampled_from([*FILES, f"{LIB}/x.service", f"{ETC}/x.service", "/etc/systemd/system"])
TEXTS = st.one_of(
    st.sampled_from(list(FILES.values())),
    st.sampled_from(
        [f"-> {path}" for path in FILES] + ["-> ", "-> ..", "[Unit]\nAfter=x.service a.service\n"]
    ),
    st.text(max_size=40),
)


@given(st.dictionaries(PATHS, TEXTS, max_size=8))
def test_any_files_are_read_and_put_in_order(files: dict[str, str]) -> None:
    known = UnitFiles(files)
    names = [*known.names(), "x.service", "get@1.service"]
    assert all(known.unit(name) is None or is_unit(name) for name in names)
    order = after(names, files)
    assert set(order) == set(names)
    assert all(set(others) <= set(names) - {name} for name, others in order.items())


# ---- order ----


def test_order_is_what_the_files_say_from_both_ends() -> None:
    files = {
        f"{LIB}/a.service": f"{LATE}After=b.service %p-x.service\n",
        f"{LIB}/b.service": f"{LATE}[Service]\nStandardOutput=null\n",
        f"{LIB}/c.service": f"{LATE}Before=a.service\n",
        f"{LIB}/a-x.service": LATE,
        f"{ETC}/alias.service": f"-> {LIB}/b.service",
    }
    order = after(["a.service", "b.service", "c.service", "a-x.service", "alias.service"], files)
    assert order["a.service"] == ("a-x.service", "alias.service", "b.service", "c.service")
    assert order["b.service"] == ()


def test_what_systemd_adds_by_itself() -> None:
    files = {
        f"{LIB}/app.service": "[Service]\nPrivateTmp=yes\n[Unit]\nRequiresMountsFor=/var/log\n",
        f"{LIB}/app.socket": "",
        f"{LIB}/d.socket": "[Socket]\nListenStream=1\n",
        f"{LIB}/bus.service": "[Service]\nType=dbus\nSlice=my.slice\n",
        f"{LIB}/data.mount": "[Mount]\nWhat=/dev/x\n",
        f"{LIB}/day.target": "[Unit]\nWants=app.service early.service\n",
        f"{LIB}/early.service": LATE,
        f"{ETC}/day.target.wants/bus.service": f"-> {LIB}/bus.service",
        f"{LIB}/g@.service": "[Service]\n",
    }
    seen = (
        "app.service", "app.socket", "d.socket", "d.service", "bus.service", "dbus.socket", "my.slice",
        "day.target", "early.service", "basic.target", "sysinit.target", "sockets.target",
        "systemd-journald.socket", "systemd-tmpfiles-setup.service", "-.mount", "var.mount",
        "var-log.mount", "tmp.mount", "data.mount", "local-fs.target", "local-fs-pre.target",
        "g@1.service", "system-g.slice", "system.slice",
    )  # fmt: skip
    order = after(seen, files)
    assert {"sysinit.target", "basic.target", "systemd-journald.socket"} <= set(order["app.service"])
    assert {"-.mount", "var.mount", "var-log.mount", "tmp.mount", "system.slice"} <= set(order["app.service"])
    assert "systemd-tmpfiles-setup.service" in order["app.service"]
    assert {"dbus.socket", "my.slice"} <= set(order["bus.service"])
    assert order["d.service"] == ("d.socket",)
    assert order["sockets.target"] == ("d.socket",)
    assert order["day.target"] == ("app.service", "bus.service")
    assert "data.mount" in order["local-fs.target"]
    assert "local-fs-pre.target" in order["data.mount"]
    assert "system-g.slice" in order["g@1.service"]
    assert "sysinit.target" not in order["early.service"]
