"""Writes what the demo season needs beside the files written by hand: `python scripts/write_demo.py`.

`examples/demo-files.tar.xz` holds them, and `manage.py demo` unpacks it; a test says that both are the same.
"""

import io
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scripts.demo.systems import write_demo

FILES = ROOT / "examples" / "demo-files.tar.xz"
BY_HAND = [path.parent for path in ROOT.glob("examples/demo-season/*/annotation")]


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(FILES, "w:xz") as archive,
    ):
        write_demo(Path(folder), BY_HAND)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


if __name__ == "__main__":
    main()
