"""Write docs/citation-resolution-sweep.md anew from the corpora in CITEBOARD_SHARED. Takes some minutes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scoring.papers.resolution_sweep import as_markdown, sweep
from scoring.tools.builders.resolution import ResolutionRules

PAGE = ROOT / "docs" / "citation-resolution-sweep.md"
HEAD = """# Baselines of Citation Resolution

Written by `python scripts/citation_resolution_sweep.py`; for any other corpus the same table comes from
`python -m scoring papers sweep-resolution CORPUS`.

What stands for a reference: *internal*, the cited paper's own words; *external*, what other papers say
where they cite it, so many words left and right of their marks; *mixed*, both. A column is the window of
the query: words left and right of the citation, or the sentence with its neighbours. Vectors are
scikit-learn's TF-IDF, fitted on the references of the citing paper; the order is by cosine, equal ones in
the order of the reference list. The number is success at group size, as in the table of Duma and Klein
(2014). In the paper no citation by any tested paper is evidence (`--inlinks-without tested`, the default
of the command); here only the citing paper itself is left out (`--inlinks-without citing`).
"""
UNARXIVE = """## unarXive sample

The data sample of unarXive (Saier et al. 2023): the citing papers with at least eight references, every
reference of the paper a candidate. Only the printed reference is at hand, and no two citing papers share
an entry. So external methods give all candidates the score 0: 0.060 with every window, which is what the
order of the reference list is worth.
"""
CLSUMM = """## CL-Summ papers

The topics of the CL-SciSumm corpus whose papers are at hand (Jaidka et al.): the citing papers' citances
as contexts, all reference papers of the collection as candidates. The collection is small and of mixed
subjects: accuracies are far above those of a reference list on one subject.
"""


#: Methods beside nearly equal ones, which the page leaves out.
LEFT_OUT = (
    "| passage 300 ",
    "| passage 400 ",
    "| inlink context 10-5 ",
    "| inlink context 20 + reference string ",
)


def main() -> None:
    shared = Path(os.environ.get("CITEBOARD_SHARED", ROOT.parent / "shared" / "data"))
    PAGE.write_text("\n".join(page(shared)), encoding="utf-8")
    print(f"wrote {PAGE}")


def page(shared: Path) -> Iterator[str]:
    yield HEAD
    yield UNARXIVE
    rules = ResolutionRules(collection="references", inlinks_without="citing", around=10)
    for line in as_markdown(sweep(shared / "unarxive_contexts", rules)):
        if "inlink" not in line and not line.startswith("| *"):
            yield line
    yield CLSUMM
    rules = replace(rules, fewest_references=1)
    for line in as_markdown(sweep(shared / "scisumm", rules, form="clsumm")):
        if not line.startswith(LEFT_OUT):
            yield line


if __name__ == "__main__":
    main()
