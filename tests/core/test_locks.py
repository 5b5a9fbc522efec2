"""The locks hold what the requirement files ask for, with a hash each, and the bill of materials names it."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import cyclonedx.schema
import pytest
from jsonschema import Draft7Validator
from packaging.requirements import Requirement
from packaging.version import Version
from referencing import Registry, Resource

from scripts.lock import entries, without_torch
from scripts.sbom import hashes_of, normal

LOCKS = {
    "requirements-site.txt": "requirements-site.lock",
    "requirements.txt": "requirements.lock",
}
ADVICE = "`make lock` writes the locks anew"
OF_TORCH = re.compile(r"^(torch|triton|nvidia-.*|cuda-.*)$")


def asked_for(root: Path, file: str) -> list[Requirement]:
    """What a requirement file lists, and the files that it includes."""
    found = []
    for line in (root / file).read_text().splitlines():
        if line.startswith("-r "):
            found += asked_for(root, line.removeprefix("-r "))
        elif line and not line.startswith("#"):
            found.append(Requirement(line))
    return found


def locked(root: Path, file: str) -> dict[str, str]:
    """The version of each package that is installed on this machine's Python and system."""
    found = {}
    for entry in entries((root / file).read_text()):
        first = entry.splitlines()[0].rstrip(" \\")
        if not first.startswith("#"):
            requirement = Requirement(first)
            if requirement.marker is None or requirement.marker.evaluate():
                [pin] = requirement.specifier
                found[normal(requirement.name)] = pin.version
    return found


@pytest.mark.parametrize(("source", "lock"), LOCKS.items())
def test_each_pin_of_a_requirement_file_is_in_its_lock(root, source, lock):
    held = locked(root, lock)
    for requirement in asked_for(root, source):
        if OF_TORCH.match(requirement.name):
            assert requirement.name not in held
            continue
        assert requirement.specifier.contains(
            held.get(normal(requirement.name), "0")
        ), (requirement, ADVICE)


def led_to(names: list[Requirement], held: dict[str, str]) -> set[str]:
    """All that these need here, by what the installed packages say; versions must fit those that are held."""
    found: set[str] = set()
    waiting = [(requirement, set(requirement.extras)) for requirement in names]
    while waiting:
        requirement, extras = waiting.pop()
        name = normal(requirement.name)
        if OF_TORCH.match(name):
            continue
        assert name in held, (str(requirement), ADVICE)
        assert requirement.specifier.contains(Version(held[name]), prereleases=True), (
            requirement,
            ADVICE,
        )
        new = name not in found or extras
        found.add(name)
        if new:
            waiting += needs(name, extras)
    return found


def needs(name: str, extras: set[str]) -> list[tuple[Requirement, set[str]]]:
    wanted = []
    for text in distribution(name).requires or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(
            marker.evaluate({"extra": extra}) for extra in extras | {""}
        ):
            wanted.append((requirement, set(requirement.extras)))
    return wanted


@pytest.mark.parametrize(("source", "lock"), LOCKS.items())
def test_a_lock_holds_all_that_its_packages_need_and_nothing_that_none_of_them_needs(
    root, source, lock
):
    held = locked(root, lock)
    needed = led_to(asked_for(root, source), held)
    unneeded = set(held) - needed
    if lock == "requirements.lock":
        # What torch needs besides its own builds is in the lock too.
        torch = [
            r for r, _ in needs("torch", set()) if not OF_TORCH.match(normal(r.name))
        ]
        unneeded -= led_to(torch, held)
    assert unneeded == set(), ADVICE


@pytest.mark.parametrize("lock", LOCKS.values())
def test_every_package_of_a_lock_has_a_hash(root, lock):
    text = (root / lock).read_text()
    hashes = hashes_of(text)
    assert len(hashes) >= 70
    assert [name for name, files in hashes.items() if not files] == []
    assert "://" not in text, "a lock names no index"


def test_what_is_shipped_has_the_versions_that_are_tested(root):
    of_site, of_all, tested = (
        locked(root, lock) for lock in (*LOCKS.values(), "requirements-dev.lock")
    )
    assert of_site.items() <= of_all.items() <= tested.items()
    assert {name: distribution(name).version for name in of_all} == of_all


def test_torch_and_what_its_builds_for_cuda_bring_are_left_out():
    left_out = "nvidia-cublas==13 ; x \\\n    --hash=sha256:1\ntorch==2 \\\n    --hash=sha256:2\n"
    lock = f"a==1 \\\n    --hash=sha256:0\n{left_out}z==3"
    assert without_torch(lock) == "a==1 \\\n    --hash=sha256:0\nz==3\n"


@pytest.fixture(scope="module")
def bill() -> dict:
    root = Path(__file__).resolve().parents[2]
    command = [
        sys.executable,
        str(root / "scripts" / "sbom.py"),
        str(root / "requirements-site.lock"),
    ]
    first, second = (
        subprocess.run(command, capture_output=True, check=True).stdout
        for _ in range(2)
    )
    assert first == second
    return json.loads(first)


def test_the_bill_of_materials_is_valid_cyclonedx(bill):
    folder = Path(cyclonedx.schema.__file__).parent / "_res"
    registry = Registry()
    for file in folder.glob("*.SNAPSHOT.schema.json"):
        schema = json.loads(file.read_text(encoding="utf-8"))
        # They name each other by the names of their files.
        where = f"http://cyclonedx.org/schema/{file.name}"
        registry = registry.with_resource(where, Resource.from_contents(schema))
    schema = json.loads(
        (folder / "bom-1.6.SNAPSHOT.schema.json").read_text(encoding="utf-8")
    )
    assert [
        error.message
        for error in Draft7Validator(schema, registry=registry).iter_errors(bill)
    ] == []


def test_the_bill_of_materials_names_every_package_of_the_lock_with_its_hashes(
    root, bill
):
    listed = {(part["name"], part["version"]): part for part in bill["components"]}
    for name, version in locked(root, "requirements-site.lock").items():
        part = listed[name, version]
        assert part["purl"] == f"pkg:pypi/{name}@{version}"
        assert part["externalReferences"], name
    assert listed["django", locked(root, "requirements-site.lock")["django"]][
        "licenses"
    ]
