"""Trivial runs of citation texts, which do not use the authors' text of the answered
instance.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tasks.types.base import Options, Split
from tasks.types.citation_text.instances import (
    CitationTextInstance,
    build_index_of_datasets,
    remove_context_tags,
)
from tasks.types.files import Files
from tasks.types.trivial_runs import (
    FIRST_ITEM_RUN,
    INPUT_COPY_RUN,
    LONGEST_ITEM_RUN,
    RANDOM_RUN_DRAWS,
    TrivialRunFiles,
    draw_row_numbers,
    make_run_file,
    make_seeded_random,
)

#: `MAX_INSTANCES_IN_QUICK_TRIAL` is the maximum number of instances in a quick trial of trivial runs.
MAX_INSTANCES_IN_QUICK_TRIAL = 200
#: A copied input has at most `MAX_COPIED_INPUT_CHARACTERS` characters, and usual inputs are much shorter.
MAX_COPIED_INPUT_CHARACTERS = 20_000


def trivial_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
    """Return trivial runs of citation texts. The trivial runs copy an input, use one
    text for all instances, or use the text of another instance.
    """
    rows = draw_row_numbers(
        len(split.content), MAX_INSTANCES_IN_QUICK_TRIAL if is_quick else None
    )
    instances: list[CitationTextInstance] = [split.content[row] for row in rows]
    part = replace(
        split,
        content=tuple(instances),
        instances=len(instances),
        index=build_index_of_datasets(instances),
    )

    def write_text_run(texts: Sequence[str]) -> Files:
        lines = (
            {"id": instance.id, "prediction": text[:MAX_COPIED_INPUT_CHARACTERS]}
            for instance, text in zip(instances, texts, strict=True)
        )
        return make_run_file(lines, split.reading)

    shown = [
        [remove_context_tags(item).strip() for item in instance.inputs]
        for instance in instances
    ]
    targets = [instance.target for instance in instances]
    [(common, _count)] = Counter(targets).most_common(1)
    return TrivialRunFiles(
        split=part,
        runs={
            FIRST_ITEM_RUN: write_text_run(
                [instance.cited_abstracts[0] for instance in instances]
            ),
            LONGEST_ITEM_RUN: write_text_run([max(items, key=len) for items in shown]),
            INPUT_COPY_RUN: write_text_run(["\n".join(items) for items in shown]),
        },
        constants={common: write_text_run([common] * len(instances))},
        draws=[
            write_text_run(make_seeded_random(draw).sample(targets, len(targets)))
            for draw in range(RANDOM_RUN_DRAWS)
        ],
    )
