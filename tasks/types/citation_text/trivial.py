"""Trivial runs of citation texts, which do not use the authors' text of the answered
instance.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tasks.types.base import Options, Split
from tasks.types.citation_text.instances import Instance, index_of, without_tags
from tasks.types.files import Files
from tasks.types.trivial_runs import (
    DRAWS,
    FIRST,
    INPUT,
    LONGEST,
    TrivialRuns,
    drawn_rows,
    random_of,
    run_file,
)

#: `MOST` is the maximum number of instances in a quick trial of trivial runs.
MOST = 200
#: A copied input has at most `MAX_TEXT` characters, and usual inputs are much shorter.
MAX_TEXT = 20_000


def trivial_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRuns:
    """Return trivial runs of citation texts. The trivial runs copy an input, use one
    text for all instances, or use the text of another instance.
    """
    rows = drawn_rows(len(split.content), MOST if is_quick else None)
    instances: list[Instance] = [split.content[row] for row in rows]
    part = replace(
        split,
        content=tuple(instances),
        instances=len(instances),
        index=index_of(instances),
    )

    def write_text_run(texts: Sequence[str]) -> Files:
        lines = (
            {"id": instance.id, "prediction": text[:MAX_TEXT]}
            for instance, text in zip(instances, texts, strict=True)
        )
        return run_file(lines, split.reading)

    shown = [
        [without_tags(item).strip() for item in instance.inputs]
        for instance in instances
    ]
    targets = [instance.target for instance in instances]
    [(common, _count)] = Counter(targets).most_common(1)
    return TrivialRuns(
        split=part,
        runs={
            FIRST: write_text_run([instance.cited[0] for instance in instances]),
            LONGEST: write_text_run([max(items, key=len) for items in shown]),
            INPUT: write_text_run(["\n".join(items) for items in shown]),
        },
        constants={common: write_text_run([common] * len(instances))},
        draws=[
            write_text_run(random_of(draw).sample(targets, len(targets)))
            for draw in range(DRAWS)
        ],
    )
