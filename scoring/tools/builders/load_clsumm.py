"""CL-Summ topics as a collection: which of its reference papers does a citing paper mean where it cites one.

The corpus marks only the citations of each topic's own reference paper, so all reference papers of the
collection are the candidates of every citing paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from scoring.tools.builders.contexts import style_of, token_count, with_placeholder, without_unmarked
from scoring.tools.builders.corpus import Context, Paper, Reference, Sink
from tasks.types.clsumm.topics import TITLE, InputCitance, InputTopic, Sentence, read_input_topics
from tasks.types.files import open_inputs
from tasks.types.problems import InputRefused, Problem

ABSTRACT = "abstract"
#: Sentences of fewer letters may be found in any citance.
SHORTEST = 30


def fits(path: Path) -> bool:
    return path.is_dir() and any(path.glob("**/Citance_XML"))


def load(path: Path, sink: Sink) -> None:
    """Every topic below the folder that has its reference paper and its citing papers at hand."""
    found = read_input_topics(open_inputs([path]), {"annotation": "auto"})
    topics = [topic for topic in found if topic.papers]
    if not topics:
        raise InputRefused([Problem(file=str(path), message="no topic has the papers that cite it")])
    for topic in topics:
        sink.add_paper(_paper(topic.name, topic.sentences))
    numbers: Counter[str] = Counter()
    for topic in topics:
        for name, sentences in sorted(topic.papers.items()):
            if not numbers[name]:
                _add_citing_paper(name, sentences, topics, sink)
            numbers[name] += 1
    for number, (topic, citance) in enumerate((t, c) for t in topics for c in t.citances):
        paper = citance.name.citing.partition(".")[0]
        for context in _contexts(topic, citance, f"{paper}_{topic.name}_{number:03d}", sink.around):
            sink.add_context(paper, context)


def _paper(name: str, sentences: Sequence[Sentence]) -> Paper:
    abstract = [sentence.text for sentence in sentences if sentence.section.lower() == ABSTRACT]
    title = [sentence.text for sentence in sentences if sentence.section == TITLE]
    return Paper(
        paper_id=name,
        title=" ".join(title),
        abstract=" ".join(abstract),
        text=" ".join(sentence.text for sentence in sentences),
    )


def _add_citing_paper(
    name: str, sentences: Sequence[Sentence], topics: Sequence[InputTopic], sink: Sink
) -> None:
    if not any(topic.name == name for topic in topics):
        sink.add_paper(_paper(name, sentences))
    for topic in topics:
        # A paper never cites itself.
        if topic.name != name:
            title = _paper(topic.name, topic.sentences).title
            sink.add_reference(name, Reference(ref_id=topic.name, target=topic.name, raw=title, title=title))
    for sentence in sentences:
        sink.add_sentence(token_count(sentence.text))


def _place(citance: InputCitance, sentences: Sequence[Sentence]) -> int | None:
    if citance.offsets:
        places = {sentence.sid: place for place, sentence in enumerate(sentences)}
        return next((places[sid] for sid in (citance.name.marker, *citance.offsets) if sid in places), None)
    quoted = _letters(citance.text)
    for place, sentence in enumerate(sentences):
        letters = _letters(sentence.text)
        if len(letters) >= SHORTEST and (letters in quoted or quoted in letters):
            return place
    return None


def _letters(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def _contexts(topic: InputTopic, citance: InputCitance, name: str, around: int) -> Iterator[Context]:
    sentences = topic.citing_paper(citance)
    place = _place(citance, sentences)
    if place is None:
        return
    yield Context(
        context_id=name,
        section=sentences[place].section,
        before=_joined(sentences[max(place - around, 0) : place]),
        sentence=without_unmarked(with_placeholder(sentences[place].text, citance.marker)),
        after=_joined(sentences[place + 1 : place + 1 + around]),
        gold=(topic.name,),
        markers=1,
        marker=citance.marker,
        style=style_of(citance.marker),
    )


def _joined(sentences: Sequence[Sentence]) -> str:
    return " ".join(without_unmarked(sentence.text) for sentence in sentences)
