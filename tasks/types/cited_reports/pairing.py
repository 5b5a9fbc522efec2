"""Pair the topics and nuggets of the gold with the reports of a run and their
judgements.

Each topic has one row, followed by the rows of the topic's nuggets (expected facts).
The topic is the resampling unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tasks.types.base import (
    ALIKE,
    CONTEXT,
    CORRECTED,
    MISSED,
    RIGHT,
    WRONG,
    Options,
    Pairs,
    ShownInstance,
    Split,
    rows_by_name,
)
from tasks.types.cited_reports.checks import length_of
from tasks.types.cited_reports.judgements import (
    ASSIGNS,
    CREDITS,
    NO_LABEL,
    SUPPORTS,
    Judged,
    Judgements,
    Key,
    Rows,
    digest,
)
from tasks.types.cited_reports.options import max_citations
from tasks.types.cited_reports.reports import Citation, Report, Sentence
from tasks.types.cited_reports.runs import Run
from tasks.types.cited_reports.topics import (
    ALL_OF,
    Collection,
    Document,
    Nugget,
    NuggetOfTopic,
    Part,
    Topic,
)
from tasks.types.files import Files
from tasks.types.ledger import AskedItem, digest_of
from tasks.types.text import nfc

#: `DIMENSIONS` lists the dimensions of breakdowns in order.
DIMENSIONS = ("importance", "topic_kind", "sources_cited", "length")
#: OUT_OF_RANGE, NO_TEXT and MISSING replace the label of a citation without a label.
#: OUT_OF_RANGE means that the cited position exceeds the list of references.
#: NO_TEXT means that the document has no text, and MISSING that it was not judged.
OUT_OF_RANGE, NO_TEXT, MISSING = "out of range", "no text", "missing"
#: `NOT_SUPPORTED` is the label of a nugget (expected fact) that the report lacks.
NOT_SUPPORTED = "not_support"
_REPORT_LENGTH_CLASSES = (
    (100, "under 100 words"),
    (250, "100 to 249 words"),
    (500, "250 to 499 words"),
)
_SOURCE_COUNT_CLASSES = (
    (1, "no source"),
    (4, "1 to 3 sources"),
    (11, "4 to 10 sources"),
)
NOTES = (
    "missing_answers",
    "sentences",
    "uncited_sentences",
    "topics_without_citation",
    "citations_out_of_range",
    "citations_without_text",
    "citations_without_label",
    "nuggets_without_label",
    "missing_supports",
    "missing_assignments",
    "tied_labels",
)
_NOTE_OF_CITATION_LABEL = {
    OUT_OF_RANGE: "citations_out_of_range",
    NO_TEXT: "citations_without_text",
    NO_LABEL: "citations_without_label",
    MISSING: "missing_supports",
}


@dataclass(frozen=True)
class JudgedCitation:
    """A citation of a report and the label of the citation. If the citation has no
    label, ``label`` is OUT_OF_RANGE, NO_TEXT, NO_LABEL or MISSING. ``key`` contains the
    digests of sentence and document, and is empty if the pair cannot be judged.
    """

    citation: Citation
    label: str
    key: Key = ()

    @property
    def counts(self) -> bool:
        """Return True if the denominators of scores include the citation. Citations
        with NO_TEXT or NO_LABEL are left out of all scores.
        """
        return self.label not in (NO_TEXT, NO_LABEL)

    def credit(self, *, is_strict: bool = False) -> float:
        return credit_of(SUPPORTS, self.label, is_strict=is_strict)


def credit_of(kind: str, label: str, *, is_strict: bool) -> float:
    """Return the credit, from 0 to 1, of a judgement's label. Values that are not
    labels of the judgement's kind have a credit of 0.
    """
    credit = CREDITS[kind].get(label, 0.0)
    return float(credit == 1) if is_strict else credit


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence of a report with its judged citations. No document occurs in two
    citations of the sentence.
    """

    sentence: Sentence
    citations: tuple[JudgedCitation, ...]


@dataclass(frozen=True, kw_only=True)
class JudgedReport:
    """A run's report on a topic, with its judgements.

    ``report`` is None if the run does not answer the topic. ``is_assigned`` is True if
    assignments of the report exist. ``is_supported`` is True if the gold contains
    judgements of citations.
    """

    topic: Topic
    report: Report | None
    sentences: tuple[JudgedSentence, ...]
    is_assigned: bool
    is_supported: bool

    @property
    def citations(self) -> list[JudgedCitation]:
        return [
            citation for sentence in self.sentences for citation in sentence.citations
        ]


@dataclass(frozen=True, kw_only=True)
class JudgedNugget:
    """The labels of a nugget's parts for one report.

    ``keys`` contains for each label the digests of topic, nugget and report, or an
    empty key if the label does not come from a row with digests. ``of_vital`` is the
    number of vital nuggets in the topic, and ``of_all`` is the number of all nuggets.
    The numbers ``of_vital`` and ``of_all`` exclude nuggets without a valid label.
    """

    nugget: Nugget
    labels: tuple[str, ...]
    keys: tuple[Key, ...]
    is_answered: bool
    is_assigned: bool
    of_vital: int = 0
    of_all: int = 0

    @property
    def has_no_label(self) -> bool:
        """Return True if the judge gave no valid label for any part of the nugget. A
        nugget without a valid label affects no score.
        """
        return all(label == NO_LABEL for label in self.labels)

    @property
    def is_missing(self) -> bool:
        return MISSING in self.labels

    def credit(self, *, is_strict: bool = False) -> float:
        """Return the mean credit of the nugget's parts if the rule is ALL_OF, otherwise
        the highest credit of a part. Parts of the nugget with NO_LABEL are skipped.
        """
        earned = [
            credit_of(ASSIGNS, label, is_strict=is_strict)
            for label in self.labels
            if label != NO_LABEL
        ]
        if not earned:
            return 0.0
        return sum(earned) / len(earned) if self.nugget.rule == ALL_OF else max(earned)


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """Return a row for each topic, followed by rows for the topic's nuggets."""
    reader = _ReportJudgementReader(split.content, run, options)
    gold: list[Topic | NuggetOfTopic] = []
    answers: list[JudgedReport | JudgedNugget | None] = []
    features: list[Mapping[str, tuple[str, ...]]] = []
    names: list[str] = []
    answered: list[bool] = []
    notes = Counter(dict.fromkeys(NOTES, 0))
    for topic in split.content.topics.values():
        judged, nuggets = reader.judged(topic)
        has_any = judged.is_assigned or judged.report is not None
        classes = features_of(judged)
        gold += [topic, *(NuggetOfTopic(nugget.nugget, topic) for nugget in nuggets)]
        answers += [judged, *nuggets] if has_any else [None] * (1 + len(nuggets))
        features += [classes]
        features += [
            {**classes, "importance": (nugget.nugget.importance,)} for nugget in nuggets
        ]
        names += [topic.id] * (1 + len(nuggets))
        answered += [judged.report is not None] * (1 + len(nuggets))
        count_notes(judged, nuggets, notes)
        if judged.is_assigned or (rules == CORRECTED and judged.report):
            notes["missing_assignments"] += sum(nugget.is_missing for nugget in nuggets)
    judgements = split.content.judgements
    notes["tied_labels"] = judgements.of_nuggets.ties + judgements.of_citations.ties
    return Pairs(
        gold=gold,
        answers=answers,
        units=names,
        features={
            dimension: [classes.get(dimension, ()) for classes in features]
            for dimension in DIMENSIONS
        },
        names=names,
        notes=notes,
        answered=answered,
        pending=_count_missing_judgements(judgements, answers, notes),
    )


def _count_missing_judgements(
    judgements: Judgements,
    answers: Sequence[JudgedReport | JudgedNugget | None],
    notes: Mapping[str, int],
) -> int:
    """Return the number of missing judgements of the run. A kind of judgement, such as
    support, is not counted if the gold contains no judgement of this kind. Labels that
    the ledger of a site still lacks are not counted either.
    """
    nuggets = [answer for answer in answers if isinstance(answer, JudgedNugget)]
    pending = 0
    if ASSIGNS not in judgements.stored and judgements.assigns:
        pending = notes["missing_assignments"]
        if not any(nugget.is_assigned for nugget in nuggets):
            pending = len(nuggets)
    if SUPPORTS not in judgements.stored and judgements.supports:
        pending += notes["missing_supports"]
    return pending


def asked_items(split: Split, pairs: Pairs) -> Iterator[AskedItem]:
    """Yield each pair of a sentence and a document, and each nugget with a report, that
    a judge of a site's ledger labels. Labels from files need no judge.
    """
    stored = split.content.judgements.stored
    if SUPPORTS in stored:
        yield from _asked_citations(split.content, pairs.answers)
    if ASSIGNS in stored:
        yield from _asked_nuggets(pairs)


def _asked_citations(
    gold: Collection, answers: Sequence[object]
) -> Iterator[AskedItem]:
    known: set[Key] = set()
    for answer in answers:
        if not isinstance(answer, JudgedReport):
            continue
        for sentence in answer.sentences:
            for cited in sentence.citations:
                if cited.key and cited.key not in known:
                    known.add(cited.key)
                    item = _asked_citation(gold, sentence.sentence, cited)
                    yield item._replace(unit=answer.topic.id)


def _asked_citation(
    gold: Collection, sentence: Sentence, cited: JudgedCitation
) -> AskedItem:
    assert cited.citation.document is not None, "the pair has a document"
    document, *others = gold.documents[cited.citation.document].forms()
    return AskedItem(
        kind=SUPPORTS,
        texts=(sentence.text, document),
        others=tuple(
            f"{digest_of(sentence.text)} {digest_of(other)}" for other in others
        ),
        is_open=cited.label == MISSING,
    )


def _asked_nuggets(pairs: Pairs) -> Iterable[AskedItem]:
    """Return the nuggets of each topic that the run answers. If a nugget has several
    parts and no label as a whole, the judge is asked about each part.
    """
    asked: dict[tuple[str, ...], AskedItem] = {}
    report: Report | None = None
    for gold, answer in zip(pairs.gold, pairs.answers, strict=True):
        if isinstance(answer, JudgedReport):
            report = answer.report
        elif isinstance(answer, JudgedNugget) and report is not None:
            for item in _asked_parts(gold.topic, answer, report):
                # Equal nuggets of a topic are asked once, and stay open if one is open.
                if item.texts not in asked or item.is_open:
                    asked[item.texts] = item
    return asked.values()


def _asked_parts(
    topic: Topic, judged: JudgedNugget, report: Report
) -> Iterator[AskedItem]:
    nugget, text = judged.nugget, report.text
    whole = nugget.whole
    is_whole = len(judged.labels) < len(nugget.parts)
    asked = [whole] if is_whole else nugget.parts
    for part, label in zip(asked, judged.labels, strict=True):
        names = dict.fromkeys((part.shown, *whole.names, *part.names))
        first, *others = (
            (shown, name, text) for name in names for shown in topic.names
        )
        yield AskedItem(
            kind=ASSIGNS,
            texts=first,
            others=tuple(" ".join(map(digest_of, other)) for other in others),
            is_open=label == MISSING,
            unit=topic.id,
        )


class _ReportJudgementReader:
    def __init__(self, gold: Collection, run: Run, options: Options) -> None:
        self._gold, self._run = gold, run
        self._limit = max_citations(options)
        self._documents: dict[str, tuple[str, ...]] = {}
        named = (str(report.metadata.get("run_id") or "") for report in run.values())
        self._name = next(named, "")

    def judged(self, topic: Topic) -> tuple[JudgedReport, list[JudgedNugget]]:
        report = self._run.get(topic.id)
        if report is not None and not report.written:
            report = None
        rows = self._gold.judgements.of_nuggets
        assigned = _NuggetLabelReader(rows, topic, report, self._name)
        nuggets = []
        for nugget in topic.nuggets or ():
            found = assigned.labels(nugget)
            nuggets.append(
                JudgedNugget(
                    nugget=nugget,
                    labels=tuple(one.label for one in found),
                    keys=tuple(one.key for one in found),
                    is_answered=report is not None,
                    is_assigned=assigned.is_of_topic,
                )
            )
        is_assigned = assigned.is_of_topic or any(
            label != MISSING for nugget in nuggets for label in nugget.labels
        )
        counted = [nugget.nugget for nugget in nuggets if not nugget.has_no_label]
        of_vital = sum(nugget.is_vital for nugget in counted)
        nuggets = [
            replace(
                nugget, is_assigned=is_assigned, of_vital=of_vital, of_all=len(counted)
            )
            for nugget in nuggets
        ]
        sentences = tuple(map(self._judge_sentence, report.written)) if report else ()
        return (
            JudgedReport(
                topic=topic,
                report=report,
                sentences=sentences,
                is_assigned=is_assigned,
                is_supported=self._gold.judgements.has_supports,
            ),
            nuggets,
        )

    def _judge_sentence(self, sentence: Sentence) -> JudgedSentence:
        text = digest(sentence.text)
        cited = tuple(
            self._judge_citation(text, citation)
            for citation in chosen(sentence.citations, self._limit)
        )
        return JudgedSentence(sentence, cited)

    def _judge_citation(self, sentence: str, citation: Citation) -> JudgedCitation:
        if citation.document is None:
            return JudgedCitation(citation, OUT_OF_RANGE)
        if citation.document not in self._documents:
            document = self._gold.documents.get(citation.document, Document("", ""))
            self._documents[citation.document] = document.digests()
        if not (digests := self._documents[citation.document]):
            return JudgedCitation(citation, NO_TEXT)
        found = self._gold.judgements.support(sentence, digests)
        return JudgedCitation(citation, found.label or MISSING, found.key)


def chosen(citations: Sequence[Citation], limit: int | None) -> list[Citation]:
    """Return the citations of a sentence that are judged. Each document occurs once in
    the judged citations. Citations with scores are sorted by descending score.
    """
    once: dict[str, Citation] = {}
    for citation in citations:
        once.setdefault(citation.document or f"\0{citation.given}", citation)
    ordered = list(once.values())
    if any(citation.score is not None for citation in ordered):
        lowest = float("-inf")
        ordered.sort(
            key=lambda one: lowest if one.score is None else one.score, reverse=True
        )
    return ordered[:limit]


class _NuggetLabelReader:
    def __init__(
        self, rows: Rows, topic: Topic, report: Report | None, run: str
    ) -> None:
        self._labels = rows.labels
        by_nugget = rows.by_nugget.get((run, topic.id)) if run else None
        if by_nugget is None:
            by_nugget = rows.by_nugget.get(("", topic.id))
        self.is_of_topic = by_nugget is not None
        self._by_nugget = by_nugget or {}
        self._topics = [digest(name) for name in (topic.title, topic.id)]
        self._is_absent = report is None
        self._report = digest(report.text) if report else ""

    def labels(self, nugget: Nugget) -> tuple[Judged, ...]:
        """Return the label of the whole nugget if the nugget has a label, otherwise the
        labels of the parts.

        If the run has no report on the topic, the nugget is not supported, even if an
        assignment exists.
        """
        if self._is_absent and self.is_of_topic:
            return (Judged(NOT_SUPPORTED, ()),)
        whole = self._find_part_label(nugget.whole)
        if whole.label != MISSING:
            return (whole,)
        return tuple(map(self._find_part_label, nugget.parts))

    def _find_part_label(self, part: Part) -> Judged:
        for name in part.names:
            if name in self._by_nugget:
                return Judged(self._by_nugget[name], ())
        if self._labels and self._report:
            for name in part.names:
                nugget = digest(name)
                for topic in self._topics:
                    key = (topic, nugget, self._report)
                    if label := self._labels.get(key):
                        return Judged(label, key)
        return Judged(MISSING, ())


def features_of(judged: JudgedReport) -> dict[str, tuple[str, ...]]:
    """Return the class of a run's report in each dimension. Classes depend on the topic
    and the text of the report.
    """
    classes: dict[str, tuple[str, ...]] = {}
    if kind := judged.topic.kind:
        classes["topic_kind"] = (nfc(kind),)
    if judged.report:
        cited = {
            citation.document
            for sentence in judged.report.written
            for citation in sentence.citations
            if citation.document is not None
        }
        words = length_of(judged.report.text, "words")
        classes["sources_cited"] = (
            _name_count_class(len(cited), _SOURCE_COUNT_CLASSES, "over 10 sources"),
        )
        classes["length"] = (
            _name_count_class(words, _REPORT_LENGTH_CLASSES, "500 words or more"),
        )
    return classes


def _name_count_class(count: int, bounds: Sequence[tuple[int, str]], last: str) -> str:
    return next((name for bound, name in bounds if count < bound), last)


def count_notes(
    judged: JudgedReport, nuggets: Sequence[JudgedNugget], notes: Counter[str]
) -> None:
    """Add the counts of one report to the notes that boards show beside scores."""
    notes["missing_answers"] += judged.report is None
    notes["sentences"] += len(judged.sentences)
    cited = judged.citations
    notes["topics_without_citation"] += judged.report is not None and not cited
    for sentence in judged.sentences:
        notes["uncited_sentences"] += not sentence.sentence.citations
    for citation in cited:
        if note := _NOTE_OF_CITATION_LABEL.get(citation.label):
            notes[note] += 1
    notes["nuggets_without_label"] += sum(
        nugget.is_assigned and nugget.has_no_label for nugget in nuggets
    )


#: `_OUTCOME_OF_SUPPORT_LABEL` maps a sentence's best citation label to an outcome on pages.
#: `_OUTCOME_OF_NUGGET_LABEL` maps the label of a nugget to an outcome on pages.
_OUTCOME_OF_SUPPORT_LABEL = {
    "full": RIGHT,
    "partial": ALIKE,
    "none": WRONG,
    OUT_OF_RANGE: WRONG,
}
_OUTCOME_OF_NUGGET_LABEL = {
    "support": RIGHT,
    "partial_support": ALIKE,
    "not_support": MISSED,
}


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield for each topic the topic's text, the nuggets, and the report's sentences
    with citations. Judgements of nuggets and citations are included.
    """
    for name, rows in rows_by_name(pairs.names).items():
        topic: Topic = pairs.gold[rows[0]]
        judged, *nuggets = [pairs.answers[row] for row in rows]
        sentences = judged.report.sentences if judged and judged.report else ()
        outcomes = (
            [judged_sentence(sentence) for sentence in judged.sentences]
            if judged
            else []
        )
        if judged and judged.is_assigned:
            outcomes += map(judged_nugget, nuggets)
        yield ShownInstance(
            name=name,
            given=given_of(topic),
            gold="\n".join(map(nugget_line, topic.nuggets or ())),
            answer="\n".join(map(sentence_line, sentences)),
            judged=tuple(outcomes),
        )


def given_of(topic: Topic) -> str:
    return "\n".join(
        str(value) if key == "title" else f"{key}: {value}"
        for key, value in topic.shown.items()
    )


def nugget_line(nugget: Nugget) -> str:
    parts = [part.text for part in nugget.parts if part.text != nugget.text]
    joined = f" {f' {nugget.rule} '.join(parts)}" if parts else ""
    return f"{nugget.importance}: {nugget.text}{joined}"


def sentence_line(sentence: Sentence) -> str:
    cited = ", ".join(
        citation.document or citation.given for citation in sentence.citations
    )
    return f"{sentence.text} [{cited}]" if cited else sentence.text


def judged_sentence(judged: JudgedSentence) -> tuple[str, str]:
    """Return the outcome of a sentence, and the text of the sentence with the label of
    each citation.
    """
    cited = ", ".join(
        f"{citation.citation.document or citation.citation.given}: {citation.label}"
        for citation in judged.citations
    )
    best = max(judged.citations, key=JudgedCitation.credit, default=None)
    outcome = _OUTCOME_OF_SUPPORT_LABEL.get(best.label, CONTEXT) if best else CONTEXT
    text = judged.sentence.text
    return outcome, f"{text} [{cited}]" if cited else text


def judged_nugget(judged: JudgedNugget) -> tuple[str, str]:
    """Return the outcome of a nugget, and the text of the nugget with its labels."""
    outcome = _OUTCOME_OF_NUGGET_LABEL.get(judged.labels[0], CONTEXT)
    return outcome, f"{nugget_line(judged.nugget)} [{', '.join(judged.labels)}]"
