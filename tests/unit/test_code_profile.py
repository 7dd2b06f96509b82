# SPDX-License-Identifier: Apache-2.0
"""A profile of the application as a setting, and the program that is compiled with it."""

from __future__ import annotations

import base64
import subprocess
import zlib
from pathlib import Path

import msgspec
import pytest

from bootscope.arch.registry import ARCHITECTURES
from bootscope.builder.cache import Cache
from bootscope.builder.progress import Progress
from bootscope.builder.step import Context
from bootscope.builder.steps import code_profile, userland
from bootscope.core.errors import UserError
from bootscope.system.application import Application

ARM = ARCHITECTURES["arm"]
PROGRAM = """
static int share(int amount, int parts) { return amount / parts; }

int main(int count, char **words)
{
	int sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += share(i, 7 + (count > 100));
	return sum == 1 || !words;
}
"""


def application(*options: str, profile: str | msgspec.UnsetType = msgspec.UNSET) -> Application:
    return Application(
        process="it", sources="app", path="/usr/bin/it", compiler_options=("-O2", *options), profile=profile
    )


def built(folder: Path, wanted: Application) -> Path:
    """The folder with the program that the step builds."""
    for name in ("sources", "step/scratch", "step/out"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "sources/it.c").write_text(PROGRAM)
    step = userland.application_step(wanted, folder / "sources", ARM)
    work = folder / "step"
    step.work(Context({}, work / "scratch", work / "out", Cache(folder / "cache"), Progress(), 1, False))
    return work / "out"


def counted(folder: Path) -> dict[str, bytes]:
    """The counters of a run of the instrumented program in QEMU's user mode."""
    out = built(folder, application(*code_profile.TRAINING, "-static"))
    subprocess.run(["qemu-arm", out / "program"], check=True)
    return {path.name: path.read_bytes() for path in (folder / "step/scratch").glob("*.gcda")}


def test_packed_and_unpacked() -> None:
    files = {"a.gcda": b"1", "lib/b.gcda": bytes(5000)}
    assert code_profile.unpacked(code_profile.packed(files)) == files


@pytest.mark.parametrize("name", ["/etc/a.gcda", "../a.gcda", "a.c", "a\0.gcda", "lib/../../a.gcda"])
def test_a_profile_writes_nothing_elsewhere(name: str) -> None:
    with pytest.raises(UserError, match="not the path"):
        code_profile.unpacked(code_profile.packed({name: b""}))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "?",
        "QUJD",
        base64.b64encode(zlib.compress(b"x")).decode(),
        code_profile.packed({"a.gcda": b"1"})[:-8],
    ],
)
def test_a_text_that_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="not a profile"):
        code_profile.unpacked(text)


def test_the_counters_of_one_folder_are_used_in_another(tmp_path: Path) -> None:
    files = counted(tmp_path / "counting-at-length")
    assert list(files) == ["program-it.gcda"]
    built(tmp_path / "use", application("-fopt-info", profile=code_profile.packed(files)))
    said = (tmp_path / "use/step/scratch/log.txt").read_text()
    assert "div/mod by constant 7" in said


def test_without_a_profile_the_step_is_as_before(tmp_path: Path) -> None:
    (tmp_path / "it.c").write_text(PROGRAM)
    plain = userland.application_step(application(), tmp_path, ARM)
    assert plain.inputs.keys() == {"sources", "options"}
    profiled = userland.application_step(
        application(profile=code_profile.packed({"a.gcda": b"1"})), tmp_path, ARM
    )
    assert profiled.inputs.keys() == {"sources", "options", "profile"}
