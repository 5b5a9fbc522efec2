"""What CL-Summ topics consist of: how many sentences a citance refers to, how long papers are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, pstdev
from typing import Any

from scoring.metrics.discourse.sentences import sentence_spans
from tasks.types.clsumm.citances import Annotation, merged_facets, named_sentences, spans
from tasks.types.clsumm.features import publication_year
from tasks.types.clsumm.inputs import InputCitance, InputTopic
from tasks.types.clsumm.topics import Topic


def statistics(inputs: Sequence[InputTopic], gold: Sequence[Topic]) -> dict[str, Any]:
    """Counts of all topics, and of the annotation where there is gold.

    A citing sentence is one of the citance's in its paper, or of its text where the annotation gives no
    sentences. With several annotators each one's citance counts; citing sentences then are not compared.
    """
    citing = [sum(map(_citing_sentences, topic.citances)) for topic in inputs]
    facts: dict[str, Any] = {
        "topics": len(inputs),
        "reference_sentences": _spread([len(topic.sentences) for topic in inputs]),
        "citing_papers": _spread([len({c.name.citing for c in topic.citances}) for topic in inputs]),
        "citances": _spread([len(topic.citances) for topic in inputs]),
        "citing_sentences": sum(citing),
        "years_of_citing_papers": _spread(list(map(_years_apart, inputs))),
    }
    annotated = [(topic, citance) for topic in gold for file in topic.files for citance in file.citances]
    if not annotated:
        return facts
    counts = [len(named_sentences(citance)) for _, citance in annotated]
    by_one = sum(citing) if all(len(topic.files) == 1 for topic in gold) else 0
    return {
        **facts,
        "annotated_citances": len(annotated),
        "sentences_a_citance": _spread(counts),
        "sentences_a_citing_sentence": sum(counts) / by_one if by_one else None,
        "spans_a_citance": _spread([_spans(*pair) for pair in annotated]),
        "citances_by_sentences": dict(sorted(Counter(counts).items())),
        "citances_by_facet": dict(
            sorted(
                Counter(facet for _, citance in annotated for facet in merged_facets(citance.facets)).items()
            )
        ),
        "annotators": _spread([len(topic.files) for topic in gold]),
    }


def statistics_rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What each count is called, and the count."""
    for name, value in facts.items():
        shown = name.replace("_", " ")
        if value is None:
            yield shown, ""
        elif isinstance(value, dict) and "mean" in value:
            told = f"mean {value['mean']:.2f}, standard deviation {value['deviation']:.2f}"
            yield shown, f"{value['sum']:,}; {told}, {value['least']:,} to {value['most']:,}"
        elif isinstance(value, dict):
            yield shown, ", ".join(f"{key}: {count:,}" for key, count in value.items())
        else:
            yield shown, f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def _spread(counts: Sequence[int | None]) -> dict[str, float | int] | None:
    """Of what is known; None where nothing is."""
    known = [count for count in counts if count is not None]
    if not known:
        return None
    sums = {"sum": sum(known), "mean": fmean(known), "deviation": pstdev(known)}
    return {**sums, "least": min(known), "most": max(known)}


def _citing_sentences(citance: InputCitance) -> int:
    return len(citance.offsets) or max(1, sum(1 for _ in sentence_spans(citance.text)))


def _years_apart(topic: InputTopic) -> int | None:
    """From the first to the last citing paper, where their ACL Anthology ids tell."""
    found = [publication_year(citance.name.citing) for citance in topic.citances]
    years = [year for year in found if year is not None]
    return max(years) - min(years) if years else None


def _spans(topic: Topic, citance: Annotation) -> int:
    return spans(named_sentences(citance), topic.order)
