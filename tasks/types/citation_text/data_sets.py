"""What data sets of citation texts consist of, in the numbers that CiteBench gives of its own.

Funkquist et al. 2023, CiteBench: table 2 (sizes, and instances too long for a model), appendix A.4 (lengths)
and table 11 (texts that speak of the citing paper).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.base import Split
from tasks.types.citation_text.instances import (
    PRINTED,
    SELF_REFERENCES,
    Instance,
    refers_to_itself,
    without_tags,
)

#: How much the paper's models can read and write.
MAX_INPUT, MAX_OUTPUT = 4096, 1024
ALL = "all"
#: Gold with more data sets than this is described over all alone.
MAX_DATA_SETS = 100

Count = Callable[[str], int]


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Means are over instances; ``self_references`` counts texts with any phrase, ``phrases`` by phrase.

    ``printed_self_references`` counts those with one of the four phrases that the paper prints.
    """

    name: str
    instances: int
    cited_papers: int
    input_words: float
    output_words: float
    long_inputs: int
    long_outputs: int
    printed_self_references: int
    self_references: int
    phrases: Mapping[str, int]


def data_sets(instances: Sequence[Instance], count: Count | None = None) -> list[DataSet]:
    """A line for each data set in its order, and one for all where there are several.

    ``count`` says how many tokens a text has, by default its words between white space. The input is all of
    an instance's items without their tags.
    """
    groups: dict[str, list[Instance]] = {}
    for instance in instances:
        groups.setdefault(instance.dataset, []).append(instance)
    found = [_data_set(name, own, count or _words) for name, own in groups.items()]
    return [*found, _data_set(ALL, instances, count or _words)] if len(found) > 1 else found


def statistics(split: Split) -> list[dict[str, Any]]:
    """By data set what its inputs tell, and apart from it what only the gold does, as JSON.

    The name of the last is null where it is that of all of them.
    """
    found = data_sets(split.content)
    total = found[-1] if len(found) > 1 else None
    shown = found if len(found) <= MAX_DATA_SETS + 1 else found[-1:]
    return [
        {
            # Databases keep no null characters.
            "name": None if own is total else own.name.replace("\0", " "),
            "inputs": {
                "instances": own.instances,
                "cited_papers": own.cited_papers,
                "input_words": own.input_words,
                "long_inputs": own.long_inputs,
            },
            "gold": {
                "output_words": own.output_words,
                "long_outputs": own.long_outputs,
                "printed_self_references": own.printed_self_references,
                "self_references": own.self_references,
                "phrases": list(own.phrases.values()),
            },
        }
        for own in shown
    ]


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
        printed_self_references=sum(refers_to_itself(text, PRINTED) for text in targets),
        self_references=sum(map(refers_to_itself, targets)),
        phrases={phrase: sum(phrase in text.lower() for text in targets) for phrase in SELF_REFERENCES},
    )


def _words(text: str) -> int:
    return len(text.split())
