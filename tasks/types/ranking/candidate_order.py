"""Change the order of candidates in the gold and in the public files of built-in
ranking tasks.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from tasks.types.base import CandidateSorter, Index, PublicFile, Split
from tasks.types.ranking.lists import GradedListColumn, Int32Array, ListColumn
from tasks.types.ranking.records import CONTEXTS_FILE_NAMES, REFERENCES_FILE_NAME


def renumbered(split: Split, index: Index) -> Split:
    """Return a copy of the split in which the gold refers to candidates by their
    numbers in ``index``.

    The pools (lists of candidates) in ``index`` contain the candidates of the split in
    another order.
    """
    pools, pool_of = split.index["pools"], split.index["pool_of"]
    begins = np.cumsum([0, *map(len, pools)])
    numbers = np.empty(begins[-1], dtype=np.int32)
    for begin, before, after in zip(begins, pools, index["pools"], strict=False):
        number_of = {name: number for number, name in enumerate(after)}
        numbers[begin : begin + len(before)] = [number_of[name] for name in before]
    begin_of_row = begins[pool_of or np.zeros(split.instances, dtype=np.intp)]

    def renumber_candidates(lists: ListColumn) -> Int32Array:
        renumbered: Int32Array = numbers[
            np.repeat(begin_of_row, lists.list_lengths) + lists.values
        ]
        return renumbered

    gold: ListColumn = split.content.gold
    ordered = ListColumn(renumber_candidates(gold), gold.offsets, gold.present)
    if isinstance(gold, GradedListColumn):
        judged = ListColumn(
            renumber_candidates(gold.judged), gold.judged.offsets, gold.judged.present
        )
        ordered = GradedListColumn(ordered, judged, gold.grades)
    content = split.content.with_reordered_candidates(ordered, index)
    return replace(split, content=content, index=index)


def reordered_files(
    files: Iterable[PublicFile], in_order: CandidateSorter
) -> Iterator[PublicFile]:
    """Yield the public files of a built-in ranking task with the candidates in another
    order. The function ``in_order`` sorts the references of each citing paper.

    The second argument of ``in_order`` is the id of the paper's first citation context,
    or empty if all contexts share their candidates.
    """
    contents = dict(files)
    first_context: dict[str, str] = {}
    for name in CONTEXTS_FILE_NAMES:
        for line in contents.get(name, b"").splitlines():
            context = json.loads(line)
            if paper := context.get("paper_id"):
                first_context.setdefault(str(paper), str(context["context_id"]))
    of_paper: dict[str, dict[str, list[bytes]]] = defaultdict(dict)
    for line in contents[REFERENCES_FILE_NAME].splitlines(keepends=True):
        reference = json.loads(line)
        own = of_paper[str(reference.get("paper_id", ""))]
        own.setdefault(str(reference["ref_id"]), []).append(line)
    contents[REFERENCES_FILE_NAME] = b"".join(
        line
        for paper, lines in of_paper.items()
        for name in in_order(lines, first_context.get(paper, ""))
        for line in lines[name]
    )
    yield from contents.items()
