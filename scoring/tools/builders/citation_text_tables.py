"""What data sets of citation texts consist of, in the numbers that CiteBench gives of its own.

Funkquist et al. 2023, CiteBench: table 2 (sizes, and instances too long for a model), appendix A.4 (lengths)
and table 11 (texts that speak of the citing paper).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scoring.metrics.citation_text import SELF_REFERENCES, refers_to_itself
from tasks.types.citation_text.inputs import without_tags
from tasks.types.citation_text.instance import Instance
from tasks.types.unavailable import Unavailable

#: How much the paper's models can read and write.
MAX_INPUT, MAX_OUTPUT = 4096, 1024
ALL = "all"

Count = Callable[[str], int]


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Means are over instances; ``self_references`` counts texts with any phrase, ``phrases`` by phrase."""

    name: str
    instances: int
    cited_papers: int
    input_words: float
    output_words: float
    long_inputs: int
    long_outputs: int
    self_references: int
    phrases: Mapping[str, int]


def data_sets(instances: Sequence[Instance], count: Count | None = None) -> list[DataSet]:
    """A line for each data set in its order, and one for all where there are several.

    ``count`` says how many tokens a text has, by default its words between white space. The input is all of
    an instance's items without their tags.
    """
    names = list(dict.fromkeys(instance.dataset for instance in instances))
    groups = {name: [own for own in instances if own.dataset == name] for name in names}
    if len(groups) > 1:
        groups[ALL] = list(instances)
    return [_data_set(name, own, count or _words) for name, own in groups.items()]


def _data_set(name: str, own: Sequence[Instance], count: Count) -> DataSet:
    inputs = [" ".join(without_tags(item).strip() for item in instance.inputs) for instance in own]
    targets = [instance.target for instance in own]
    return DataSet(
        name=name,
        instances=len(own),
        cited_papers=sum(len(instance.cited) for instance in own),
        input_words=sum(map(_words, inputs)) / len(own),
        output_words=sum(map(_words, targets)) / len(own),
        long_inputs=sum(count(text) > MAX_INPUT for text in inputs),
        long_outputs=sum(count(text) > MAX_OUTPUT for text in targets),
        self_references=sum(map(refers_to_itself, targets)),
        phrases={phrase: sum(phrase in text.lower() for text in targets) for phrase in SELF_REFERENCES},
    )


def _words(text: str) -> int:
    return len(text.split())


def counter_of(folder: Path) -> Count:
    """Counts as the tokenizer of a model does, without the special tokens. Raises Unavailable."""
    try:
        from transformers import AutoTokenizer
    except ImportError as missing:
        raise Unavailable("a tokenizer needs transformers (`make models`)") from missing
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as fault:
        raise Unavailable(f"{folder} holds no tokenizer in the form of transformers") from fault
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False, verbose=False))


def as_json(found: Sequence[DataSet], unit: str) -> dict[str, Any]:
    return {"counted_in": unit, "data_sets": [asdict(own) for own in found]}


def as_markdown(found: Sequence[DataSet], unit: str) -> Iterator[str]:
    """Three tables, as the paper has them."""
    yield "### Sizes\n"
    yield from _table(
        (
            *("data set", "instances", "cited papers"),
            f"inputs over {MAX_INPUT:,} {unit}",
            f"outputs over {MAX_OUTPUT:,} {unit}",
        ),
        [
            (
                *(own.name, f"{own.instances:,}", f"{own.cited_papers:,}"),
                *(_share(long, own) for long in (own.long_inputs, own.long_outputs)),
            )
            for own in found
        ],
    )
    yield "\n### Lengths in words, means\n"
    lengths = [(own.name, f"{own.output_words:.1f}", f"{own.input_words:.1f}") for own in found]
    yield from _table(("data set", "output", "input"), lengths)
    yield "\n### Texts that speak of the citing paper\n"
    yield from _table(
        ("data set", "any phrase", *SELF_REFERENCES),
        [
            (own.name, _share(own.self_references, own), *(f"{count:,}" for count in own.phrases.values()))
            for own in found
        ],
    )


def _share(count: int, own: DataSet) -> str:
    return f"{count:,} ({100 * count / own.instances:.3g} %)"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{' ---: |' * (len(heads) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
