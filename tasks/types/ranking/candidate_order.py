"""Change the order of candidates in the gold and in the public files of built-in
ranking tasks.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from tasks.types.base import Index, PublicFile, Sorter, Split
from tasks.types.ranking.lists import GradedLists, Lists, Numbers
from tasks.types.ranking.records import CONTEXTS, REFERENCES


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

    def in_order(lists: Lists) -> Numbers:
        renumbered: Numbers = numbers[
            np.repeat(begin_of_row, lists.lengths) + lists.values
        ]
        return renumbered

    gold: Lists = split.content.gold
    ordered = Lists(in_order(gold), gold.offsets, gold.present)
    if isinstance(gold, GradedLists):
        judged = Lists(in_order(gold.judged), gold.judged.offsets, gold.judged.present)
        ordered = GradedLists(ordered, judged, gold.grades)
    content = split.content.with_candidates(ordered, index)
    return replace(split, content=content, index=index)


def reordered_files(
    files: Iterable[PublicFile], in_order: Sorter
) -> Iterator[PublicFile]:
    """Yield the public files of a built-in ranking task with the candidates in another
    order. The function ``in_order`` sorts the references of each citing paper.

    The second argument of ``in_order`` is the id of the paper's first citation context,
    or empty if all contexts share their candidates.
    """
    contents = dict(files)
    first_context: dict[str, str] = {}
    for name in CONTEXTS:
        for line in contents.get(name, b"").splitlines():
            context = json.loads(line)
            if paper := context.get("paper_id"):
                first_context.setdefault(str(paper), str(context["context_id"]))
    of_paper: dict[str, dict[str, list[bytes]]] = defaultdict(dict)
    for line in contents[REFERENCES].splitlines(keepends=True):
        reference = json.loads(line)
        own = of_paper[str(reference.get("paper_id", ""))]
        own.setdefault(str(reference["ref_id"]), []).append(line)
    contents[REFERENCES] = b"".join(
        line
        for paper, lines in of_paper.items()
        for name in in_order(lines, first_context.get(paper, ""))
        for line in lines[name]
    )
    yield from contents.items()
