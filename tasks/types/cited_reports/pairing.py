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
    ALIKE_OUTCOME,
    CONTEXT_OUTCOME,
    CORRECTED,
    MISSED_OUTCOME,
    RIGHT_OUTCOME,
    WRONG_OUTCOME,
    Options,
    Pairs,
    ShownInstance,
    Split,
    group_row_numbers_by_instance,
)
from tasks.types.cited_reports.checks import count_words_or_characters
from tasks.types.cited_reports.judgements import (
    ASSIGNS_KIND,
    LABEL_CREDITS_BY_KIND,
    NO_VALID_LABEL,
    SUPPORTS_KIND,
    JudgementKey,
    JudgementsOfKind,
    LabelWithKey,
    NuggetAndCitationJudgements,
    compute_prefixed_text_digest,
)
from tasks.types.cited_reports.options import max_citations
from tasks.types.cited_reports.reports import (
    CitedReport,
    ReportCitation,
    ReportSentence,
)
from tasks.types.cited_reports.runs import ReportsByTopic
from tasks.types.cited_reports.topics import (
    ALL_OF_RULE,
    CollectionDocument,
    JudgedNuggetPart,
    Nugget,
    NuggetOfTopic,
    ReportCollection,
    ReportTopic,
)
from tasks.types.files import Files
from tasks.types.ledger import ItemToJudge, compute_text_digest
from tasks.types.text import normalise_to_nfc

#: `DIMENSIONS` lists the dimensions of breakdowns in order.
DIMENSIONS = ("importance", "topic_kind", "sources_cited", "length")
#: The three following values replace the label of a citation without a label.
#: OUT_OF_RANGE_CITATION means that the cited position exceeds the list of references.
#: CITED_DOCUMENT_WITHOUT_TEXT means that the document has no text, MISSING_JUDGEMENT that it was not judged.
OUT_OF_RANGE_CITATION, CITED_DOCUMENT_WITHOUT_TEXT, MISSING_JUDGEMENT = (
    "out of range",
    "no text",
    "missing",
)
#: `NOT_SUPPORTED_LABEL` is the label of a nugget (expected fact) that the report lacks.
NOT_SUPPORTED_LABEL = "not_support"
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
NOTE_NAMES = (
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
    OUT_OF_RANGE_CITATION: "citations_out_of_range",
    CITED_DOCUMENT_WITHOUT_TEXT: "citations_without_text",
    NO_VALID_LABEL: "citations_without_label",
    MISSING_JUDGEMENT: "missing_supports",
}


@dataclass(frozen=True)
class JudgedCitation:
    """A citation of a report and the label of the citation. If the citation has no
    label, ``label`` is OUT_OF_RANGE_CITATION, CITED_DOCUMENT_WITHOUT_TEXT,
    NO_VALID_LABEL or MISSING_JUDGEMENT. ``key`` contains the digests of sentence and
    document, and is empty if the pair cannot be judged.
    """

    citation: ReportCitation
    label: str
    key: JudgementKey = ()

    @property
    def counts(self) -> bool:
        """Return True if the denominators of scores include the citation. Citations
        with CITED_DOCUMENT_WITHOUT_TEXT or NO_VALID_LABEL are left out of all scores.
        """
        return self.label not in (CITED_DOCUMENT_WITHOUT_TEXT, NO_VALID_LABEL)

    def credit(self, *, is_strict: bool = False) -> float:
        return get_label_credit(SUPPORTS_KIND, self.label, is_strict=is_strict)


def get_label_credit(kind: str, label: str, *, is_strict: bool) -> float:
    """Return the credit, from 0 to 1, of a judgement's label. Values that are not
    labels of the judgement's kind have a credit of 0.
    """
    credit = LABEL_CREDITS_BY_KIND[kind].get(label, 0.0)
    return float(credit == 1) if is_strict else credit


@dataclass(frozen=True)
class JudgedSentence:
    """A sentence of a report with its judged citations. No document occurs in two
    citations of the sentence.
    """

    sentence: ReportSentence
    citations: tuple[JudgedCitation, ...]


@dataclass(frozen=True, kw_only=True)
class JudgedReport:
    """A run's report on a topic, with its judgements.

    ``report`` is None if the run does not answer the topic. ``is_assigned`` is True if
    assignments of the report exist. ``is_supported`` is True if the gold contains
    judgements of citations.
    """

    topic: ReportTopic
    report: CitedReport | None
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
    keys: tuple[JudgementKey, ...]
    is_answered: bool
    is_assigned: bool
    of_vital: int = 0
    of_all: int = 0

    @property
    def has_no_valid_label(self) -> bool:
        """Return True if the judge gave no valid label for any part of the nugget. A
        nugget without a valid label affects no score.
        """
        return all(label == NO_VALID_LABEL for label in self.labels)

    @property
    def has_missing_judgement(self) -> bool:
        return MISSING_JUDGEMENT in self.labels

    def credit(self, *, is_strict: bool = False) -> float:
        """Return the mean credit of the nugget's parts if the rule is ALL_OF_RULE, otherwise
        the highest credit of a part. Parts of the nugget with NO_VALID_LABEL are skipped.
        """
        earned = [
            get_label_credit(ASSIGNS_KIND, label, is_strict=is_strict)
            for label in self.labels
            if label != NO_VALID_LABEL
        ]
        if not earned:
            return 0.0
        return (
            sum(earned) / len(earned)
            if self.nugget.rule == ALL_OF_RULE
            else max(earned)
        )


def pair(split: Split, run: ReportsByTopic, rules: str, options: Options) -> Pairs:
    """Return a row for each topic, followed by rows for the topic's nuggets."""
    reader = _ReportJudgementReader(split.content, run, options)
    gold: list[ReportTopic | NuggetOfTopic] = []
    answers: list[JudgedReport | JudgedNugget | None] = []
    features: list[Mapping[str, tuple[str, ...]]] = []
    names: list[str] = []
    answered: list[bool] = []
    notes = Counter(dict.fromkeys(NOTE_NAMES, 0))
    for topic in split.content.topics.values():
        judged, nuggets = reader.judged(topic)
        has_any = judged.is_assigned or judged.report is not None
        classes = classify_report(judged)
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
            notes["missing_assignments"] += sum(
                nugget.has_missing_judgement for nugget in nuggets
            )
    judgements = split.content.judgements
    notes["tied_labels"] = (
        judgements.nugget_judgements.ties + judgements.citation_judgements.ties
    )
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
    judgements: NuggetAndCitationJudgements,
    answers: Sequence[JudgedReport | JudgedNugget | None],
    notes: Mapping[str, int],
) -> int:
    """Return the number of missing judgements of the run. A kind of judgement, such as
    support, is not counted if the gold contains no judgement of this kind. Labels that
    the ledger of a site still lacks are not counted either.
    """
    nuggets = [answer for answer in answers if isinstance(answer, JudgedNugget)]
    pending = 0
    if ASSIGNS_KIND not in judgements.stored and judgements.assigns:
        pending = notes["missing_assignments"]
        if not any(nugget.is_assigned for nugget in nuggets):
            pending = len(nuggets)
    if SUPPORTS_KIND not in judgements.stored and judgements.supports:
        pending += notes["missing_supports"]
    return pending


def asked_items(split: Split, pairs: Pairs) -> Iterator[ItemToJudge]:
    """Yield each pair of a sentence and a document, and each nugget with a report, that
    a judge of a site's ledger labels. Labels from files need no judge.
    """
    stored = split.content.judgements.stored
    if SUPPORTS_KIND in stored:
        yield from _iterate_asked_citations(split.content, pairs.answers)
    if ASSIGNS_KIND in stored:
        yield from _iterate_asked_nuggets(pairs)


def _iterate_asked_citations(
    gold: ReportCollection, answers: Sequence[object]
) -> Iterator[ItemToJudge]:
    known: set[JudgementKey] = set()
    for answer in answers:
        if not isinstance(answer, JudgedReport):
            continue
        for sentence in answer.sentences:
            for cited in sentence.citations:
                if cited.key and cited.key not in known:
                    known.add(cited.key)
                    item = _make_asked_citation(gold, sentence.sentence, cited)
                    yield item._replace(unit=answer.topic.id)


def _make_asked_citation(
    gold: ReportCollection, sentence: ReportSentence, cited: JudgedCitation
) -> ItemToJudge:
    assert cited.citation.document is not None, "the pair has a document"
    document, *others = gold.documents[
        cited.citation.document
    ].list_forms_seen_by_judges()
    return ItemToJudge(
        kind=SUPPORTS_KIND,
        texts=(sentence.text, document),
        others=tuple(
            f"{compute_text_digest(sentence.text)} {compute_text_digest(other)}"
            for other in others
        ),
        is_open=cited.label == MISSING_JUDGEMENT,
    )


def _iterate_asked_nuggets(pairs: Pairs) -> Iterable[ItemToJudge]:
    """Return the nuggets of each topic that the run answers. If a nugget has several
    parts and no label as a whole, the judge is asked about each part.
    """
    asked: dict[tuple[str, ...], ItemToJudge] = {}
    report: CitedReport | None = None
    for gold, answer in zip(pairs.gold, pairs.answers, strict=True):
        if isinstance(answer, JudgedReport):
            report = answer.report
        elif isinstance(answer, JudgedNugget) and report is not None:
            for item in _iterate_asked_parts_of_nugget(gold.topic, answer, report):
                # Equal nuggets of a topic are asked once, and stay open if one is open.
                if item.texts not in asked or item.is_open:
                    asked[item.texts] = item
    return asked.values()


def _iterate_asked_parts_of_nugget(
    topic: ReportTopic, judged: JudgedNugget, report: CitedReport
) -> Iterator[ItemToJudge]:
    nugget, text = judged.nugget, report.text
    whole = nugget.whole_nugget_part
    is_whole = len(judged.labels) < len(nugget.parts)
    asked = [whole] if is_whole else nugget.parts
    for part, label in zip(asked, judged.labels, strict=True):
        names = dict.fromkeys((part.shown, *whole.names, *part.names))
        first, *others = (
            (shown, name, text) for name in names for shown in topic.names
        )
        yield ItemToJudge(
            kind=ASSIGNS_KIND,
            texts=first,
            others=tuple(" ".join(map(compute_text_digest, other)) for other in others),
            is_open=label == MISSING_JUDGEMENT,
            unit=topic.id,
        )


class _ReportJudgementReader:
    def __init__(
        self, gold: ReportCollection, run: ReportsByTopic, options: Options
    ) -> None:
        self._gold, self._run = gold, run
        self._limit = max_citations(options)
        self._documents: dict[str, tuple[str, ...]] = {}
        named = (str(report.metadata.get("run_id") or "") for report in run.values())
        self._name = next(named, "")

    def judged(self, topic: ReportTopic) -> tuple[JudgedReport, list[JudgedNugget]]:
        report = self._run.get(topic.id)
        if report is not None and not report.nonblank_sentences:
            report = None
        rows = self._gold.judgements.nugget_judgements
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
            label != MISSING_JUDGEMENT for nugget in nuggets for label in nugget.labels
        )
        counted = [nugget.nugget for nugget in nuggets if not nugget.has_no_valid_label]
        of_vital = sum(nugget.is_vital for nugget in counted)
        nuggets = [
            replace(
                nugget, is_assigned=is_assigned, of_vital=of_vital, of_all=len(counted)
            )
            for nugget in nuggets
        ]
        sentences = (
            tuple(map(self._judge_sentence, report.nonblank_sentences))
            if report
            else ()
        )
        return (
            JudgedReport(
                topic=topic,
                report=report,
                sentences=sentences,
                is_assigned=is_assigned,
                is_supported=self._gold.judgements.has_citation_judgements,
            ),
            nuggets,
        )

    def _judge_sentence(self, sentence: ReportSentence) -> JudgedSentence:
        text = compute_prefixed_text_digest(sentence.text)
        cited = tuple(
            self._judge_citation(text, citation)
            for citation in select_judged_citations(sentence.citations, self._limit)
        )
        return JudgedSentence(sentence, cited)

    def _judge_citation(
        self, sentence: str, citation: ReportCitation
    ) -> JudgedCitation:
        if citation.document is None:
            return JudgedCitation(citation, OUT_OF_RANGE_CITATION)
        if citation.document not in self._documents:
            document = self._gold.documents.get(
                citation.document, CollectionDocument("", "")
            )
            self._documents[citation.document] = document.compute_digests_of_forms()
        if not (digests := self._documents[citation.document]):
            return JudgedCitation(citation, CITED_DOCUMENT_WITHOUT_TEXT)
        found = self._gold.judgements.support(sentence, digests)
        return JudgedCitation(citation, found.label or MISSING_JUDGEMENT, found.key)


def select_judged_citations(
    citations: Sequence[ReportCitation], limit: int | None
) -> list[ReportCitation]:
    """Return the citations of a sentence that are judged. Each document occurs once in
    the judged citations. Citations with scores are sorted by descending score.
    """
    once: dict[str, ReportCitation] = {}
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
        self,
        rows: JudgementsOfKind,
        topic: ReportTopic,
        report: CitedReport | None,
        run: str,
    ) -> None:
        self._labels = rows.labels
        by_nugget = rows.by_nugget.get((run, topic.id)) if run else None
        if by_nugget is None:
            by_nugget = rows.by_nugget.get(("", topic.id))
        self.is_of_topic = by_nugget is not None
        self._by_nugget = by_nugget or {}
        self._topics = [
            compute_prefixed_text_digest(name) for name in (topic.title, topic.id)
        ]
        self._is_absent = report is None
        self._report = compute_prefixed_text_digest(report.text) if report else ""

    def labels(self, nugget: Nugget) -> tuple[LabelWithKey, ...]:
        """Return the label of the whole nugget if the nugget has a label, otherwise the
        labels of the parts.

        If the run has no report on the topic, the nugget is not supported, even if an
        assignment exists.
        """
        if self._is_absent and self.is_of_topic:
            return (LabelWithKey(NOT_SUPPORTED_LABEL, ()),)
        whole = self._find_part_label(nugget.whole_nugget_part)
        if whole.label != MISSING_JUDGEMENT:
            return (whole,)
        return tuple(map(self._find_part_label, nugget.parts))

    def _find_part_label(self, part: JudgedNuggetPart) -> LabelWithKey:
        for name in part.names:
            if name in self._by_nugget:
                return LabelWithKey(self._by_nugget[name], ())
        if self._labels and self._report:
            for name in part.names:
                nugget = compute_prefixed_text_digest(name)
                for topic in self._topics:
                    key = (topic, nugget, self._report)
                    if label := self._labels.get(key):
                        return LabelWithKey(label, key)
        return LabelWithKey(MISSING_JUDGEMENT, ())


def classify_report(judged: JudgedReport) -> dict[str, tuple[str, ...]]:
    """Return the class of a run's report in each dimension. Classes depend on the topic
    and the text of the report.
    """
    classes: dict[str, tuple[str, ...]] = {}
    if kind := judged.topic.kind:
        classes["topic_kind"] = (normalise_to_nfc(kind),)
    if judged.report:
        cited = {
            citation.document
            for sentence in judged.report.nonblank_sentences
            for citation in sentence.citations
            if citation.document is not None
        }
        words = count_words_or_characters(judged.report.text, "words")
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
        nugget.is_assigned and nugget.has_no_valid_label for nugget in nuggets
    )


#: `_OUTCOME_OF_SUPPORT_LABEL` maps a sentence's best citation label to an outcome on pages.
#: `_OUTCOME_OF_NUGGET_LABEL` maps the label of a nugget to an outcome on pages.
_OUTCOME_OF_SUPPORT_LABEL = {
    "full": RIGHT_OUTCOME,
    "partial": ALIKE_OUTCOME,
    "none": WRONG_OUTCOME,
    OUT_OF_RANGE_CITATION: WRONG_OUTCOME,
}
_OUTCOME_OF_NUGGET_LABEL = {
    "support": RIGHT_OUTCOME,
    "partial_support": ALIKE_OUTCOME,
    "not_support": MISSED_OUTCOME,
}


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield for each topic the topic's text, the nuggets, and the report's sentences
    with citations. Judgements of nuggets and citations are included.
    """
    for name, rows in group_row_numbers_by_instance(pairs.names).items():
        topic: ReportTopic = pairs.gold[rows[0]]
        judged, *nuggets = [pairs.answers[row] for row in rows]
        sentences = judged.report.sentences if judged and judged.report else ()
        outcomes = (
            [format_judged_sentence(sentence) for sentence in judged.sentences]
            if judged
            else []
        )
        if judged and judged.is_assigned:
            outcomes += map(format_judged_nugget, nuggets)
        yield ShownInstance(
            name=name,
            given=format_topic(topic),
            gold="\n".join(map(format_nugget, topic.nuggets or ())),
            answer="\n".join(map(format_sentence_with_citations, sentences)),
            judged=tuple(outcomes),
        )


def format_topic(topic: ReportTopic) -> str:
    return "\n".join(
        str(value) if key == "title" else f"{key}: {value}"
        for key, value in topic.shown.items()
    )


def format_nugget(nugget: Nugget) -> str:
    parts = [part.text for part in nugget.parts if part.text != nugget.text]
    joined = f" {f' {nugget.rule} '.join(parts)}" if parts else ""
    return f"{nugget.importance}: {nugget.text}{joined}"


def format_sentence_with_citations(sentence: ReportSentence) -> str:
    cited = ", ".join(
        citation.document or citation.given for citation in sentence.citations
    )
    return f"{sentence.text} [{cited}]" if cited else sentence.text


def format_judged_sentence(judged: JudgedSentence) -> tuple[str, str]:
    """Return the outcome of a sentence, and the text of the sentence with the label of
    each citation.
    """
    cited = ", ".join(
        f"{citation.citation.document or citation.citation.given}: {citation.label}"
        for citation in judged.citations
    )
    best = max(judged.citations, key=JudgedCitation.credit, default=None)
    outcome = (
        _OUTCOME_OF_SUPPORT_LABEL.get(best.label, CONTEXT_OUTCOME)
        if best
        else CONTEXT_OUTCOME
    )
    text = judged.sentence.text
    return outcome, f"{text} [{cited}]" if cited else text


def format_judged_nugget(judged: JudgedNugget) -> tuple[str, str]:
    """Return the outcome of a nugget, and the text of the nugget with its labels."""
    outcome = _OUTCOME_OF_NUGGET_LABEL.get(judged.labels[0], CONTEXT_OUTCOME)
    return outcome, f"{format_nugget(judged.nugget)} [{', '.join(judged.labels)}]"
