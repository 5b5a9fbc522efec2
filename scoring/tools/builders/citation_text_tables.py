"""What data sets of citation texts consist of, as JSON and as tables; and tokens of a model's tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tasks.types.citation_text.data_sets import MAX_INPUT, MAX_OUTPUT, Count, DataSet
from tasks.types.citation_text.self_reference import SELF_REFERENCES
from tasks.types.unavailable import Unavailable


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
