"""What a system is given: papers by sentence, and the citances without reference and facet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tasks.types.base import Options
from tasks.types.clsumm.annotation import Source, line_fields
from tasks.types.clsumm.citances import CitanceName
from tasks.types.clsumm.csvform import citance_name, read_rows
from tasks.types.clsumm.documents import Sentence, read_sentences
from tasks.types.clsumm.fields import article, marker_offset, sentence_ids, without_tags
from tasks.types.clsumm.layout import CSV, Chosen, TopicFolder, chosen_annotation, topic_folders
from tasks.types.clsumm.topics import asked_rows
from tasks.types.files import InputFile
from tasks.types.text import decoded, unescaped


@dataclass(frozen=True)
class InputCitance:
    """A citance as participants see it; ``offsets`` are its sentences in the citing paper, where known.

    ``marker`` is the mark as the citing paper prints it.
    """

    name: CitanceName
    text: str
    offsets: tuple[str, ...]
    marker: str = ""


@dataclass(frozen=True)
class InputTopic:
    """A reference paper, its citances, and the citing papers by their names."""

    name: str
    sentences: tuple[Sentence, ...]
    citances: tuple[InputCitance, ...]
    papers: Mapping[str, Sequence[Sentence]]

    def citing_paper(self, citance: InputCitance) -> Sequence[Sentence]:
        """Its sentences; none where the paper is not at hand. Some citances name it with another ending."""
        name = citance.name.citing
        return self.papers.get(name.partition(".")[0], ())


def read_input_topics(
    files: Sequence[InputFile], options: Options, *, with_papers_alone: bool = False
) -> list[InputTopic]:
    """The topics that have a reference paper, in the order of their names.

    From gold or from public inputs. Topics without citances, as where summaries alone are asked for, are
    passed over unless they are wanted too.
    """
    topics = []
    for folder in topic_folders(files):
        chosen = chosen_annotation(folder, options["annotation"], Source.GOLD)
        papers = {file.stem: file for file in folder.papers}
        if papers and (chosen or with_papers_alone):
            name = chosen.topic if chosen else next(iter(papers))
            paper = papers.get(name) or next(iter(papers.values()))
            topics.append(
                InputTopic(
                    name=name,
                    sentences=tuple(read_sentences(paper)),
                    citances=tuple(_citances(chosen)) if chosen else (),
                    papers=_citing_papers(folder),
                )
            )
    return sorted(topics, key=lambda topic: topic.name)


def _citing_papers(folder: TopicFolder) -> dict[str, list[Sentence]]:
    files = [file for file in folder.files("Citance_XML") if file.suffix == ".xml"]
    return {file.stem: read_sentences(file) for file in files}


def _citances(chosen: Chosen) -> Iterator[InputCitance]:
    if chosen.version == CSV:
        rows = [list(read_rows(file, [], Source.INPUTS)) for _, file in chosen.files]
        has_gold = any(row.values.get("Reference Offset") for own in rows for row in own)
        for row in asked_rows(rows, Source.GOLD if has_gold else Source.INPUTS):
            text = row.values.get("Citation Text Clean") or row.values.get("Citation Text", "")
            marker = unescaped(row.values.get("Citation Marker", "")).strip()
            yield InputCitance(citance_name(row), unescaped(text), (), marker)
        return
    for raw in chosen.files[0][1].lines():
        line = decoded(raw).strip()
        if line:
            yield _line_citance(line_fields(line))


def _line_citance(fields: Mapping[str, str]) -> InputCitance:
    return InputCitance(
        name=CitanceName(
            reference=article(fields["Reference Article"]),
            citing=article(fields["Citing Article"]),
            marker=marker_offset(fields["Citation Marker Offset"]),
            number=fields.get("Citance Number", fields.get("Citation Number", "")),
        ),
        # Some quote a sentence in elements and again without; all of it is the citance.
        text=unescaped(without_tags(fields.get("Citation Text", ""))),
        offsets=tuple(sid for sid in sentence_ids(fields.get("Citation Offset", "")) if sid),
        marker=unescaped(fields.get("Citation Marker", "")).strip(),
    )
