"""Read and write BIO files, which contain a token and its tag on each line, and an
empty line after each sentence.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.types.files import InputFile
from tasks.types.jsonlines import JsonRecord
from tasks.types.problems import ProblemList
from tasks.types.text import decode_utf8_or_windows_1252, normalise_to_nfc

BIO = "bio"
BIO_SUFFIXES = (".bio", ".conll", ".iob", ".iob2", ".txt")
#: `DOCUMENT_START_MARK` is the token that begins a document in files of CoNLL 2003.
DOCUMENT_START_MARK = "-DOCSTART-"
_SENTENCE_ID_COMMENT = re.compile(r"#\s*(?:sent_)?id\s*=\s*(\S.*)")
#: `DOCUMENT_FIELD` is the record field with the number of the sentence's document.
#: Records have the field `DOCUMENT_FIELD` only if the BIO file separates documents.
DOCUMENT_FIELD = "document"

#: `TagFaultFinder` functions return an error message for an invalid tag, or None.
TagFaultFinder = Callable[[str], tuple[str, str] | None]


@dataclass(frozen=True)
class SentenceRecordKeys:
    """The names of the record fields for a sentence's id, tokens and tags."""

    id: str = "id"
    tokens: str = "tokens"
    tags: str = "tags"


@dataclass(frozen=True)
class TokenDifference:
    """A difference between a token of a run and the token in the gold at the same
    position.
    """

    line: int
    texts: tuple[str, str]


@dataclass
class BioSentence:
    """A sentence that was read from a BIO file (one token and its tag per line).

    ``number`` is the position of the sentence in the file, starting from 1. ``id`` is
    the sentence id in the comment `# id = …` before the sentence, or empty. ``line`` is
    the number of the line with the sentence's first token. ``document`` is the number
    of the sentence's document, or 0 if the file does not separate documents.
    """

    number: int
    id: str
    document: int
    line: int = 0
    raw: str = ""
    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    is_sound: bool = True

    def differs(self, tokens: Sequence[str]) -> TokenDifference | None:
        """Return the first difference between the tokens of the sentence and
        ``tokens``, or None if all tokens are equal.
        """
        for index, (own, other) in enumerate(zip(self.tokens, tokens, strict=False)):
            if normalise_to_nfc(own) != normalise_to_nfc(other):
                texts = (
                    f"the token is “{own[:100]}”",
                    f"“{other[:100]}”, as given out",
                )
                return TokenDifference(self.line + index, texts)
        if len(self.tokens) == len(tokens):
            return None
        texts = (f"the sentence has {len(self.tokens)} tokens", f"{len(tokens)}")
        return TokenDifference(self.line, texts)


def read_bio_sentences(
    file: InputFile, problems: ProblemList, tag_fault: TagFaultFinder
) -> Iterator[BioSentence]:
    """Yield the sentences of a BIO file whose lines are all valid. For every other
    sentence, record a problem for each invalid line.
    """
    sentence = BioSentence(1, "", 0)
    for position, raw in enumerate(file.lines(), start=1):
        text = decode_utf8_or_windows_1252(raw).strip("\r\n")
        if text.strip():
            if fault := _parse_bio_line(sentence, text, position, tag_fault):
                problems.append(file.make_problem(*fault, line=position, raw=text))
                sentence.is_sound = False
        elif sentence.line:
            if sentence.is_sound:
                yield sentence
            sentence = BioSentence(sentence.number + 1, "", sentence.document)
    if sentence.line and sentence.is_sound:
        yield sentence


def _parse_bio_line(
    sentence: BioSentence, text: str, place: int, tag_fault: TagFaultFinder
) -> tuple[str, str] | None:
    parts = text.split("\t") if "\t" in text else text.split(" ")
    parts = [part for own in parts if (part := own.strip())]
    if not sentence.line:
        if comment := _SENTENCE_ID_COMMENT.fullmatch(text.strip()):
            sentence.id = comment[1]
            return None
        if parts[0] == DOCUMENT_START_MARK:
            sentence.document += 1
            return None
        sentence.line, sentence.raw = place, text
    token, tag = parts[0], parts[-1]
    sentence.tokens.append(token)
    sentence.tags.append(tag)
    return tag_fault(tag) if len(parts) > 1 else ("no token and tag", "TOKEN TAG")


def iterate_sentence_records(
    file: InputFile,
    problems: ProblemList,
    tag_fault: TagFaultFinder,
    keys: SentenceRecordKeys,
) -> Iterator[JsonRecord]:
    """Yield a record for each sentence in a BIO file. The id of the record is the
    sentence id in a comment, or else the number of the sentence in the file.
    """
    for sentence in read_bio_sentences(file, problems, tag_fault):
        value: dict[str, Any] = {
            keys.id: sentence.id or str(sentence.number),
            keys.tokens: sentence.tokens,
            keys.tags: sentence.tags,
        }
        if sentence.document:
            value[DOCUMENT_FIELD] = str(sentence.document)
        yield JsonRecord(
            file.shown, sentence.line, sentence.number, value, sentence.raw
        )


def format_bio_sentences(
    rows: Iterable[Mapping[str, Any]], keys: SentenceRecordKeys
) -> str:
    """Return the records of sentences as the text of a BIO file, with the sentence ids
    in comments.
    """
    return "\n".join(
        f"# id = {row[keys.id]}\n"
        + "".join(
            f"{token}\t{tag}\n"
            for token, tag in zip(row[keys.tokens], row[keys.tags], strict=True)
        )
        for row in rows
    )
