"""Load the topics of CL-Summ as a collection of papers for Citation Resolution.

The topics mark only citations of their own reference paper. For this reason, the
reference papers of all topics are the candidates for every citing paper.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from scoring.tools.builders.contexts import (
    determine_mark_style,
    insert_placeholder,
    replace_unmarked_citations,
    split_into_tokens,
)
from scoring.tools.builders.corpus import CitationContext, CorpusPaper, CorpusReference
from scoring.tools.builders.reading import keep_letters_and_digits, make_refusal
from scoring.tools.builders.store import CorpusStore
from tasks.types.clsumm.topics import (
    TITLE,
    InputCitance,
    PaperSentence,
    read_input_topics,
)
from tasks.types.files import open_files_of_all_inputs

ABSTRACT_SECTION_NAME = "abstract"
#: Minimum number of letters of a sentence that is looked up in a citance.
MIN_SENTENCE_LENGTH = 30


def fits(path: Path) -> bool:
    return path.is_dir() and any(path.glob("**/Citance_XML"))


def load(path: Path, store: CorpusStore) -> None:
    read = read_input_topics(open_files_of_all_inputs([path]), {"annotation": "auto"})
    if not (topics := [topic for topic in read if topic.papers]):
        raise make_refusal("no topic has the papers that cite it", path)
    papers = {
        topic.name: _convert_paper(topic.name, topic.sentences) for topic in topics
    }
    for paper in papers.values():
        store.add_paper(paper)
    citing_papers: dict[str, Sequence[PaperSentence]] = {}
    for topic in topics:
        for name, sentences in sorted(topic.papers.items()):
            citing_papers.setdefault(name, sentences)
    for citing, sentences in citing_papers.items():
        _add_citing_paper(store, papers, citing, sentences)
    pairs = ((topic, citance) for topic in topics for citance in topic.citances)
    for number, (topic, citance) in enumerate(pairs):
        sentences = topic.get_sentences_of_citing_paper(citance)
        if (place := _find_citance_sentence(citance, sentences)) is None:
            continue
        citing = citance.name.citing.partition(".")[0]
        context = CitationContext(
            context_id=f"{citing}_{topic.name}_{number:03d}",
            section=sentences[place].section,
            before=_join_sentences_without_marks(
                sentences[max(place - store.around, 0) : place]
            ),
            sentence=replace_unmarked_citations(
                insert_placeholder(sentences[place].text, citance.marker)
            ),
            after=_join_sentences_without_marks(
                sentences[place + 1 : place + 1 + store.around]
            ),
            gold=(topic.name,),
            markers=1,
            marker=citance.marker,
            style=determine_mark_style(citance.marker),
        )
        store.add_context(citing, context)


def _add_citing_paper(
    store: CorpusStore,
    papers: Mapping[str, CorpusPaper],
    citing: str,
    sentences: Sequence[PaperSentence],
) -> None:
    if citing not in papers:
        store.add_paper(_convert_paper(citing, sentences))
    for name, paper in papers.items():
        # A paper is never among the references of the paper itself.
        if name != citing:
            reference = CorpusReference(
                ref_id=name, target=name, raw=paper.title, title=paper.title
            )
            store.add_reference(citing, reference)
    for sentence in sentences:
        store.add_sentence(len(split_into_tokens(sentence.text)))


def _convert_paper(name: str, sentences: Sequence[PaperSentence]) -> CorpusPaper:
    abstract = " ".join(
        sentence.text
        for sentence in sentences
        if sentence.section.lower() == ABSTRACT_SECTION_NAME
    )
    title = " ".join(
        sentence.text for sentence in sentences if sentence.section == TITLE
    )
    return CorpusPaper(
        paper_id=name,
        title=title,
        abstract=abstract,
        text=" ".join(sentence.text for sentence in sentences),
    )


def _find_citance_sentence(
    citance: InputCitance, sentences: Sequence[PaperSentence]
) -> int | None:
    if citance.offsets:
        places = {sentence.sid: index for index, sentence in enumerate(sentences)}
        return next(
            (
                places[sid]
                for sid in (citance.name.marker, *citance.offsets)
                if sid in places
            ),
            None,
        )
    quoted = keep_letters_and_digits(citance.text)
    for place, sentence in enumerate(sentences):
        own = keep_letters_and_digits(sentence.text)
        if len(own) >= MIN_SENTENCE_LENGTH and (own in quoted or quoted in own):
            return place
    return None


def _join_sentences_without_marks(sentences: Sequence[PaperSentence]) -> str:
    return " ".join(replace_unmarked_citations(sentence.text) for sentence in sentences)
