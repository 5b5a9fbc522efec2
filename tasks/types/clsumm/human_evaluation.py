"""What people read who judge summaries: the citances, and the paper section by section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from tasks.types.clsumm.inputs import InputTopic, read_input_topics
from tasks.types.clsumm.summaryruns import SummaryRun
from tasks.types.files import InputFile
from tasks.types.human_evaluation import HumanEvaluation, Sources
from tasks.types.text import decoded


def sources(files: Sequence[InputFile]) -> Mapping[str, Sources]:
    """By topic, from the public inputs, which hold no summary."""
    topics = read_input_topics(files, {"annotation": "auto"}, with_papers_alone=True)
    return {topic.name: tuple(_sources(topic)) for topic in topics}


def texts(run: SummaryRun) -> Mapping[str, str]:
    return {name: decoded(summary.raw).strip() for name, summary in run.summaries.items()}


def _sources(topic: InputTopic) -> Iterator[tuple[str, str]]:
    if topic.citances:
        yield "What later papers say where they cite it", "\n\n".join(own.text for own in topic.citances)
    for section, sentences in groupby(topic.sentences, key=lambda sentence: sentence.section):
        yield section or "Without a heading", " ".join(sentence.text for sentence in sentences)


HUMAN_EVALUATION = HumanEvaluation(sources=sources, texts=texts)
