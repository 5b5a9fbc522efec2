"""Writes the locks: every package that the requirement files lead to, with its version and its hashes.

Usage: python scripts/lock.py      (as `make lock`; asks the package index, by uv)

`requirements-dev.lock` has the versions of all that is installed for the tests, and holds for every
environment; `requirements-site.lock` is what the image installs, `requirements.lock` what its target `full`
does, each of the same versions, so that what is shipped was tested. Torch
and what only its builds for CUDA need are left out of it: each build of torch has a hash of its own.
Versions that a lock has stay, as long as the requirement files allow them.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTED = ("requirements-dev.txt", "requirements-dev.lock")
LOCKS = {
    "requirements-site.txt": "requirements-site.lock",
    "requirements.txt": "requirements.lock",
}
OF_TORCH = re.compile(r"^(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")
PYTHON = "3.11"
COMPILE = (
    "-m",
    "uv",
    "pip",
    "compile",
    "--quiet",
    "--universal",
    "--no-annotate",
    "--no-header",
    "--python-version",
    PYTHON,
)


def entries(lock: str) -> list[str]:
    """Each with its hashes."""
    return re.split(r"\n(?=\w)", lock.strip())


def without_torch(lock: str) -> str:
    return "".join(f"{entry}\n" for entry in entries(lock) if not OF_TORCH.match(entry))


def main() -> None:
    hashed = ("--generate-hashes", "--constraint", TESTED[1])
    for source, target, more in [
        (*TESTED, ()),
        *((*files, hashed) for files in LOCKS.items()),
    ]:
        words = [sys.executable, *COMPILE, *more, source, "--output-file", target]
        subprocess.run(words, cwd=ROOT, check=True)
        path = ROOT / target
        head = f"# Made of {source} by `make lock`; not to be edited.\n"
        path.write_text(
            head + without_torch(path.read_text(encoding="utf-8")), encoding="utf-8"
        )
        print(
            f"{target}: {len(entries(path.read_text(encoding='utf-8'))) - 1} packages"
        )


if __name__ == "__main__":
    main()
