# SPDX-License-Identifier: Apache-2.0
"""A cluster of a team: over TLS, with workers that lack a tool, with a scheduler that is another or dies."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.certificates import settings
from tests.command import ROOT, Bootscope
from tests.dask_processes import dask

pytestmark = [pytest.mark.boot, pytest.mark.long]

PATCH = """
import importlib.metadata
known = importlib.metadata.version
importlib.metadata.version = lambda name: "2024.1.0" if name == "distributed" else known(name)
"""


@pytest.mark.campaign
def test_over_tls_with_certificates_of_the_team(
    bootscope: Bootscope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, others = settings(tmp_path / "ours"), settings(tmp_path / "others")
    with dask(tmp_path / "dask", "tls", **ours) as cluster:
        cluster.worker()
        assert cluster.address.startswith("tls://")
        for name, value in others.items():
            monkeypatch.setenv(name, value)
        refused = bootscope.run("record", "debian", "--cluster", cluster.address)
        assert refused.returncode == 3
        assert f"no scheduler answers at {cluster.address}" in refused.stderr
        for name, value in ours.items():
            monkeypatch.setenv(name, value)
        done = bootscope.run("record", "debian", "--cluster", cluster.address, "--json")
        assert done.returncode == 0, done.stderr
        assert "not encrypted" not in done.stderr
        assert "1 boots, 0 twice" in done.stderr
    (there,), (here,) = json.loads(done.stdout)["boots"], bootscope.json("record", "debian")["boots"]
    assert (there["reached_ns"], there["stream_sha256"]) == (here["reached_ns"], here["stream_sha256"])
    assert here["reached_ns"] > 0


def test_a_worker_without_a_tool_gets_no_task_and_it_is_said(bootscope: Bootscope, tmp_path: Path) -> None:
    """One worker has no QEMU, another one a QEMU of the same version that was built otherwise."""
    there = shutil.which("qemu-system-arm") or ""
    for name in ("bare", "other"):
        (tmp_path / name).mkdir()
        for folder in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"):
            for path in Path(folder).iterdir():
                if path.name != "qemu-system-arm" and not (tmp_path / name / path.name).is_symlink():
                    (tmp_path / name / path.name).symlink_to(path)
    (tmp_path / "other" / "qemu-system-arm").write_bytes(Path(there).read_bytes() + b"\0")
    (tmp_path / "other" / "qemu-system-arm").chmod(0o755)
    with dask(tmp_path / "dask") as cluster:
        for name in ("bare", "other"):
            cluster.worker(PATH=str(tmp_path / name), BOOTSCOPE_CACHE=str(tmp_path / f"cache-{name}"))
        done = bootscope.run("record", "debian", "--cluster", cluster.address)
    assert done.returncode == 3
    assert "no worker of the cluster can do this" in done.stderr
    assert "lacks qemu-system-arm" in done.stderr
    assert "(has none)" in done.stderr
    assert "(has another build of it)" in done.stderr
    assert "container" in done.stderr


def test_a_scheduler_of_another_version_is_refused(bootscope: Bootscope, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(PATCH)
    with dask(tmp_path / "dask", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT / 'src'}") as cluster:
        done = bootscope.run("record", "debian", "--cluster", cluster.address)
    assert done.returncode == 2
    assert "has distributed 2024.1.0, this computer has" in done.stderr
    assert "pip install distributed==2024.1.0" in done.stderr


def test_a_cluster_without_workers_is_told(bootscope: Bootscope, tmp_path: Path) -> None:
    with dask(tmp_path / "dask") as cluster:
        done = bootscope.run("record", "debian", "--cluster", cluster.address)
    assert done.returncode == 3
    assert "the cluster has no workers" in done.stderr


def boots(worker: int) -> bool:
    """Whether a worker, or what it has started, boots something; it also asks QEMU for its version."""
    found = psutil.Process(worker).children(recursive=True)
    # One of them may end between two looks.
    with contextlib.suppress(psutil.Error):
        return any("-icount" in child.cmdline() for child in found)
    return False


@pytest.mark.campaign
def test_a_scheduler_that_dies_ends_the_verb_and_loses_nothing(bootscope: Bootscope, tmp_path: Path) -> None:
    only = ("--only", "init-single-script")
    with dask(tmp_path / "dask") as cluster:
        worker = cluster.worker()
        words = ("optimize", "debian", *only, "--cluster", cluster.address)
        with bootscope.start(*words) as child:
            until = time.monotonic() + 600
            while not boots(worker.pid):
                assert time.monotonic() < until, cluster.log
                time.sleep(0.1)
            cluster.scheduler.send_signal(signal.SIGKILL)
            _, err = child.communicate(timeout=600)
    assert child.returncode == 3, err
    assert "scheduler of the cluster" in err
    assert "--resume" in err
    journal = bootscope.store / "searches" / "debian.jsonl"
    before = journal.read_text()
    found = bootscope.json("optimize", "debian", *only, "--resume")
    assert journal.read_text().startswith(before)
    assert [e["technique"] for e in found["experiments"]] == ["init-single-script"]
