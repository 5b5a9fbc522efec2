"""Pair citances (citing sentences) and answers according to each official program or
the corrected rules.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tasks.types import base
from tasks.types.clsumm import citances
from tasks.types.clsumm.options import (
    OFFICIAL_2014,
    OFFICIAL_2016,
    OFFICIAL_2017,
    OFFICIAL_2018,
)
from tasks.types.clsumm.runs import CitanceRun
from tasks.types.clsumm.topics import (
    TITLE,
    AnnotatorGoldFile,
    ClsummTopic,
    InputTopic,
    read_input_topics,
)
from tasks.types.files import Files
from tasks.types.text import decode_html_entities


@dataclass(frozen=True)
class CitanceAndAnswer:
    """A citance (citing sentence) and the answer to the citance. Either the citance or
    the answer may be None.

    ``file`` is the index of the annotator's gold file in the topic. ``is_known`` is
    True for an answer without gold if the official program registered the key from a
    gold row without a quoted sentence.
    """

    topic: ClsummTopic
    file: int
    gold: citances.CitanceAnnotation | None
    answer: citances.CitanceAnnotation | None
    is_known: bool = False

    @property
    def annotator(self) -> str:
        return self.topic.files[self.file].annotator

    @property
    def citance_label(self) -> str:
        """Return the public name of the citance, which all annotators share."""
        annotation = self.gold or self.answer
        assert annotation is not None
        return format_citance_label(self.topic.name, annotation.name)


def format_citance_label(topic: str, name: citances.CitanceName) -> str:
    which = (
        f"citance {name.number} ({name.citing})"
        if name.number
        else f"{name.citing} {name.marker}"
    )
    return f"{topic}, {which.strip()}"


_CITANCE_KEY_OF_RULES = {
    OFFICIAL_2016: citances.get_citance_key_2016,
    OFFICIAL_2017: citances.get_citance_key_2017,
    OFFICIAL_2018: citances.get_citance_key_2018,
}


def pair_citances(
    split: base.Split, run: CitanceRun, rules: str
) -> tuple[list[CitanceAndAnswer], Counter[str]]:
    """Return every citance with its answer, then the answers without a citance, and a
    counter of irregularities.

    The file of each annotator is compared with the run separately. The programs of 2017
    and 2018 score a topic only if the run has a file or line for the topic. If several
    lines of the gold or of the run have the same key, the programs of 2016 to 2018 use
    the last of these lines. The program of 2016 stops if a topic is missing. This
    function treats a missing topic as a topic without answers, and the rules of other
    programs include all topics and citances.
    """
    topics: Sequence[ClsummTopic] = split.content
    notes: Counter[str] = Counter(
        missing_topics=sum(topic.name not in run.topics for topic in topics)
    )
    pairs: list[CitanceAndAnswer] = []
    for topic in topics:
        answers = run.answers_by_topic.get(topic.name, ())
        for number, file in enumerate(topic.files):
            if rules in (base.CORRECTED, OFFICIAL_2014):
                pairs += _pair_under_corrected_rules(
                    topic, number, file, answers, notes
                )
            elif rules == OFFICIAL_2016:
                gold, own = (
                    tuple(map(citances.remove_duplicate_ids_and_facets, side))
                    for side in (file.citances, answers)
                )
                pairs += _pair_under_official_rules(
                    topic,
                    number,
                    replace(file, citances=gold),
                    own,
                    _CITANCE_KEY_OF_RULES[rules],
                )
            elif topic.name in run.topics:
                pairs += _pair_under_official_rules(
                    topic, number, file, answers, _CITANCE_KEY_OF_RULES[rules]
                )
    names = {topic.name for topic in topics}
    notes["answers_to_other_topics"] = sum(
        answer.topic not in names for answer in run.answers
    )
    notes["missing_citances"] = sum(pair.answer is None for pair in pairs)
    notes["unknown_citances"] = sum(pair.gold is None for pair in pairs)
    return pairs, notes


def _pair_under_official_rules(
    topic: ClsummTopic,
    number: int,
    file: AnnotatorGoldFile,
    answers: Iterable[citances.CitanceAnnotation],
    key: citances.CitanceKeyFunction,
) -> Iterator[CitanceAndAnswer]:
    """Yield the pairs of one gold file in the same way as the official programs.

    A gold line without a quoted sentence is not paired, but an answer with the key of
    the line is marked as known. Among gold lines with the same key, lines with
    ``is_last`` come before other lines, and the line with the highest citance number is
    used. Among answers with the same key, the last answer is used.
    """
    keys = {key(citance) for citance in file.citances if citance.has_key}
    gold: dict[tuple[str, ...], citances.CitanceAnnotation] = {}
    for citance in file.citances:
        if citance.is_quoted:
            same = gold.get(key(citance), citance), citance
            gold[key(citance)] = max(
                same,
                key=lambda one: (
                    one.is_last,
                    citances.sort_key_by_citance_number(one.name),
                ),
            )
    quoted = {key(answer): answer for answer in answers if answer.is_quoted}
    for name, citance in gold.items():
        yield CitanceAndAnswer(topic, number, citance, quoted.get(name))
    for name, answer in quoted.items():
        if name not in gold:
            yield CitanceAndAnswer(topic, number, None, answer, is_known=name in keys)


def _pair_under_corrected_rules(
    topic: ClsummTopic,
    number: int,
    file: AnnotatorGoldFile,
    answers: Sequence[citances.CitanceAnnotation],
    notes: Counter[str],
) -> Iterator[CitanceAndAnswer]:
    """Yield the citances for which the annotator found a sentence, each with the
    answer. Answers to other citances are yielded with None in place of gold.
    """
    wanted = [
        _keep_named_sentences(citance)
        for citance in file.citances
        if citances.has_reference_sentence(citance)
    ]
    matcher = citances.CitanceMatcher([citance.name for citance in wanted])
    placed: dict[int, citances.CitanceAnnotation] = {}
    unknown: list[citances.CitanceAnnotation] = []
    for answer, place in zip(
        answers, matcher.places([answer.name for answer in answers]), strict=True
    ):
        if place is not None:
            notes["repeated_citances"] += place in placed
            placed[place] = _keep_named_sentences(answer)
        elif citances.has_reference_sentence(
            answer
        ) or citances.normalise_distinct_facets(answer.facets):
            unknown.append(_keep_named_sentences(answer))
    notes["matched_in_order"] += matcher.in_order
    for place, citance in enumerate(wanted):
        yield CitanceAndAnswer(topic, number, citance, placed.get(place))
    yield from (CitanceAndAnswer(topic, number, None, answer) for answer in unknown)


def _keep_named_sentences(
    annotation: citances.CitanceAnnotation,
) -> citances.CitanceAnnotation:
    return replace(annotation, sentences=citances.list_real_sentence_ids(annotation))


DIMENSIONS = ("facet", "topic", "gold_sentences", "section", "year", "annotator")

#: Papers name their sections freely.
#: The first pattern that matches a section's name determines the kind of section.
_SECTION_KIND_PATTERNS = (
    (f"^{TITLE}$", TITLE),
    ("abstract", "Abstract"),
    ("introduction", "Introduction"),
    ("related|previous|prior|background", "Related work"),
    ("experiment|evaluation|result|benchmark|data", "Experiments and results"),
    ("discussion|analysis|issues|improvement", "Discussion"),
    ("conclu|future|summary", "Conclusion"),
)
_DEFAULT_SECTION_KIND = "Main part"
#: `_OLD_ANTHOLOGY_ID_PATTERN` matches ids such as `C92-1059`, a letter for the venue and then the year.
_OLD_ANTHOLOGY_ID_PATTERN = re.compile(r"[A-Z](\d\d)-\d{4}")
_NEW_ANTHOLOGY_ID_PATTERN = re.compile(r"(\d{4})\.")


def classify_pairs(pairs: list[CitanceAndAnswer]) -> dict[str, list[tuple[str, ...]]]:
    """Return the classes of all pairs of citance and answer in each dimension."""
    classes = [_classify_pair(pair) for pair in pairs]
    return {name: [of_pair.get(name, ()) for of_pair in classes] for name in DIMENSIONS}


def _classify_pair(pair: CitanceAndAnswer) -> dict[str, tuple[str, ...]]:
    # The classes of the gold's sections need the text of the reference paper.
    classes: dict[str, tuple[str, ...]] = {"topic": (pair.topic.name,)}
    if pair.annotator:
        classes["annotator"] = (pair.annotator,)
    if gold := pair.gold:
        count, sections = len(set(gold.sentences)), pair.topic.sections
        kinds = (
            classify_section(sections[sid]) for sid in gold.sentences if sid in sections
        )
        classes["facet"] = citances.normalise_distinct_facets(gold.facets)
        classes["gold_sentences"] = (str(count) if count < 4 else "4 or more",)
        classes["section"] = tuple(dict.fromkeys(kinds))
        if year := parse_publication_year(gold.name.citing):
            classes["year"] = (str(year),)
    return classes


def classify_section(name: str) -> str:
    return next(
        (
            kind
            for words, kind in _SECTION_KIND_PATTERNS
            if re.search(words, name, re.IGNORECASE)
        ),
        _DEFAULT_SECTION_KIND,
    )


def parse_publication_year(article: str) -> int | None:
    if match := _NEW_ANTHOLOGY_ID_PATTERN.match(article):
        return int(match[1])
    if match := _OLD_ANTHOLOGY_ID_PATTERN.match(article):
        # The oldest papers of the ACL Anthology are from 1952.
        # Ids in the form `C92-1059` exist until 2020.
        return int(match[1]) + (1900 if int(match[1]) > 50 else 2000)
    return None


KeyOrderingFunction = Callable[[Iterable[str]], list[str]]


@dataclass(frozen=True)
class CitedSpan:
    """The sentences that gold or a run cites for a citance, as ids and as texts in the
    order in which ROUGE reads the texts. ``file`` is the index of the annotator's gold
    file in the topic, since the official program averages over gold files.
    """

    sentences: tuple[str, ...]
    lines: tuple[str, ...]
    file: int

    def list_reference_texts_of_kind(self, kind: str | None) -> list[tuple[str, ...]]:
        """Return the texts of the cited sentences, which ROUGE uses as the reference
        text.
        """
        return [self.lines]


def order_as_python2_dict(keys: Iterable[str]) -> list[str]:
    """Return the distinct keys in the iteration order of a Python 2 dict."""
    table: Python2HashTable = [None] * _MIN_HASH_TABLE_SIZE
    used = 0
    for key in keys:
        place = _find_hash_slot(table, key)
        if table[place] is not None:
            continue
        table[place] = key
        used += 1
        if used * 3 >= len(table) * 2:
            grown: Python2HashTable = [None] * (4 * len(table))
            for member in table:
                if member is not None:
                    grown[_find_hash_slot(grown, member)] = member
            table = grown
    return [key for key in table if key is not None]


def get_cited_spans_of_pair(
    pair: CitanceAndAnswer,
    rules: str,
    *,
    order: KeyOrderingFunction = order_as_python2_dict,
) -> tuple[CitedSpan | None, CitedSpan | None]:
    """Return the cited spans of gold and answer of a pair.

    ``order`` returns the order in which the official program joins quoted sentences.
    Under the corrected rules, the text of an answer comes from the paper, and the text
    of the gold from the annotation.
    """
    if rules in (base.CORRECTED, OFFICIAL_2014):
        in_order = rules == base.CORRECTED
        gold = pair.gold and list_quoted_or_cited_sentences(
            pair.gold, pair.topic, in_order=in_order
        )
        answer = pair.answer and list_cited_sentences(
            pair.answer, pair.topic, in_order=in_order
        )
    else:
        gold = pair.gold and list_quoted_sentences(pair.gold, pair.topic, rules, order)
        answer = pair.answer and list_quoted_sentences(
            pair.answer, pair.topic, rules, order
        )
    return (
        None
        if pair.gold is None
        else CitedSpan(pair.gold.sentences, tuple(gold or ()), pair.file),
        None
        if pair.answer is None
        else CitedSpan(pair.answer.sentences, tuple(answer or ()), pair.file),
    )


def list_quoted_or_cited_sentences(
    annotation: citances.CitanceAnnotation, topic: ClsummTopic, *, in_order: bool
) -> list[str]:
    """Return the sentences that the annotation quotes, with entities decoded. If the
    annotation quotes no sentence, return the cited sentences of the paper.
    """
    if not annotation.texts:
        return list_cited_sentences(annotation, topic, in_order=in_order)
    ids = _sort_ids(annotation.texts, topic) if in_order else list(annotation.texts)
    return [decode_html_entities(annotation.texts[sid]) for sid in ids]


def list_cited_sentences(
    annotation: citances.CitanceAnnotation, topic: ClsummTopic, *, in_order: bool
) -> list[str]:
    """Return the sentences of the paper that the annotation cites. If the reference
    paper is missing, return the quoted sentences.
    """
    if not topic.sentences:
        return [decode_html_entities(text) for text in annotation.texts.values()]
    ids = list(dict.fromkeys(annotation.sentences))
    ids = _sort_ids(ids, topic) if in_order else ids
    return [topic.sentences[topic.order[sid]].text for sid in ids if sid in topic.order]


def list_quoted_sentences(
    annotation: citances.CitanceAnnotation,
    topic: ClsummTopic,
    rules: str,
    order: KeyOrderingFunction,
) -> list[str]:
    """Return the quoted sentences with undecoded entities, in the order in which the
    official program joins the sentences.

    The program of 2018 decodes only the entity `&amp;`, and only once. Answers in JSON
    lines quote no sentences. For JSON lines, return the paper's sentences in the listed
    order.
    """
    texts = dict(annotation.texts)
    if rules == OFFICIAL_2018:
        texts = {sid: text.replace("&amp;", "&") for sid, text in texts.items()}
    if not texts:
        cited = (sid for sid in annotation.sentences if sid in topic.order)
        texts = {sid: topic.sentences[topic.order[sid]].text for sid in cited}
    return [texts[sid] for sid in order(texts)]


def _sort_ids(ids: Iterable[str], topic: ClsummTopic) -> list[str]:
    return sorted(ids, key=lambda sid: topic.order.get(sid, len(topic.order)))


_UINT64_MASK = (1 << 64) - 1
_MIN_HASH_TABLE_SIZE = 8
_HASH_PERTURB_SHIFT = 5
Python2HashTable = list[str | None]


def hash_as_python2_string(text: str) -> int:
    """Return the hash of a byte string in Python 2, as an unsigned 64-bit number."""
    data = text.encode()
    if not data:
        return 0
    value = data[0] << 7
    for byte in data:
        value = (value * 1_000_003 & _UINT64_MASK) ^ byte
    value ^= len(data)
    # CPython reserves the hash -1 for errors and uses -2 instead.
    return _UINT64_MASK - 1 if value == _UINT64_MASK else value


def _find_hash_slot(table: Python2HashTable, key: str) -> int:
    mask = len(table) - 1
    perturb = hash_as_python2_string(key)
    slot = perturb & mask
    while table[slot & mask] not in (None, key):
        slot = (slot * 5 + perturb + 1) & _UINT64_MASK
        perturb >>= _HASH_PERTURB_SHIFT
    return slot & mask


TextOfRowFunction = Callable[[Any], str]
#: A wrong sentence is `alike` if it shares at least three words with the citance.
#: A missed sentence is `implied` if it shares at most one word with the citance.
MIN_SHARED_WORDS_IF_ALIKE, MAX_SHARED_WORDS_IF_IMPLIED = 3, 1
_LONG_WORD_PATTERN = re.compile(r"[a-z]{4,}")


def show_spans_of_citances(
    files: Files, split: base.Split, pairs: base.Pairs, options: base.Options
) -> Iterator[base.ShownInstance]:
    """Yield for each citance the sentences of all annotators, one annotator per line,
    and the sentences of the run.
    """

    def format_marked_span(side: Any) -> str:
        return (
            f"[{', '.join(side.sentences)}] {' '.join(side.lines)}".strip()
            if side
            else ""
        )

    for shown, topic, rows in _iterate_shown_citances(
        files, pairs, options, text=format_marked_span
    ):
        sides = [(pairs.gold[row], pairs.answers[row]) for row in rows]
        paper = (
            {sentence.sid: sentence.text for sentence in topic.sentences}
            if topic
            else {}
        )
        judged = iterate_sentence_outcomes(shown.given, sides, paper)
        yield replace(
            shown,
            judged=tuple(
                _iterate_sentences_in_context(
                    {line: outcome for outcome, line in judged}, paper
                )
            ),
        )


def _iterate_sentences_in_context(
    outcomes: Mapping[str, str], paper: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the judged sentences and their neighbours in the order of the paper. Judged
    sentences that are not in the paper come last.
    """
    lines = [f"[{sid}] {text}".strip() for sid, text in paper.items()]
    near = {
        index + step
        for index, line in enumerate(lines)
        if line in outcomes
        for step in (-1, 0, 1)
    }
    for place, line in enumerate(lines):
        if place in near:
            yield outcomes.get(line, base.CONTEXT_OUTCOME), line
    yield from (
        (outcome, line) for line, outcome in outcomes.items() if line not in lines
    )


def iterate_sentence_outcomes(
    citance: str, sides: Sequence[tuple[Any, Any]], sentences: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the sentences of the answer and then the missed sentences, with their
    outcomes. The outcomes are the error types of Figures 2 and 3 in the paper of the
    pilot task.

    A sentence of the answer is right if any annotator selected it. A sentence is missed
    if any annotator selected it and the answer does not contain it.
    """
    gold = dict.fromkeys(sid for side, _ in sides if side for sid in side.sentences)
    answer = dict.fromkeys(sid for _, side in sides if side for sid in side.sentences)
    words = set(_LONG_WORD_PATTERN.findall(citance.lower()))
    for sid in [*answer, *(sid for sid in gold if sid not in answer)]:
        text = sentences.get(sid, "")
        shared = len(words.intersection(_LONG_WORD_PATTERN.findall(text.lower())))
        if sid in answer:
            outcome = (
                base.RIGHT_OUTCOME
                if sid in gold
                else base.ALIKE_OUTCOME
                if shared >= MIN_SHARED_WORDS_IF_ALIKE
                else base.WRONG_OUTCOME
            )
        else:
            outcome = (
                base.IMPLIED_OUTCOME
                if shared <= MAX_SHARED_WORDS_IF_IMPLIED
                else base.MISSED_OUTCOME
            )
        yield outcome, f"[{sid}] {text}".strip()


def show_facets_of_citances(
    files: Files, split: base.Split, pairs: base.Pairs, options: base.Options
) -> Iterator[base.ShownInstance]:
    """Yield each citance with the facets of gold and answer, in the order in which the
    task lists its facets.

    The order of the rows would reveal which facets of an answer are right.
    """
    for shown, _, rows in _iterate_shown_citances(
        files, pairs, options, text=get_facet_or_empty
    ):
        told = (getattr(pairs.answers[row], "probabilities", None) for row in rows)
        gold, answer = (
            sorted(filter(None, side.split("\n")), key=_make_facet_sort_key)
            for side in (shown.gold, shown.answer)
        )
        yield replace(
            shown,
            gold="\n".join(gold),
            answer="\n".join(answer),
            gold_parts=tuple(map(base.AnswerPart, gold)),
            answer_parts=tuple(map(base.AnswerPart, answer)),
            beside=tuple((next(filter(None, told), None) or {}).items()),
        )


def get_facet_or_empty(side: Any) -> str:
    """Return the facet in the gold or in the answer of a row, or an empty text if the
    row has no facet.
    """
    return getattr(side, "facet", side) or ""


def _make_facet_sort_key(name: str) -> tuple[int, str]:
    is_known = name in citances.FACETS
    return citances.FACETS.index(name) if is_known else len(citances.FACETS), name


def _iterate_shown_citances(
    files: Files, pairs: base.Pairs, options: base.Options, *, text: TextOfRowFunction
) -> Iterator[tuple[base.ShownInstance, InputTopic | None, list[int]]]:
    """Yield each citance with gold and answer, the topic of the citance, and the
    numbers of the citance's rows.
    """
    topics = read_input_topics(files, options)
    known = {
        format_citance_label(topic.name, citance.name): (citance.text, topic)
        for topic in topics
        for citance in topic.citances
    }
    for name, rows in base.group_row_numbers_by_instance(pairs.names).items():
        given, topic = known.get(name, ("", None))
        gold, answer = (
            base.join_distinct_texts([text(side[at]) for at in rows])
            for side in (pairs.gold, pairs.answers)
        )
        yield (
            base.ShownInstance(name=name, given=given, gold=gold, answer=answer),
            topic,
            rows,
        )
