# SPDX-License-Identifier: Apache-2.0
"""A check file of several products: which run is of which, and what each format makes of several outcomes."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from bootscope.check.reading import read_checks
from bootscope.core.errors import UserError

from .boot_noise import MS
from .conftest import Command, Write
from .test_boot_samples import imported

FILE = """
[product.gateway]
labels = ["product=gw"]
[product.gateway.budget]
"app-ready" = "5.1 s"
[product.camera.budget]
"app-ready" = "3 s"
"""
SLOW, QUICK = [6000 * MS, 6001 * MS, 6002 * MS], [2000 * MS, 2001 * MS, 2002 * MS]


@pytest.fixture
def runs(main_here: Command, tmp_path: Path, write: Write) -> dict[str, str]:
    """A slow run of the gateway, a quick one of the camera, and a later one of neither."""
    write(FILE)
    found = {
        name: imported(main_here, tmp_path, name, boots)
        for name, boots in (("gw", SLOW), ("camera", QUICK), ("other", SLOW))
    }
    for name in ("gw", "camera"):
        assert main_here("label", found[name], f"product={name}", f"commit={name}1").returncode == 0
    return found


def test_each_product_is_checked_by_its_newest_run(
    main_here: Command, tmp_path: Path, runs: dict[str, str]
) -> None:
    done = main_here("check", "--junit", "j.xml", "--gitlab", "m.txt", "--markdown", "b.md", "--lava",
                     "--kcidb", "k.json", "--kcidb-origin", "lab", "--kcidb-build", "lab:1")  # fmt: skip
    assert done.returncode == 3
    lines = done.stdout.splitlines()
    assert f"gateway: {runs['gw']}, 3 boots" in lines
    assert f"camera: {runs['camera']}, 3 boots" in lines
    assert "TEST_CASE_ID=gateway-budget-app-ready-median RESULT=fail" in done.stdout
    assert "TEST_CASE_ID=camera-budget-app-ready-median RESULT=pass" in done.stdout
    top = Xml.fromstring((tmp_path / "j.xml").read_bytes())
    suites = [(s.get("name"), s.get("tests"), s.get("failures")) for s in top.findall("testsuite")]
    assert suites == [("boot time of gateway", "2", "1"), ("boot time of camera", "2", "0")]
    assert (top.get("tests"), top.get("failures")) == ("4", "1")
    metrics = {f.name: f for f in text_string_to_metric_families((tmp_path / "m.txt").read_text())}
    kept = {(s.labels["product"], s.labels["what"]): s.value for s in metrics["bootscope_check_kept"].samples}
    assert kept[("gateway", "budget")] == 0
    assert kept[("camera", "budget")] == 1
    tests = json.loads((tmp_path / "k.json").read_text())["tests"]
    assert len({t["id"] for t in tests}) == 4
    text = (tmp_path / "b.md").read_text()
    assert text.startswith("## Boot time: 1 missed, 1 kept of 2 products\n")
    assert "### <code>gateway</code>: missed" in text
    document = json.loads(main_here("check", "--json").stdout)
    assert (document["kind"], document["kept"]) == ("checks", False)
    assert [(p["product"], p["kept"]) for p in document["products"]] == [("gateway", False), ("camera", True)]


def test_one_product_one_run_and_a_label(main_here: Command, runs: dict[str, str]) -> None:
    assert main_here("check", "--product", "camera").returncode == 0
    done = main_here("check", runs["camera"])
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"camera: {runs['camera']}, 3 boots")
    done = main_here("check", runs["other"])
    assert (done.returncode, "is of no product of" in done.stderr) == (2, True)
    assert main_here("check", runs["other"], "--product", "gateway").returncode == 3
    assert "unknown product of the check file 'camra'" in main_here("check", "--product", "camra").stderr
    assert "names one" in main_here("check", runs["gw"], "--label", "commit=gw1").stderr


def test_a_product_without_a_run_has_no_verdict_and_leaves_the_others(
    main_here: Command, tmp_path: Path, runs: dict[str, str]
) -> None:
    done = main_here("check", "--label", "commit=camera1", "--markdown", "b.md", "--junit", "j.xml")
    assert done.returncode == 2
    assert "no run of product gateway (with product=gw, with commit=camera1)" in done.stderr
    assert f"camera: {runs['camera']}, 3 boots" in done.stdout.splitlines()
    assert "1 no verdict, 1 kept of 2 products" in (tmp_path / "b.md").read_text()
    assert "no run of product gateway" in (tmp_path / "b.md").read_text()
    done = main_here("check", "--label", "commit=gw1")
    assert (done.returncode, "no run of product camera" in done.stderr) == (3, True)
    assert runs["gw"] in done.stdout


def test_a_run_of_two_products_is_told(main_here: Command, runs: dict[str, str], write: Write) -> None:
    write(
        FILE.replace(
            "[product.camera.budget]", '[product.camera]\nlabels = ["product"]\n[product.camera.budget]'
        )
    )
    done = main_here("check", runs["gw"])
    assert "is of products gateway and camera" in done.stderr


def test_a_label_chooses_a_run_for_a_file_of_one_product_too(
    main_here: Command, runs: dict[str, str], write: Write
) -> None:
    write('[budget]\n"app-ready" = "5.1 s"')
    done = main_here("check", "--label", "product=camera")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{runs['camera']}, 3 boots")
    assert "no run with product=x" in main_here("check", "--label", "product=x").stderr
    assert "--product is for a check file with products" in main_here("check", "--product", "x").stderr


def test_history_and_baseline_are_of_the_product(main_here: Command, tmp_path: Path, write: Write) -> None:
    """Each product is compared with its own earlier runs."""
    for name, boots in [("gw", SLOW), ("camera", QUICK)] * 2:
        run = imported(main_here, tmp_path, name, boots)
        main_here("label", run, f"product={name}")
    table = '[product.{0}.history]\nmax_regression = "1 %"\n'
    write(table.format("gw") + table.format("camera"))
    done = main_here("check", "--json")
    assert done.returncode == 0, done.stdout
    products = json.loads(done.stdout)["products"]
    assert [p["findings"][1]["base_ns"] for p in products] == [6001 * MS, 2001 * MS]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[product.a]", "bootscope-check.toml:1: nothing to check of product a"),
        ('[budget]\nx = "1 s"\n[product.a.budget]\nx = "1 s"', "toml:1: budget stands beside products"),
        ('milestone = "m"\n[product.a.budget]\nx = "1 s"', "toml:1: milestone stands beside products"),
        ('[product.a.budget]\nx = "5"', "toml:2: budget 'x': '5' is no time"),
        ('[product.a]\nlabels = ["A=1"]\n[product.a.budget]\nx = "1 s"', "toml:2: 'A' is not a valid label"),
        ('[product."a/b".budget]\nx = "1 s"', "'a/b' is not a valid name of a product"),
        ('[product.a.budgets]\nx = "1 s"', "toml:1: product.a: unknown key"),
        (
            '[product.a.history]\nmax_regression = "1 s"\nlast = 0',
            "toml:3: product.a.history.last: 0 is not a number of runs",
        ),
        (
            '[product.a.baseline]\nfile = "x"\nmax_regression = "two"',
            "product.a.baseline.max_regression: 'two'",
        ),
    ],
)
def test_what_is_wrong_of_a_product_is_said_with_its_line(write: Write, text: str, words: str) -> None:
    with pytest.raises(UserError) as caught:
        read_checks(write(text))
    assert words in caught.value.message
