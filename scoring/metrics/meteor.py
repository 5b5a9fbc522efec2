"""METEOR as implemented in NLTK, with WordNet files from a folder."""

import io
import warnings
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics.base import (
    Floats,
    Parameters,
    Requirement,
    TextMean,
    find_requirement,
)
from scoring.metrics.tokenizers import TokenizeFunction, load_tokenizer
from tasks.types.base import Options
from tasks.types.problems import SoftwareUnavailable

WORDNET_OPTION = "wordnet"


class NltkMeteor(TextMean):
    """The mean over instances of NLTK's METEOR, times 100. An empty text scores 0.

    Words match if they are equal, have the same Porter stem, or are synonyms in
    WordNet. Recall has nine times the weight of precision, and a penalty of up to one
    half applies to matches that are not adjacent. Words are the lower-case tokens of
    NLTK's Treebank tokenizer. The values of this METEOR differ from those of the
    authors' Java program, which tokenises, matches and weights words differently. The
    value is undefined unless the option ``wordnet`` names a folder.
    """

    statistic = "meteor_nltk"
    rests_on_tokens = True
    columns = ("meteor",)
    scale = 100
    citation = (
        "Lavie and Agarwal 2007, METEOR: An Automatic Metric for MT Evaluation with High Levels of "
        "Correlation with Human Judgments, WMT; as in Bird, Loper and Klein's NLTK"
    )
    packages: tuple[str, ...] = ("nltk",)

    def __init__(
        self, name: str, rules: str, *, options: Options, tokenizer: str = ""
    ) -> None:
        super().__init__(name, rules, column="meteor")
        self.tokenizer = tokenizer
        self.choose_tokenizer(options)
        if self.tokenizer:
            self.packages = (*self.packages, "sacrebleu")
        folder = options[WORDNET_OPTION]
        self.folder = Path(folder) if folder else None

    @property
    def parameters(self) -> Parameters:
        version = (
            open_wordnet_reader(self.folder).get_version()
            if self.folder
            else "not given"
        )
        return {
            **super().parameters,
            "tokenizer": self.tokenizer or "treebank",
            "stemmer": "porter",
            "wordnet": version,
        }

    def requirements(self) -> Sequence[Requirement]:
        folder = self.folder

        def find_wordnet() -> tuple[str, str]:
            if folder and (fault := describe_missing_file(folder)):
                raise SoftwareUnavailable(fault)
            return str(folder), ""

        database = (
            (find_requirement("WordNet", str(folder), find_wordnet),) if folder else ()
        )
        return (*database, *super().requirements())

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> Floats:
        if self.folder is None:
            return np.full((len(gold), len(self.columns)), np.nan)
        from nltk.translate.meteor_score import single_meteor_score

        synonyms = CachedSynsets(open_wordnet_reader(self.folder))
        pairs = (
            (self.tokens(reference), self.tokens(text))
            for reference, text in zip(gold, answers, strict=True)
        )
        scores = [single_meteor_score(*pair, wordnet=synonyms) for pair in pairs]
        return np.array(scores, dtype=np.float64).reshape(-1, 1)

    def tokens(self, text: str) -> list[str]:
        return (
            load_tokenizer(self.tokenizer)
            if self.tokenizer
            else load_treebank_tokenizer()
        )(text)


@cache
def load_treebank_tokenizer() -> TokenizeFunction:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenize: TokenizeFunction = NLTKWordTokenizer().tokenize
    return tokenize


REQUIRED_WORDNET_FILES = tuple(
    f"{kind}.{part}"
    for kind in ("data", "index")
    for part in ("noun", "verb", "adj", "adv")
)
#: WordNet has this number of lexicographer files.
#: METEOR does not need the list of lexicographer file names, which Debian omits.
NUMBER_OF_LEXICOGRAPHER_FILES = 45


def describe_missing_file(folder: Path) -> str:
    """Return a message that names the first missing WordNet file, or an empty text if
    no file is missing.
    """
    absent = [name for name in REQUIRED_WORDNET_FILES if not (folder / name).is_file()]
    return (
        f"{folder} has no {absent[0]}, which the database of WordNet has"
        if absent
        else ""
    )


@lru_cache(maxsize=2)
def open_wordnet_reader(folder: Path) -> Any:
    """Return NLTK's reader of the WordNet files in a folder. Raises Unavailable if a
    file of WordNet is missing.
    """
    if fault := describe_missing_file(folder):
        raise SoftwareUnavailable(fault)
    from nltk.corpus.reader.wordnet import WordNetCorpusReader
    from nltk.data import PathPointer, SeekableUnicodeStreamReader

    class FolderPointer(PathPointer):
        """An NLTK path pointer to any folder. NLTK's own path pointers accept only
        NLTK's data folders.
        """

        def __init__(self, path: Path) -> None:
            self.path = path

        def open(self, encoding: str | None = None) -> Any:
            return SeekableUnicodeStreamReader(
                io.BytesIO(self.path.read_bytes()), encoding
            )

        def join(self, name: str) -> "FolderPointer":
            return FolderPointer(self.path / name)

        def file_size(self) -> int:
            return self.path.stat().st_size

    class FolderWordNetReader(WordNetCorpusReader):
        def open(self, name: str) -> Any:
            if name == "lexnames":
                return io.StringIO(
                    "".join(
                        f"{n:02} {n} 0\n" for n in range(NUMBER_OF_LEXICOGRAPHER_FILES)
                    )
                )
            # The file is read into memory, because NLTK never closes files.
            return SeekableUnicodeStreamReader(
                io.BytesIO((folder / name).read_bytes()), "utf-8"
            )

        def map_wn(self, version: str = "wordnet") -> None:
            """Do nothing, because METEOR uses one version of WordNet, and no language
            except English.
            """

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FolderWordNetReader(FolderPointer(folder), None)


class CachedSynsets:
    """The WordNet methods that NLTK's METEOR calls, with cached results."""

    def __init__(self, wordnet: Any) -> None:
        self._wordnet = wordnet
        self._known: dict[str, Sequence[Any]] = {}

    def synsets(self, word: str) -> Sequence[Any]:
        if word not in self._known:
            self._known[word] = self._wordnet.synsets(word)
        return self._known[word]
