"""The page “The pilot, reproduced”: the numbers of the pilot's tables beside those of the baselines.

Jaidka et al. 2014, tables 1 to 7. The paper's own numbers are read from a file; ours are computed through the
offline scorer under `official-2014`.
"""

import io
import json
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from scoring.metrics.base import f1_of_counts, ratio
from scoring.offline.evaluate import Resampling, Scores, evaluate
from scoring.papers.clsumm_literal import (
    NUMBERS,
    of_long_sentences,
    section_shares,
    summary_by_weights,
    taln_answers,
    weighted_by,
)
from scoring.tools.baselines.clsumm import (
    CONTEXT,
    MQ_SENTENCES,
    THRESHOLDS,
    Choice,
    Summarizer,
    above,
    answered,
    lead,
    mq_context,
    mq_mmr,
    mq_mmr_ranks,
    mq_ranks,
    mq_summary_tfidf,
    mq_tfidf,
    mq_topics,
    paper_alone,
    summarised,
    taln,
    with_citances,
    with_citing_papers,
)
from scoring.tools.baselines.clsumm_facets import CLASSIFIERS, LEMMAS, FacetPair, facet_pairs, facets_by
from scoring.tools.baselines.clsumm_supervised import PARSER, WORDNET, cited_sentences, features_missing
from scoring.tools.baselines.clsumm_supervised import answers as supervised_answers
from tasks.types import CORRECTED, Split, TaskType, task_type
from tasks.types.baselines import Answer
from tasks.types.clsumm.citances import FACETS, MAJORITY
from tasks.types.clsumm.options import ANNOTATION, OFFICIAL_2014
from tasks.types.clsumm.topics import InputTopic, read_input_topics
from tasks.types.files import InputFile
from tasks.types.runs import read_run

#: The annotation that is nearest to what the pilot's participants had, and the one released last.
VERSIONS = ("annv2", "annv3")
SPAN_SYSTEMS = {"TF.IDF": mq_tfidf, "topics": mq_topics, "context": mq_context, "MMR": mq_mmr}
SUMMARIZERS = {
    "TF.IDF": mq_summary_tfidf,
    "Task 1A TF.IDF": mq_ranks,
    "Task 1A MMR": mq_mmr_ranks,
}
#: The paper leaves this topic out of its table of summaries.
NO_SUMMARY = "X96-1048"
PARTS = ("precision", "recall", "f1")
ROUGE = [f"rouge_l_{part}" for part in PARTS]
OVERLAP = [f"overlap_{part}_micro" for part in PARTS]
WIDTH = 110
FOLDS = 10
#: The folds of each protocol hold whole groups of pairs, or are random.
PROTOCOLS: Mapping[str, Callable[[FacetPair], str] | None] = {
    "random folds, as published": None,
    "folds by sentence": lambda pair: pair.sentence,
    "folds by topic": lambda pair: pair.topic,
}
PUBLISHED = next(iter(PROTOCOLS))

TITLE = "# The pilot, reproduced"
INTRODUCTION = """
The Computational Linguistics Summarization Pilot Task (Jaidka et al. 2014, TAC) printed seven tables.
Here each of their numbers stands beside the one that the built-in baselines give today.
"""
COMMAND = """
    python -m scoring papers pilot --gold PILOT --paper TABLES --out pilot.md
"""
EXPLANATION = """
writes this page; PILOT is the folder of the ten pilot topics and TABLES the paper's tables as JSON. Two
versions of the annotation are scored: `annv2`, which is nearest to what the participants had (they
worked with ranges of characters that fit no released text), and `annv3`, which was released last. ROUGE
is that of the rules `official-2014`; the paper names no options. Near is what can be hoped for: the
systems are described in a paragraph each, and the annotation has changed since.
"""
BY_TOPIC = """
ROUGE-L F1. The paper's column MQ is its run “context”. Our column for clair_umich is a classifier
trained on the other nine topics{missing}; how theirs was trained and chosen the paper does not say.
"""
SWEEP = """
Precision, recall and F1 of sentences, pooled over citances. The paper's recall at 0.4 does not fit its
F1 and its column; a tenth of it does.
"""
PROTOCOL = f"""
F1 weighted by support. The paper's folds are random over pairs of citance and sentence; a sentence that
several citances cite is then trained on and tested on. Folds by sentence and by topic do not leak, and
hardly anything is left over the line to beat, which is to answer “{MAJORITY}” always. These are numbers
of an experiment, not scores of a run: they stand on no board.
"""
SUMMARIES = f"""
ROUGE-L F1 against the paper's abstract, which is what the published numbers fit; the mean leaves out
{NO_SUMMARY}, as the paper does. “Lead” is the paper's first 250 words, which in this corpus begin with
the abstract.
"""


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


@dataclass(frozen=True, kw_only=True)
class FacetReport:
    """A classifier in a protocol: precision, recall, F1 and support by facet, and the mean F1 by support."""

    classifier: str
    protocol: str
    facets: Mapping[str, tuple[float, float, float, int]]
    weighted_f1: float


def facet_reports(pairs: Sequence[FacetPair], of: str = LEMMAS) -> Iterator[FacetReport]:
    """Every classifier cross-validated in every protocol, then the line to beat, the same in each.

    Ten random folds, as the paper has them, train on what they test, since a sentence that several citances
    cite is several pairs. These numbers are no scores of a run and stand in no column with any.
    """
    from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut

    gold = [pair.facet for pair in pairs]
    texts = np.array([pair.text for pair in pairs], dtype=object)
    facets = np.array(gold, dtype=object)
    for protocol, group in PROTOCOLS.items():
        groups = [group(pair) for pair in pairs] if group else None
        if groups is None:
            folds: Any = KFold(FOLDS, shuffle=True, random_state=0)
        else:
            folds = LeaveOneGroupOut() if len(set(groups)) <= FOLDS else GroupKFold(FOLDS)
        splits = list(folds.split(np.arange(len(pairs)), groups=groups))
        for classifier in CLASSIFIERS:
            predicted = np.empty(len(pairs), dtype=object)
            for train, test in splits:
                learned = texts[train].tolist(), facets[train].tolist()
                predicted[test] = facets_by(classifier, *learned, texts[test].tolist(), of)
            yield report(classifier, protocol, gold, [str(facet) for facet in predicted])
    yield report(f"always {MAJORITY}", "", gold, [MAJORITY] * len(gold))


def report(classifier: str, protocol: str, gold: Sequence[str], predicted: Sequence[str]) -> FacetReport:
    """What a classifier is worth by facet; a facet that the gold does not have weighs nothing."""
    right = Counter(wanted for wanted, facet in zip(gold, predicted, strict=True) if wanted == facet)
    counts = [[counter[facet] for facet in FACETS] for counter in (right, Counter(predicted), Counter(gold))]
    hits, chosen, support = np.array(counts, dtype=np.float64)
    precision, recall = ratio(hits, chosen), ratio(hits, support)
    f1 = f1_of_counts(hits, chosen, support)
    return FacetReport(
        classifier=classifier,
        protocol=protocol,
        facets={
            facet: (float(precision[row]), float(recall[row]), float(f1[row]), int(support[row]))
            for row, facet in enumerate(FACETS)
        },
        weighted_f1=float(ratio((f1 * support).sum(), support.sum())),
    )


@dataclass(frozen=True)
class Scored:
    files: Sequence[InputFile]
    version: str

    @cached_property
    def topics(self) -> list[InputTopic]:
        return read_input_topics(self.files, {"annotation": self.version})

    @cached_property
    def gold(self) -> Split:
        chosen = task_type("clsumm-1a")
        return chosen.read_gold(self.files, chosen.checked_options({"annotation": self.version}))

    def spans(self, choose: Choice, rules: str = OFFICIAL_2014, only: Sequence[str] = ()) -> Scores:
        task = task_type("clsumm-1a")
        wanted = tuple(metric for metric in task.rules[rules] if not only or metric.name in only)
        chosen = replace(task, rules={rules: wanted})
        return scored(chosen, self.gold, answered(self.topics, choose), rules)

    def of_answers(self, answers: Iterator[Answer]) -> Scores:
        return scored(task_type("clsumm-1a"), self.gold, answers, OFFICIAL_2014)

    @cached_property
    def facets(self) -> dict[tuple[str, str], FacetReport]:
        reports = facet_reports(facet_pairs(self.gold.content))
        return {(report.protocol, report.classifier): report for report in reports}


def scored(chosen: TaskType, split: Split, answers: Iterator[Answer], rules: str) -> Scores:
    options = chosen.checked_options({})
    lines = "".join(json.dumps(answer) + "\n" for answer in answers).encode()
    file = InputFile("run.jsonl", "run.jsonl", lambda: io.BytesIO(lines))
    run, _ = read_run(chosen, [file], split.index, options)
    pairs = chosen.pair(split, run, rules, options)
    return evaluate(
        chosen, pairs, rules=rules, options=options, gold=split.digest, resampling=Resampling(resamples=0)
    )


def pilot_page(files: Sequence[InputFile], paper: Mapping[str, Any]) -> str:
    versions = [Scored(files, version) for version in VERSIONS]
    sections = [
        f"{TITLE}\n",
        prose(INTRODUCTION),
        COMMAND.lstrip("\n"),
        prose(EXPLANATION),
        *_facet_counts(versions, paper["table1_facet_sentences"]),
        *_mq_systems(versions, paper["table6_task1a_MQ_rougeL"]),
        *_per_topic(versions, paper),
        *_thresholds(versions, paper["table7_clair_umich_threshold"]),
        *_classifiers(versions, paper["table4_task1b_f1"]),
        *_summaries(files, paper["table5_task2_rougeL_f1"]),
        *_literal_systems(versions[0], paper),
    ]
    return "\n".join(sections)


def _facet_counts(versions: Sequence[Scored], paper: Mapping[str, int]) -> Iterator[str]:
    yield "## Table 1: cited sentences by facet\n"
    counts = [Counter(pair.facet for pair in facet_pairs(version.gold.content)) for version in versions]
    rows = [[facet, str(paper[facet]), *(str(count[facet]) for count in counts)] for facet in FACETS]
    rows.append(["total", str(paper["total"]), *(str(count.total()) for count in counts)])
    yield table(["facet", "paper", *VERSIONS], rows)


def _mq_systems(versions: Sequence[Scored], paper: Mapping[str, Any]) -> Iterator[str]:
    yield "## Table 6: MQ's systems for task 1A\n"
    yield "ROUGE-L precision, recall and F1, means over citances.\n"
    rows = [
        [name, *_printed(paper[name]), *(v for one in versions for v in values_of(one.spans(choose), ROUGE))]
        for name, choose in SPAN_SYSTEMS.items()
    ]
    yield table(["system", *heads_of("paper", *VERSIONS)], rows)


def _per_topic(versions: Sequence[Scored], paper: Mapping[str, Any]) -> Iterator[str]:
    yield "## Tables 2 and 3: task 1A by topic\n"
    missing = features_missing({WORDNET.name: WORDNET.default, PARSER.name: PARSER.default})
    yield prose(BY_TOPIC.format(missing=f", {missing}" if missing else ""))
    published = paper["table3_task1a_rougeL_f1"]
    means = {team: float(means["F1"]) for team, means in paper["table2_task1a_rougeL"].items()}
    means["MQ"] = float(paper["table6_task1a_MQ_rougeL"]["context"]["F1"])
    ours = {
        "MQ": [version.spans(mq_context) for version in versions],
        "clair_umich": [
            version.of_answers(supervised_answers(version.files, {ANNOTATION.name: version.version}))
            for version in versions
        ],
        "TALN.UPF": [version.spans(taln) for version in versions],
    }
    heads, last = ["topic"], ["mean over citances"]
    rows = {topic: [topic] for topic in published["MQ"]}
    for team, scores in ours.items():
        heads += [f"{team} paper", *(f"{team} {version}" for version in VERSIONS)]
        last += [number(means[team]), *(values_of(one, ["rouge_l_f1"])[0] for one in scores)]
        for topic, row in rows.items():
            values = (one.breakdowns["topic"][topic]["rouge_l_f1"]["value"] for one in scores)
            row.extend(map(number, (published[team][topic], *values)))
    yield table(heads, [*rows.values(), last])


def _thresholds(versions: Sequence[Scored], paper: Mapping[str, Any]) -> Iterator[str]:
    yield "## Table 7: clair_umich's threshold on the cosine\n"
    yield prose(SWEEP)
    rows = [
        [
            *(str(threshold), *_printed(paper[str(threshold)])),
            *(
                v
                for one in versions
                for v in values_of(one.spans(above(threshold), CORRECTED, OVERLAP), OVERLAP)
            ),
        ]
        for threshold in THRESHOLDS
    ]
    yield table(["threshold", *heads_of("paper", *VERSIONS)], rows)


def _classifiers(versions: Sequence[Scored], paper: Mapping[str, Any]) -> Iterator[str]:
    yield "## Table 4: facets\n"
    yield prose(PROTOCOL)
    rows = []
    for protocol in PROTOCOLS:
        for classifier in CLASSIFIERS:
            published = paper[classifier]["weighted"] if protocol == PUBLISHED else None
            values = [one.facets[protocol, classifier].weighted_f1 for one in versions]
            rows.append([f"{classifier}, {protocol}", *map(number, (published, *values))])
    line = f"always {MAJORITY}"
    rows.append([line, *map(number, (None, *(one.facets["", line].weighted_f1 for one in versions)))])
    yield table(["classifier and protocol", "paper", *VERSIONS], rows)
    yield "By facet, random folds as published:\n"
    rows = []
    for classifier in CLASSIFIERS:
        for facet in FACETS:
            values = [one.facets[PUBLISHED, classifier].facets[facet][2] for one in versions]
            rows.append([f"{classifier}, {facet}", *map(number, (paper[classifier][facet], *values))])
    yield table(["classifier and facet", "paper", *VERSIONS], rows)


def _summaries(files: Sequence[InputFile], paper: Mapping[str, Any]) -> Iterator[str]:
    yield "## Table 5: MQ's summaries\n"
    yield prose(SUMMARIES)
    by_topic = {name: summary_scores(files, system) for name, system in {**SUMMARIZERS, "Lead": lead}.items()}
    rows = [
        [
            topic,
            *(c for name in SUMMARIZERS for c in map(number, (paper[name][topic], by_topic[name][topic]))),
            number(by_topic["Lead"][topic]),
        ]
        for topic in by_topic["Lead"]
    ]
    means = {name: _mean(values) for name, values in by_topic.items()}
    cells = [c for name in SUMMARIZERS for c in map(number, (paper[name]["Average"], means[name]))]
    rows.append(["mean over topics", *cells, number(means["Lead"])])
    heads = [head for name in SUMMARIZERS for head in (f"{name} paper", f"{name} ours")]
    yield table(["topic", *heads, "Lead ours"], rows)


def summary_scores(files: Sequence[InputFile], summarize: Summarizer) -> dict[str, float]:
    chosen = task_type("clsumm-2")
    split = chosen.read_gold(files, chosen.checked_options({}))
    topics = read_input_topics(files, {"annotation": "auto"})
    by_topic = scored(chosen, split, summarised(topics, summarize), OFFICIAL_2014).breakdowns["topic"]
    return {
        topic: float(row["rouge_l_f1.abstract"]["value"])
        for topic, row in by_topic.items()
        if topic != NO_SUMMARY
    }


def _literal_systems(one: Scored, paper: Mapping[str, Any]) -> Iterator[str]:
    yield "## The systems to the letter\n"
    yield prose(LITERAL)
    printed = paper["table6_task1a_MQ_rougeL"]
    literal = {
        "TF.IDF": of_long_sentences(with_citances),
        "topics": of_long_sentences(with_citing_papers),
        "context": of_long_sentences(with_citing_papers, context=CONTEXT),
    }
    rows = [
        [name, *_printed(printed[name]), *_rouge(one.spans(SPAN_SYSTEMS[name])), *_rouge(one.spans(choose))]
        for name, choose in literal.items()
    ]
    by_count = {
        count: _rouge(one.of_answers(taln_answers(one.files, {ANNOTATION.name: one.version}, count=count)))
        for count in NUMBERS
    }
    published = _printed(paper["table2_task1a_rougeL"]["TALN.UPF"])
    rows.append(["TALN.UPF", *published, *_rouge(one.spans(taln)), *by_count[MQ_SENTENCES]])
    yield table(["system", *heads_of("paper", "tuned", "literal")], rows)
    yield prose(SECTIONS)
    shares = section_shares(one.topics, cited_sentences(one.files, one.version))
    rows = [
        [str(count), *values, *_rouge(one.spans(weighted_by(shares, count)))]
        for count, values in by_count.items()
    ]
    yield table(["sentences", *heads_of("other topics", "own gold too")], rows)
    yield prose(THRESHOLDED)
    rows = []
    for threshold in THRESHOLDS:
        figures = _printed(paper["table7_clair_umich_threshold"][str(threshold)])
        scores = one.spans(above(threshold, paper_alone), CORRECTED, OVERLAP)
        rows.append([str(threshold), *figures, *values_of(scores, OVERLAP)])
    yield table(["threshold", *heads_of("paper", "literal")], rows)
    yield "MQ's summary by TF.IDF, ROUGE-L F1 against the abstract, mean over topics:\n"
    systems = (mq_summary_tfidf, summary_by_weights)
    means = [_mean(summary_scores(one.files, summarize)) for summarize in systems]
    average = paper["table5_task2_rougeL_f1"]["TF.IDF"]["Average"]
    yield table(["system", "paper", "tuned", "literal"], [["TF.IDF", *map(number, (average, *means))]])


def _mean(by_topic: Mapping[str, float]) -> float:
    return sum(by_topic.values()) / len(by_topic)


def _rouge(scores: Scores) -> list[str]:
    return values_of(scores, ROUGE)


def _printed(figures: Mapping[str, float]) -> list[str]:
    return [number(figures[part]) for part in ("P", "R", "F1")]


def prose(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH, break_on_hyphens=False, break_long_words=False) + "\n"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *("---:" for _ in header[1:])]
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def values_of(scores: Scores, names: Sequence[str]) -> list[str]:
    return [number(scores.metrics[name].value) for name in names]


def heads_of(*sources: str) -> list[str]:
    return [f"{source} {part}" for source in sources for part in ("P", "R", "F1")]
