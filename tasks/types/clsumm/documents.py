"""Papers as the corpus has them: sentence by sentence, in XML that is not always whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tasks.types.files import InputFile
from tasks.types.text import decoded, unescaped

TITLE = "Title"
_TAG = re.compile(r"<(/?)\s*+([A-Za-z]++)([^<>]*+)>")
_ATTRIBUTE = re.compile(r"(?<!\w)(\w++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)')")


@dataclass(frozen=True)
class Sentence:
    """One sentence.

    ``sid`` is unique in the paper, ``section`` is the title of the section that it stands in, ``Title`` for
    the paper's own.
    """

    sid: str
    text: str
    section: str


def read_sentences(file: InputFile) -> list[Sentence]:
    """The sentences of a paper in their order, entities decoded.

    Read tag by tag rather than as XML, since some released papers leave elements open, mix encodings or put
    blanks around the equals signs; none of that loses a sentence here.
    """
    return list(_sentences(decoded(file.read())))


def _sentences(text: str) -> list[Sentence]:
    sentences: list[Sentence] = []
    section = TITLE
    tags = list(_TAG.finditer(text))
    for here, following in zip(tags, [*tags[1:], None], strict=True):
        closing, name = here[1], here[2].upper()
        if closing:
            continue
        if name in ("SECTION", "ABSTRACT"):
            section = _attributes(here[3]).get("title", "Abstract" if name == "ABSTRACT" else "")
        elif name == "S":
            inside = text[here.end() : following.start() if following else len(text)]
            sid = _attributes(here[3]).get("sid", str(len(sentences)))
            sentences.append(Sentence(sid, unescaped(inside).strip(), section))
    return sentences


def _attributes(text: str) -> dict[str, str]:
    return {match[1]: unescaped(match[2] or match[3] or "") for match in _ATTRIBUTE.finditer(text)}
