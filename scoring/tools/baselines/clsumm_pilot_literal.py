"""On the page “The pilot, reproduced”: each system's printed figures, tuned baseline and literal one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoring.offline.evaluate import Scores
from scoring.tools.baselines.clsumm_literal import of_long_sentences, summary_by_weights
from scoring.tools.baselines.clsumm_scored import (
    NO_SUMMARY,
    PARTS,
    Scored,
    heads_of,
    number,
    prose,
    scored,
    table,
    values_of,
)
from scoring.tools.baselines.clsumm_spans import (
    CONTEXT,
    MQ_SENTENCES,
    THRESHOLDS,
    above,
    mq_context,
    mq_tfidf,
    mq_topics,
    paper_alone,
    taln,
    with_citances,
    with_citing_papers,
)
from scoring.tools.baselines.clsumm_summaries import mq_tfidf as summary_by_cosine
from scoring.tools.baselines.clsumm_summaries import summarised
from scoring.tools.baselines.clsumm_supervised import cited_sentences
from scoring.tools.baselines.clsumm_taln import NUMBERS, answers, section_shares, weighted_by
from tasks.types import CORRECTED, task_type
from tasks.types.clsumm.inputs import read_input_topics
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.clsumm.rules import OFFICIAL_2014

LITERAL = """
The baselines above read what the paper leaves open so that they come near its figures. Here they stand
beside those that do what it says, whose names end in `-literal`
([what differs](clsumm.md#the-pilots-systems-to-the-letter)). ROUGE-L precision, recall and F1,
means over citances, on the first version of the annotation.
"""
SECTIONS = """
TALN.UPF weighs a section by its share of the gold's sentences. A baseline takes the shares from the other
nine topics; “own gold too” takes them from all ten, as a team could that trained and ran on the same data.
The plain name takes three sentences; all numbers from one to five stand here.
"""
THRESHOLDED = """
clair_umich's threshold with document frequencies from the reference paper's sentences alone: precision,
recall and F1 of sentences, pooled over citances.
"""


def literal_systems(versions: Sequence[Scored], paper: Mapping[str, Any]) -> Iterator[str]:
    first = versions[0]
    yield "## The systems to the letter\n"
    yield prose(LITERAL)
    yield table(
        ["system", *heads_of("paper"), *heads_of("tuned"), *heads_of("literal")], list(_pairs(first, paper))
    )
    yield prose(SECTIONS)
    yield table(["sentences", *heads_of("other topics"), *heads_of("own gold too")], list(_numbers(first)))
    yield prose(THRESHOLDED)
    yield table(["threshold", *heads_of("paper"), *heads_of("literal")], list(_thresholds(first, paper)))
    yield "MQ's summary by TF.IDF, ROUGE-L F1 against the abstract, mean over topics:\n"
    printed = paper["table5_task2_rougeL_f1"]["TF.IDF"]["Average"]
    means = [_summary_mean(first, choose) for choose in (summary_by_cosine, summary_by_weights)]
    yield table(["system", "paper", "tuned", "literal"], [["TF.IDF", *map(number, (printed, *means))]])


def _pairs(own: Scored, paper: Mapping[str, Any]) -> Iterator[list[str]]:
    printed = paper["table6_task1a_MQ_rougeL"]
    systems = {
        "TF.IDF": (mq_tfidf, of_long_sentences(with_citances)),
        "topics": (mq_topics, of_long_sentences(with_citing_papers)),
        "context": (mq_context, of_long_sentences(with_citing_papers, context=CONTEXT)),
    }
    for name, choices in systems.items():
        cells = [value for choose in choices for value in _rouge(own.spans(choose))]
        yield [name, *_printed(printed[name]), *cells]
    literal = _rouge(_taln(own, MQ_SENTENCES))
    yield [
        "TALN.UPF",
        *_printed(paper["table2_task1a_rougeL"]["TALN.UPF"]),
        *_rouge(own.spans(taln)),
        *literal,
    ]


def _numbers(own: Scored) -> Iterator[list[str]]:
    cited = cited_sentences(own.files, own.version)
    shares = section_shares(own.topics, cited)
    for count in NUMBERS:
        yield [str(count), *_rouge(_taln(own, count)), *_rouge(own.spans(weighted_by(shares, count)))]


def _taln(own: Scored, count: int) -> Scores:
    given = answers(own.files, {ANNOTATION.name: own.version}, count=count)
    return scored(task_type("clsumm-1a"), own.gold, given, OFFICIAL_2014)


def _thresholds(own: Scored, paper: Mapping[str, Any]) -> Iterator[list[str]]:
    names = [f"overlap_{part}_micro" for part in PARTS]
    for threshold in THRESHOLDS:
        printed = _printed(paper["table7_clair_umich_threshold"][str(threshold)])
        found = own.spans(above(threshold, paper_alone), CORRECTED, names)
        yield [str(threshold), *printed, *values_of(found, names)]


def _summary_mean(own: Scored, summarize: Any) -> float:
    chosen = task_type("clsumm-2")
    split = chosen.read_gold(own.files, chosen.checked_options({}))
    topics = read_input_topics(own.files, {"annotation": "auto"})
    scores = scored(chosen, split, summarised(topics, summarize), OFFICIAL_2014)
    by_topic = scores.breakdowns["topic"]
    values = [
        float(own["rouge_l_f1.abstract"]["value"]) for name, own in by_topic.items() if name != NO_SUMMARY
    ]
    return sum(values) / len(values)


def _rouge(scores: Scores) -> list[str]:
    return values_of(scores, [f"rouge_l_{part}" for part in PARTS])


def _printed(figures: Mapping[str, float]) -> list[str]:
    return [number(figures[part]) for part in ("P", "R", "F1")]
