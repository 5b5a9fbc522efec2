"""Workflows, Dockerfile, compose file and manifests use the commits and digests of deploy/pins.toml."""

import datetime as dt
import re
import subprocess
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

USES = re.compile(r"^\s*(?:- )?uses:\s*(\S+)(?:\s+#\s*(\S+))?\s*$", re.MULTILINE)
IMAGE = re.compile(r"^\s*(?:- )?image:\s*(\S+)\s*$", re.MULTILINE)
DEFAULT = re.compile(r"\$\{[A-Z0-9_]+:-(.*)\}")
#: Images of this repository: an operator builds them and writes their digests into the manifests.
OWN = re.compile(
    r"(registry\.example\.org/)?citeboard:(\$\{CITEBOARD_TARGET:-slim\}|slim|full|cuda)"
)
HALF_A_YEAR = dt.timedelta(days=183)
COMMIT, DIGEST = re.compile(r"[0-9a-f]{40}"), re.compile(r"sha256:[0-9a-f]{64}")


@pytest.fixture(scope="module")
def pins(root) -> dict[str, Any]:
    return tomllib.loads((root / "deploy" / "pins.toml").read_text(encoding="utf-8"))


def uses_in(text: str) -> list[tuple[str, str]]:
    """Return what a workflow uses from other repositories, and the comment behind each."""
    return [use for use in USES.findall(text) if not use[0].startswith("./")]


def images_in(text: str) -> list[str]:
    """Return the images that a compose file or a manifest names and that are built elsewhere."""
    named = [image for image in IMAGE.findall(text) if not OWN.fullmatch(image)]
    return [default[1] if (default := DEFAULT.fullmatch(i)) else i for i in named]


def used_actions(root: Path) -> list[tuple[str, str]]:
    files = [*root.glob(".github/**/*.yml"), *root.glob(".github/**/*.yaml")]
    assert len(files) >= 4
    return [use for file in files for use in uses_in(file.read_text(encoding="utf-8"))]


def used_images(root: Path) -> list[str]:
    files = [root / "compose.yaml", *root.glob("deploy/**/*.yaml")]
    texts = [file.read_text(encoding="utf-8") for file in files]
    bases = re.findall(
        r"^ARG BASE=(\S+)$", (root / "Dockerfile").read_text(), re.MULTILINE
    )
    bases += re.findall(r"\$\{CITEBOARD_BASE:-([^}]*)\}", texts[0])
    assert len(bases) == 2
    return [*bases, *chain.from_iterable(map(images_in, texts))]


def test_every_action_is_used_by_the_commit_of_the_pins_with_its_tag_beside_it(
    root, pins
):
    listed = {
        (f"{name}@{pin['commit']}", pin["tag"]) for name, pin in pins["actions"].items()
    }
    assert set(used_actions(root)) == listed


def test_every_image_is_used_by_the_digest_of_the_pins(root, pins):
    listed = {
        f"{name}:{pin['tag']}@{pin['digest']}" for name, pin in pins["images"].items()
    }
    assert set(used_images(root)) == listed


def test_every_stage_of_the_image_begins_with_the_pinned_base_or_another_stage(root):
    lines = (root / "Dockerfile").read_text(encoding="utf-8").splitlines()
    stages = [line.split() for line in lines if line.startswith("FROM ")]
    names = {stage[-1] for stage in stages}
    assert {stage[1] for stage in stages} - names == {"${BASE}"}


def test_every_pin_is_a_full_commit_or_digest_with_a_source_and_the_day_of_its_check(
    pins,
):
    for pin in chain(pins["actions"].values(), pins["images"].values()):
        assert COMMIT.fullmatch(pin.get("commit", "")) or DIGEST.fullmatch(
            pin.get("digest", "")
        ), pin
        assert type(pin["checked"]) is dt.date, pin
        assert pin["source"], pin


def old_pins(pins, today: dt.date) -> list[str]:
    """Return the names of pins whose last check is more than half a year ago."""
    return [
        name
        for group in (pins["actions"], pins["images"])
        for name, pin in group.items()
        if today - pin["checked"] > HALF_A_YEAR
    ]


def test_old_pins_are_reported(pins, root):
    """A commit fixes the day, so that a released version does not fail its tests by age."""
    day = subprocess.run(
        ["git", "log", "-1", "--format=%cs"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    if not day:
        pytest.skip("there is no history to take the day from")
    assert old_pins(pins, dt.date.fromisoformat(day)) == []


def test_a_pin_that_was_checked_half_a_year_ago_is_old():
    pins = {
        "actions": {"a": {"checked": dt.date(2026, 1, 1)}},
        "images": {"b": {"checked": dt.date(2026, 6, 1)}},
    }
    assert old_pins(pins, dt.date(2026, 7, 15)) == ["a"]


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("      - uses: actions/checkout@v4\n", [("actions/checkout@v4", "")]),
        ("  uses: a/b@main # v1\n", [("a/b@main", "v1")]),
        ("    uses: ./.github/workflows/nightly.yml\n", []),
    ],
)
def test_an_action_that_is_used_by_a_tag_is_found(line, used):
    assert uses_in(line) == used


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("    image: postgres:16\n", ["postgres:16"]),
        ("  image: ${REDIS_IMAGE:-redis:7}\n", ["redis:7"]),
        ("          image: registry.example.org/other:slim\n", ["registry.example.org/other:slim"]),
        ("          image: registry.example.org/citeboard:slim\n", []),
        ("  image: citeboard:${CITEBOARD_TARGET:-slim}\n", []),
    ],
)  # fmt: skip
def test_an_image_that_is_used_by_a_tag_is_found(line, used):
    assert images_in(line) == used
