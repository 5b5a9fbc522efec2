"""Prepare a release, or record its commit, the digests of its wheel and image, and its upgrade notes.

Usage: python scripts/release.py VERSION --prepare
       python scripts/release.py VERSION [--commit COMMIT] [--wheel FILE] [--image DIGEST] [--pins]

--prepare writes the version to every file that names it, and the version and today's date into the heading
of the changelog. Without it, the script writes a row to docs/releases.md and, where git allows it, the tag
vVERSION. With --pins also asks the registries and repositories of deploy/pins.toml: a pin that they confirm
gets today's date, and every other pin is printed.
"""

import argparse
import datetime as dt
import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RELEASES = ROOT / "docs" / "releases.md"
MONTHS = [
    "Jan",
    "Feb",
    "Mar",
    "Apr",
    "May",
    "Jun",
    "Jul",
    "Aug",
    "Sep",
    "Oct",
    "Nov",
    "Dec",
]
CHANGELOG = ROOT / "CHANGELOG.md"
PINS = ROOT / "deploy" / "pins.toml"
#: Files that name the version of the project. The group of each pattern is the version.
VERSIONED = {
    "pyproject.toml": r'^version = "([^"]+)"$',
    "CITATION.cff": r"^version: (\S+)$",
    "docs/client.md": r"citeboard-(\d+\.\d+\.\d+)-py3-none-any\.whl",
    "platform/citeboard/api/examples.json": r'"Versions\.version": "([^"]+)"',
}
UNRELEASED = "## Unreleased\n"
VERSION = re.compile(r"\d+\.\d+\.\d+")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
ROW = re.compile(r"^\| (\d+\.\d+\.\d+) \| [^|]+ \| `([0-9a-f]{40})` \|", re.MULTILINE)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("version")
    parser.add_argument("--prepare", action="store_true", help="write the version")
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--image", default="", metavar="DIGEST")
    parser.add_argument("--pins", action="store_true", help="check deploy/pins.toml")
    given = parser.parse_args(arguments)
    if not VERSION.fullmatch(given.version):
        parser.error(f"{given.version!r} is no version such as 0.4.0")
    if given.prepare:
        prepare(ROOT, given.version, dt.datetime.now(tz=dt.UTC).date())
        return 0
    if given.image and not DIGEST.fullmatch(given.image):
        parser.error(f"{given.image!r} is no digest such as sha256: and 64 digits")
    if given.wheel and not given.wheel.is_file():
        parser.error(f"there is no wheel {given.wheel}")
    commit = git("rev-parse", "--verify", f"{given.commit}^{{commit}}")
    released = git("show", f"{commit}:pyproject.toml")
    if (found := tomllib.loads(released)["project"]["version"]) != given.version:
        parser.error(f"commit {commit[:8]} is of version {found}, not {given.version}")
    day = readable(git("show", "--no-patch", "--format=%cs", commit))
    wheel = hashlib.sha256(given.wheel.read_bytes()).hexdigest() if given.wheel else ""
    text = RELEASES.read_text(encoding="utf-8")
    RELEASES.write_text(
        with_row(text, row(given.version, day, commit, wheel, given.image)),
        encoding="utf-8",
    )
    if not git("tag", "--list", f"v{given.version}"):
        git("tag", f"v{given.version}", commit)
    if given.pins:
        text = PINS.read_text(encoding="utf-8")
        checked, unconfirmed = refreshed(
            text, dt.datetime.now(tz=dt.UTC).date(), current
        )
        PINS.write_text(checked, encoding="utf-8")
        for name in unconfirmed:
            print(f"{name}: not confirmed; see deploy/pins.toml", file=sys.stderr)
    return 0


def prepare(root: Path, version: str, day: dt.date) -> None:
    """Write the version and the day of a release into the files of ``root``.

    Raises SystemExit, before any file changes, if the changelog has no entries for the release.
    """
    changelog = root / "CHANGELOG.md"
    text = changelog.read_text(encoding="utf-8")
    if UNRELEASED not in text:
        raise SystemExit(f"CHANGELOG.md has no heading '{UNRELEASED.strip()}'")
    changelog.write_text(
        text.replace(UNRELEASED, f"## {version} ({day})\n", 1), encoding="utf-8"
    )
    for name, pattern in VERSIONED.items():
        path = root / name
        changed = re.sub(
            pattern,
            lambda found: found[0].replace(found[1], version),
            path.read_text(encoding="utf-8"),
            flags=re.MULTILINE,
        )
        path.write_text(changed, encoding="utf-8")
    citation = root / "CITATION.cff"
    dated = re.sub(
        r"^date-released: .*$",
        f"date-released: {day}",
        citation.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    citation.write_text(dated, encoding="utf-8")


def named_versions(root: Path) -> dict[str, set[str]]:
    """Return the versions that each file of VERSIONED names."""
    return {
        name: set(re.findall(pattern, (root / name).read_text("utf-8"), re.MULTILINE))
        for name, pattern in VERSIONED.items()
    }


def readable(day: str) -> str:
    """Return an ISO date as pages write it.

    >>> readable("2026-11-03")
    '3 Nov 2026'
    """
    date = dt.date.fromisoformat(day)
    return f"{date.day} {MONTHS[date.month - 1]} {date.year}"


def row(version: str, day: str, commit: str, wheel: str, image: str) -> str:
    heading = anchor(CHANGELOG.read_text(encoding="utf-8"), version)
    cells = [
        version,
        day,
        f"`{commit}`",
        f"`{wheel}`" if wheel else "not published",
        f"`{image}`" if image else "not published",
        f"[upgrading](upgrading.md), [changelog](../CHANGELOG.md#{heading})",
    ]
    return f"| {' | '.join(cells)} |"


def anchor(changelog: str, version: str) -> str:
    """Return the anchor that a forge gives to the heading of the version."""
    found = re.search(rf"^## ({re.escape(version)}\b.*)$", changelog, re.MULTILINE)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no heading '## {version}'")
    return re.sub(r"[^\w -]", "", found[1].lower()).replace(" ", "-")


def commits(text: str) -> dict[str, str]:
    """Return the commit of each release on the page of releases, newest release first."""
    return dict(ROW.findall(text))


def with_row(text: str, new: str) -> str:
    """Put a row above those of earlier releases; a row of the same version is replaced."""
    version = new.split("|")[1].strip()
    lines = [
        line for line in text.splitlines() if not line.startswith(f"| {version} |")
    ]
    rule = next(n for n, line in enumerate(lines) if line.startswith("| release |")) + 1
    return "\n".join([*lines[: rule + 1], new, *lines[rule + 1 :]]) + "\n"


def refreshed(
    text: str, today: dt.date, ask: Callable[[str, str, str], str]
) -> tuple[str, list[str]]:
    """Return the text with today's date at every pin that ``ask`` confirms, and the names of the others.

    ``ask(group, name, tag)`` returns the commit or digest that the tag has now, or an empty text.
    """
    unconfirmed = []
    for group, pins in tomllib.loads(text).items():
        for name, pin in pins.items():
            value = pin.get("commit") or pin.get("digest")
            if ask(group, name, pin["tag"]) != value:
                unconfirmed.append(name)
                continue
            head = re.escape(f'[{group}."{name}"]')
            text = re.sub(
                rf"({head}\n(?:\w+ = .*\n)*?checked = )\S+", rf"\g<1>{today}", text
            )
    return text, unconfirmed


def current(group: str, name: str, tag: str) -> str:
    if group == "actions":
        found = output("git", "ls-remote", f"https://github.com/{name}", f"{tag}^{{}}")
        found = found or output("git", "ls-remote", f"https://github.com/{name}", tag)
        return found.split()[0] if found else ""
    return output("crane", "digest", f"{name}:{tag}") or output(
        "skopeo", "inspect", "--no-tags", "--format", "{{.Digest}}",
        f"docker://{name}:{tag}",
    )  # fmt: skip


def output(*command: str) -> str:
    """Return what a program prints, or an empty text if it fails or is missing."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()


def git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
