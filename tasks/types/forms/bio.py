"""Read and write BIO files, which contain a token and its tag on each line, and an
empty line after each sentence.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tasks.types.files import InputFile
from tasks.types.jsonlines import Record
from tasks.types.problems import Problems
from tasks.types.text import decoded, nfc

BIO = "bio"
SUFFIXES = (".bio", ".conll", ".iob", ".iob2", ".txt")
#: `DOCUMENT` is the token that begins a document in files of CoNLL 2003.
DOCUMENT = "-DOCSTART-"
_SENTENCE_ID_COMMENT = re.compile(r"#\s*(?:sent_)?id\s*=\s*(\S.*)")
#: `DOCUMENT_FIELD` is the record field with the number of the sentence's document.
#: Records have the field `DOCUMENT_FIELD` only if the BIO file separates documents.
DOCUMENT_FIELD = "document"

#: `TagFault` functions return an error message for an invalid tag, or None.
TagFault = Callable[[str], tuple[str, str] | None]


@dataclass(frozen=True)
class Keys:
    """The names of the record fields for a sentence's id, tokens and tags."""

    id: str = "id"
    tokens: str = "tokens"
    tags: str = "tags"


@dataclass(frozen=True)
class OtherToken:
    """A difference between a token of a run and the token in the gold at the same
    position.
    """

    line: int
    texts: tuple[str, str]


@dataclass
class Sentence:
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

    def differs(self, tokens: Sequence[str]) -> OtherToken | None:
        """Return the first difference between the tokens of the sentence and
        ``tokens``, or None if all tokens are equal.
        """
        for index, (own, other) in enumerate(zip(self.tokens, tokens, strict=False)):
            if nfc(own) != nfc(other):
                texts = (
                    f"the token is “{own[:100]}”",
                    f"“{other[:100]}”, as given out",
                )
                return OtherToken(self.line + index, texts)
        if len(self.tokens) == len(tokens):
            return None
        texts = (f"the sentence has {len(self.tokens)} tokens", f"{len(tokens)}")
        return OtherToken(self.line, texts)


def read_sentences(
    file: InputFile, problems: Problems, tag_fault: TagFault
) -> Iterator[Sentence]:
    """Yield the sentences of a BIO file whose lines are all valid. For every other
    sentence, record a problem for each invalid line.
    """
    sentence = Sentence(1, "", 0)
    for position, raw in enumerate(file.lines(), start=1):
        text = decoded(raw).strip("\r\n")
        if text.strip():
            if fault := _parse_bio_line(sentence, text, position, tag_fault):
                problems.append(file.problem(*fault, line=position, raw=text))
                sentence.is_sound = False
        elif sentence.line:
            if sentence.is_sound:
                yield sentence
            sentence = Sentence(sentence.number + 1, "", sentence.document)
    if sentence.line and sentence.is_sound:
        yield sentence


def _parse_bio_line(
    sentence: Sentence, text: str, place: int, tag_fault: TagFault
) -> tuple[str, str] | None:
    parts = text.split("\t") if "\t" in text else text.split(" ")
    parts = [part for own in parts if (part := own.strip())]
    if not sentence.line:
        if comment := _SENTENCE_ID_COMMENT.fullmatch(text.strip()):
            sentence.id = comment[1]
            return None
        if parts[0] == DOCUMENT:
            sentence.document += 1
            return None
        sentence.line, sentence.raw = place, text
    token, tag = parts[0], parts[-1]
    sentence.tokens.append(token)
    sentence.tags.append(tag)
    return tag_fault(tag) if len(parts) > 1 else ("no token and tag", "TOKEN TAG")


def sentence_records(
    file: InputFile, problems: Problems, tag_fault: TagFault, keys: Keys
) -> Iterator[Record]:
    """Yield a record for each sentence in a BIO file. The id of the record is the
    sentence id in a comment, or else the number of the sentence in the file.
    """
    for sentence in read_sentences(file, problems, tag_fault):
        value: dict[str, Any] = {
            keys.id: sentence.id or str(sentence.number),
            keys.tokens: sentence.tokens,
            keys.tags: sentence.tags,
        }
        if sentence.document:
            value[DOCUMENT_FIELD] = str(sentence.document)
        yield Record(file.shown, sentence.line, sentence.number, value, sentence.raw)


def written_sentences(rows: Iterable[Mapping[str, Any]], keys: Keys) -> str:
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
