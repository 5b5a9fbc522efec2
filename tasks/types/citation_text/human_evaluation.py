"""What people read who judge citation texts: the abstracts and contexts that a text was written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tasks.types.citation_text.inputs import ABSTRACT, AFTER, BEFORE, is_cited, without_tags
from tasks.types.citation_text.instance import Instance
from tasks.types.citation_text.instances import read_instances
from tasks.types.citation_text.runs import Run
from tasks.types.files import InputFile
from tasks.types.human_evaluation import HumanEvaluation, Sources

_HEADINGS = {
    ABSTRACT: "Abstract of the citing paper",
    BEFORE: "Before the citation text",
    AFTER: "After the citation text",
}


def sources(files: Sequence[InputFile]) -> Mapping[str, Sources]:
    """By instance what stands around the text, and the cited abstracts under their marks."""
    return {instance.id: _sources(instance) for instance in read_instances(files, with_targets=False)}


def texts(run: Run) -> Mapping[str, str]:
    return {name: prediction.text for name, prediction in run.predictions.items()}


def _sources(instance: Instance) -> Sources:
    found = []
    cited = 0
    for item in instance.inputs:
        text = without_tags(item).strip() or "(empty)"
        if is_cited(item):
            found.append((f"Cited paper [{cited}]", text))
            cited += 1
        else:
            heading = next(words for tag, words in _HEADINGS.items() if item.lstrip().startswith(f"<{tag}>"))
            found.append((heading, text))
    return tuple(found)


HUMAN_EVALUATION = HumanEvaluation(sources=sources, texts=texts)
