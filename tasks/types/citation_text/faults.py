"""Faults of the published data, kept as they are: counted here, so that they stand beside the data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from tasks.types.citation_text.instance import Instance
from tasks.types.citation_text.marks import marks

#: What cannot be seen in the data, by the name of the data set.
_OF_DATASET = {
    "xing": "the benchmark gives the citing paper's abstract as the cited one and the cited one as `<abs>`",
}


def known_faults(instances: Sequence[Instance]) -> Iterator[str]:
    """A sentence for each fault of each data set; what is wrong in targets is counted, never quoted."""
    for dataset, own in _by_dataset(instances):
        damaged = [len(marks(instance.target).damaged) for instance in own]
        if any(damaged):
            having = sum(count > 0 for count in damaged)
            yield f"{dataset}: {sum(damaged)} damaged marks such as `[2]9` in {having} of {len(own)} targets"
        yield from _faults_of_inputs(dataset, own)


def faults_of_inputs(instances: Sequence[Instance]) -> Iterator[str]:
    """Those that whoever has the inputs alone may know."""
    for dataset, own in _by_dataset(instances):
        yield from _faults_of_inputs(dataset, own)


def _by_dataset(instances: Sequence[Instance]) -> Iterator[tuple[str, list[Instance]]]:
    for dataset, group in groupby(instances, key=lambda instance: instance.dataset):
        yield dataset, list(group)


def _faults_of_inputs(dataset: str, own: Sequence[Instance]) -> Iterator[str]:
    empty = [sum(not abstract.strip() for abstract in instance.cited) for instance in own]
    if any(empty):
        having = sum(count > 0 for count in empty)
        yield f"{dataset}: {sum(empty)} empty cited abstracts in {having} of {len(own)} instances"
    if dataset in _OF_DATASET:
        yield f"{dataset}: {_OF_DATASET[dataset]}"
