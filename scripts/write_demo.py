"""Writes what the demo seasons need beside the files written by hand: `python scripts/write_demo.py`.

`examples/demo-files.tar.xz` holds what the first season needs, and `manage.py demo` unpacks it; gold and runs
of the others lie beside their season files. A test says that all of them are what this script writes.
"""

import io
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

from scripts.demo.field_tasks import write_field_tasks
from scripts.demo.reports import write_reports
from scripts.demo.systems import write_demo, write_sample

EXAMPLES = ROOT / "examples"
FILES = EXAMPLES / "demo-files.tar.xz"
#: People's labels of a sample, as an organiser uploads them.
SAMPLE = EXAMPLES / "demo-season" / "claims-people.jsonl"
BY_HAND = [path.parent for path in EXAMPLES.glob("demo-season/*/annotation")]
#: Functions that write gold and runs, by folder of the examples.
WRITERS = {"field-tasks": write_field_tasks, "reports": write_reports}


def main() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        tarfile.open(FILES, "w:xz") as archive,
    ):
        write_demo(Path(folder), BY_HAND)
        write_sample(Path(folder), SAMPLE)
        for path in sorted(path for path in Path(folder).rglob("*") if path.is_file()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    for name, write in WRITERS.items():
        write(EXAMPLES / name)


if __name__ == "__main__":
    main()
