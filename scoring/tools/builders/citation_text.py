"""A season of citation text generation from the original files of its data sets, one data set at a time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from scoring.tools.builders.citation_text_tables import as_markdown
from scoring.tools.builders.load_citation_text import Loaded
from scoring.tools.builders.season import SeasonFolder
from tasks.types.citation_text.data_sets import data_sets
from tasks.types.citation_text.faults import known_faults
from tasks.types.citation_text.instance import Instance
from tasks.types.citation_text.instances import read_instances
from tasks.types.files import open_input

BASELINES = ("citation-text-lead", "citation-text-lexrank", "citation-text-textrank")
CARD, SHEET, FAULTS = "card.md", "datasheet.md", "faults"


def add_data_set(loaded: Loaded, season: SeasonFolder) -> tuple[Instance, ...]:
    """Put a data set into the season's gold beside those that are there; give the instances of all.

    Its faults by instance and the data sheet are for organisers: they are told from targets too.
    """
    (season.folder / FAULTS).mkdir(parents=True, exist_ok=True)
    season.gold.mkdir(parents=True, exist_ok=True)
    _write(season.gold / f"{loaded.dataset}.jsonl", loaded.instances)
    _write(season.folder / FAULTS / f"{loaded.dataset}.jsonl", loaded.faults)
    instances = read_instances(open_input(season.gold), with_targets=True)
    (season.folder / CARD).write_text("\n".join(_card(instances)), encoding="utf-8")
    sheet = "\n".join(("## Data sets\n", *as_markdown(data_sets(instances), "words"), ""))
    (season.folder / SHEET).write_text(sheet, encoding="utf-8")
    return instances


def counted(loaded: Loaded) -> Mapping[str, int]:
    """How often each fault is there."""
    return Counter(fault["fault"] for fault in loaded.faults)


def _write(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def _card(instances: Sequence[Instance]) -> Iterator[str]:
    """What participants may know: sizes and known faults, nothing of a target."""
    yield "## Data sets\n"
    yield "| data set | instances | cited papers | words of a cited abstract, mean |"
    yield "| --- | ---: | ---: | ---: |"
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        own = list(group)
        abstracts = [abstract for instance in own for abstract in instance.cited]
        words = sum(len(abstract.split()) for abstract in abstracts) / len(abstracts)
        yield f"| {dataset} | {len(own):,} | {len(abstracts):,} | {words:.1f} |"
    faults = list(known_faults(instances))
    if faults:
        yield "\n## Known faults, kept as they are\n"
        yield from (f"- {fault}" for fault in faults)
    yield ""
