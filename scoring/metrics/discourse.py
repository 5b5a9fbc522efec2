"""Split citation texts into sentences, label the sentences, and compare label
distributions by divergences.

The official rules follow section 5 of the CiteBench paper (2023) and CiteBench's
notebook on citation classification. For intents, CiteBench runs spaCy's rule-based
sentencizer and joins a sentence that does not end in a full stop with the next
sentence, without a space. For CORWA, CiteBench runs NLTK's Punkt and joins sentences
with a space after abbreviations such as `e.g.`, which end no sentence. The splitter
`rules` contains our own splitting rules for scholarly prose and needs no data. Unless
the rule set is official, citation texts are split like the answers of positional
citations.
"""

import hashlib
import json
import math
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import (
    Floats,
    Metric,
    Parameters,
    Requirement,
    find_requirement,
    quotient,
)
from tasks.types.base import OFFICIAL, Option, Options
from tasks.types.citation_text import metrics as declared
from tasks.types.citation_text.instances import (
    CORWA_SCHEME,
    CitationTextInstance,
    PredictedCitationText,
)
from tasks.types.positional_citations.sentences import (
    SPLITTING_RULES_2_PER_BLOCK,
    split_into_claim_sentences,
)
from tasks.types.problems import SoftwareUnavailable, convert_to_unavailable
from tasks.types.text import make_punkt_name, split_sentences_with_punkt

#: Sentences with at most this many tokens are dropped.
MAX_TOKENS_OF_DROPPED_SENTENCE = 5
#: CiteBench recognises only citation marks with one digit, so `[10]` is not a mark.
ONE_DIGIT_MARK_PATTERN = re.compile(r"\[\d\]")
_ABBREVIATION_ENDINGS = (" et.", " al.", "al.", "e.g.", "i.e.")
_MAX_ABBREVIATION_CHARS = max(map(len, _ABBREVIATION_ENDINGS))
#: The pattern matches at least 16 repetitions of a character that ends no sentence.
#: The number of repetitions of a character does not influence sentence boundaries.
_REPEATED_PUNCTUATION_PATTERN = re.compile(r"([\"#-'(-,/:->@\[-`{-~-])\1{15,}$")
_NON_ASCII_PATTERN = re.compile(r"[^\x00-\x7f]+")

#: Each change of our splitting rules increases this version, which data sheets state.
SPLITTING_RULES_VERSION = "citeboard-sentences-1"

#: A full stop after these abbreviations never ends a sentence.
_ABBREVIATIONS_NEVER_LAST = frozenset(
    (
        "al",
        "et",
        "e.g",
        "i.e",
        "cf",
        "vs",
        "viz",
        "resp",
        "approx",
        "ca",
        "no",
        "nos",
        "vol",
        "pp",
        "fig",
        "figs",
        "tab",
        "eq",
        "eqs",
        "eqn",
        "sec",
        "secs",
        "sect",
        "ref",
        "refs",
        "ch",
        "chap",
        "thm",
        "lem",
        "prop",
        "cor",
        "def",
        "app",
        "ed",
        "eds",
        "dr",
        "prof",
        "mr",
        "mrs",
        "ms",
        "st",
        "jr",
        "dept",
        "univ",
    )
)
#: A full stop after these abbreviations ends a sentence before a capital letter.
_ABBREVIATIONS_SELDOM_LAST = frozenset(
    ("etc", "inc", "ltd", "co", "corp", "a.m", "p.m")
)
_SENTENCE_END_PATTERN = re.compile(r"(?<![.?!])[.?!]++[\"'”’)\]\ue000]*+(?=\s|$)")
_NEXT_CHARACTER_PATTERN = re.compile(r"\s*+(\S)")
#: Longer words before a full stop are not looked up among the abbreviations.
_MAX_WORD_CHARS = 64
_SENTENCE_START_PATTERN = re.compile(
    r"[\"'“‘(\[\s]*(?:[A-Z0-9À-ÖØ-ÞΑ-Ω]|\ue000|<|\\|\$|\{\{)"
)
_NAME_INITIAL_PATTERN = re.compile(r"(?:^|[\s(.\-])[A-ZÀ-Þ]$")

SentenceSplitFunction = Callable[[str], list[str]]


def split_by_rules(text: str) -> list[str]:
    """Split a text into sentences by our rules, which treat a citation mark such as
    `[0]` as an ordinary word. Rule sets that are not official use `split_into_claim_sentences`
    instead of this function.
    """
    return [text[start:end] for start, end in iterate_sentence_spans(text)]


def split_by_sentencizer(text: str) -> list[str]:
    """Split a text into sentences as CiteBench does for intents. Raises Unavailable
    without spaCy.
    """
    sentences: list[list[str]] = []
    is_open = False
    for span in _load_spacy_sentencizer()(text).sents:
        if not is_open:
            sentences.append([])
        sentences[-1].append(span.text)
        is_open = not span.text.endswith(".")
    return ["".join(pieces) for pieces in sentences]


def split_by_punkt(text: str) -> list[str]:
    """Split a text into sentences as CiteBench does for CORWA, which keeps only ASCII
    characters.
    """
    return [
        _NON_ASCII_PATTERN.sub("", sentence)
        for sentence in join_after_abbreviations(split_sentences_with_punkt(text))
    ]


def join_after_abbreviations(sentences: Sequence[str]) -> list[str]:
    groups: list[list[str]] = []
    end = ""
    for sentence in sentences:
        if groups and end.endswith(_ABBREVIATION_ENDINGS):
            groups[-1].append(sentence)
            end = f"{end} {sentence}"[-_MAX_ABBREVIATION_CHARS:]
        else:
            groups.append([sentence])
            end = sentence[-_MAX_ABBREVIATION_CHARS:]
    return [" ".join(pieces) for pieces in groups]


SPLITTER_BY_NAME: dict[str, SentenceSplitFunction] = {
    "rules": split_by_rules,
    #: Rule sets that are not official use this splitter.
    "blocks": split_into_claim_sentences,
    "sentencizer": split_by_sentencizer,
    "punkt": split_by_punkt,
}


def format_splitter_name(option: str) -> str:
    """Return the sentence splitter's name in metric signatures, which is the version of
    our rules, or a package and its version.
    """
    if option == "rules":
        return SPLITTING_RULES_VERSION
    if option == "blocks":
        return SPLITTING_RULES_2_PER_BLOCK
    if option == "punkt":
        return make_punkt_name()
    try:
        return f"{option}-spacy-{version('spacy')}"
    except ModuleNotFoundError:
        return f"{option}-spacy-missing"


def split_into_counted_sentences(
    text: str, splitter: str, *, marked_only: bool = False
) -> list[str]:
    """Return the sentences of more than five tokens. If ``marked_only`` is True, return
    only sentences with a citation mark of one digit.
    """
    long = [
        sentence
        for sentence in SPLITTER_BY_NAME[splitter](text)
        if count_tokens(sentence) > MAX_TOKENS_OF_DROPPED_SENTENCE
    ]
    return (
        [sentence for sentence in long if ONE_DIGIT_MARK_PATTERN.search(sentence)]
        if marked_only
        else long
    )


def count_tokens(sentence: str) -> int:
    """Count the Penn Treebank tokens of a sentence, as NLTK does."""
    return len(_load_nltk_tokenizer().tokenize(sentence))


@cache
def _load_nltk_tokenizer() -> Any:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


@cache
def _load_spacy_sentencizer() -> Any:
    with convert_to_unavailable(
        "spaCy is not installed, which discourse_sentences=sentencizer needs; `make models` installs it"
    ):
        import spacy
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    # Texts may have any practical length, because memory use is linear in their length.
    pipeline.max_length = 1 << 30
    # A sequence of one repeated character is one token.
    # Splitting a long sequence into characters would take spaCy quadratic time.
    tokenizer: Any = pipeline.tokenizer
    tokenizer.token_match = _REPEATED_PUNCTUATION_PATTERN.match
    return pipeline


def iterate_sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence, without surrounding whitespace.

    Callers replace citation marks by the character U+E000. A citation mark directly
    after a full stop, as in superscript styles, belongs to the preceding sentence.
    """
    start = 0
    for mark in _SENTENCE_END_PATTERN.finditer(text):
        if mark.end() == len(text) or _is_sentence_end(text, start, mark):
            yield from _iterate_trimmed_spans(text, start, mark.end())
            start = mark.end()
    yield from _iterate_trimmed_spans(text, start, len(text))


def _is_sentence_end(text: str, start: int, mark: re.Match[str]) -> bool:
    if not _SENTENCE_START_PATTERN.match(text, mark.end()):
        return False
    if not mark[0].startswith("."):
        return True
    before = text[max(start, mark.start() - _MAX_WORD_CHARS) : mark.start()]
    lowered = re.split(r"[\s(\[]", before)[-1].rstrip("\"'”’").lower().strip("([{")
    if lowered in _ABBREVIATIONS_NEVER_LAST or _NAME_INITIAL_PATTERN.search(before):
        return False
    # A sentence ends after `etc.` before a capital letter, but not before a bracket.
    following = _NEXT_CHARACTER_PATTERN.match(text, mark.end())
    return lowered not in _ABBREVIATIONS_SELDOM_LAST or bool(
        following and following[1].isupper()
    )


def _iterate_trimmed_spans(
    text: str, start: int, end: int
) -> Iterator[tuple[int, int]]:
    if inner := text[start:end].strip():
        start = text.index(inner, start)
        yield start, start + len(inner)


TAGGER_FORMAT = "citeboard-tagger-1"
TAGGER_MODEL_FILE, TAGGER_MANIFEST_FILE = "model.npz", "manifest.json"
#: The classifier's features are words, pairs of words, and 2 to 5 characters in a word.
VECTORIZER_SETTINGS_BY_BLOCK: Mapping[str, Mapping[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2), "sublinear_tf": True},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True},
}
#: The tagger labels this number of sentences at once.
SENTENCES_PER_BATCH = 4096
#: Folders of the bundled taggers, keyed by the taggers' names in options.
BUNDLED_TAGGER_FOLDERS = {
    declared.ACL_ARC_TAGGER: Path(__file__).resolve().parent
    / "taggers"
    / declared.ACL_ARC_TAGGER
}


@dataclass(frozen=True, kw_only=True)
class SentenceTagger:
    """A sentence classifier with TF-IDF features of words and characters and logistic
    regression, stored without pickle.

    `model.npz` contains the arrays. `manifest.json` describes the origin and the
    accuracy of the classifier. Loading a stored classifier executes no code. The
    predicted labels equal those of the original scikit-learn model exactly. ``terms``
    and ``idf`` map each block of features to the terms and their inverse document
    frequencies. ``weights`` is an array (rows, terms of all blocks) with one row per
    label. With two labels, ``weights`` has a single row, for the second label.
    """

    labels: tuple[str, ...]
    terms: Mapping[str, tuple[str, ...]]
    idf: Mapping[str, Floats]
    weights: Floats
    intercepts: Floats

    def tag(self, sentences: Sequence[str]) -> list[str]:
        """Return the most probable label of each sentence, or the first of several
        equally probable labels.
        """
        from scipy.sparse import hstack

        tags: list[str] = []
        for start in range(0, len(sentences), SENTENCES_PER_BATCH):
            batch = sentences[start : start + SENTENCES_PER_BATCH]
            inputs = hstack(
                [block.transform(batch) for block in self._vectorizers], format="csr"
            )
            scores: Floats = np.asarray(inputs @ self.weights.T) + self.intercepts
            places = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
            tags += [self.labels[int(place)] for place in places]
        return tags

    @cached_property
    def _vectorizers(self) -> list[Any]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        blocks = []
        for name, settings in VECTORIZER_SETTINGS_BY_BLOCK.items():
            block = TfidfVectorizer(
                vocabulary={term: index for index, term in enumerate(self.terms[name])},
                **settings,
            )
            block.idf_ = self.idf[name]
            blocks.append(block)
        return blocks

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 digest of the classifier's labels and arrays."""
        digest = hashlib.sha256(TAGGER_FORMAT.encode())
        for name, array in sorted(self._collect_parameter_arrays().items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _collect_parameter_arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "labels": _pack_texts(self.labels),
            "weights": self.weights,
            "intercepts": self.intercepts,
            **{
                f"terms:{name}": _pack_texts(terms)
                for name, terms in self.terms.items()
            },
            **{f"idf:{name}": idf for name, idf in self.idf.items()},
        }

    def save(self, folder: Path, description: Mapping[str, Any]) -> None:
        """Write the tagger to a folder. ``description`` adds entries to the file
        `manifest.json`.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / TAGGER_MODEL_FILE).open("wb") as file:
            np.savez_compressed(file, **self._collect_parameter_arrays())  # type: ignore[arg-type]
        manifest = {
            "format": TAGGER_FORMAT,
            "sha256": self.digest,
            "labels": list(self.labels),
            **description,
        }
        (folder / TAGGER_MANIFEST_FILE).write_text(
            json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
        )

    @classmethod
    def load(cls, folder: Path) -> "SentenceTagger":
        """Load a tagger. Raises Unavailable if the folder has no tagger, or if the
        tagger's digest differs from the manifest.
        """
        try:
            manifest = json.loads((folder / TAGGER_MANIFEST_FILE).read_text())
            with np.load(folder / TAGGER_MODEL_FILE) as kept:
                tagger = cls(
                    labels=_unpack_texts(kept["labels"]),
                    terms={
                        name: _unpack_texts(kept[f"terms:{name}"])
                        for name in VECTORIZER_SETTINGS_BY_BLOCK
                    },
                    idf={
                        name: _require_finite_floats(kept[f"idf:{name}"])
                        for name in VECTORIZER_SETTINGS_BY_BLOCK
                    },
                    weights=_require_finite_floats(kept["weights"]),
                    intercepts=_require_finite_floats(kept["intercepts"]),
                )
            _require_complete_tagger(tagger)
        except FileNotFoundError as missing:
            raise SoftwareUnavailable(
                f"there is no tagger in {folder}: {TAGGER_MANIFEST_FILE} or {TAGGER_MODEL_FILE} is missing"
            ) from missing
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as broken:
            raise SoftwareUnavailable(
                f"the tagger in {folder} cannot be read: {broken}"
            ) from broken
        if not isinstance(manifest, dict) or manifest.get("format") != TAGGER_FORMAT:
            raise SoftwareUnavailable(
                f"{folder / TAGGER_MANIFEST_FILE} does not say format {TAGGER_FORMAT}"
            )
        if manifest.get("sha256") != tagger.digest:
            raise SoftwareUnavailable(
                f"the tagger in {folder} is not the one of its manifest: the digests differ"
            )
        return tagger


def _require_complete_tagger(tagger: SentenceTagger) -> None:
    faults: list[str] = []
    labels, terms = len(tagger.labels), sum(map(len, tagger.terms.values()))
    rows = 1 if labels == 2 else labels
    if labels < 2 or len(set(tagger.labels)) < labels:
        faults.append(f"{labels} labels, expected two or more different ones")
    if tagger.weights.shape != (rows, terms):
        faults.append(f"weights of {tagger.weights.shape}, expected {(rows, terms)}")
    if tagger.intercepts.shape != (rows,):
        faults.append(f"intercepts of {tagger.intercepts.shape}, expected {(rows,)}")
    for name, words in tagger.terms.items():
        if len(set(words)) < len(words) or not words:
            faults.append(f"{len(words)} terms of {name}, expected different ones")
        if tagger.idf[name].shape != (len(words),):
            faults.append(
                f"{tagger.idf[name].shape} frequencies of {name}, expected {(len(words),)}"
            )
    if faults:
        raise ValueError("; ".join(faults))


def _pack_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(
        json.dumps(list(texts), ensure_ascii=False).encode(), dtype=np.uint8
    )


def _unpack_texts(array: NDArray[Any]) -> tuple[str, ...]:
    texts = json.loads(array.tobytes())
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("found no list of texts")
    return tuple(texts)


def _require_finite_floats(array: NDArray[Any]) -> Floats:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"numbers of {array.dtype}, expected finite ones of float64")
    return array


class TextWithLabels(Protocol):
    """The text of a gold target or of a prediction, with the sentence labels that its
    file supplies for some label schemes.
    """

    @property
    def text(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, Sequence[str]]: ...


@dataclass(frozen=True)
class LabellingScheme:
    """The sentence labels of one scheme, such as citation intents, under a task's
    options.

    The sentence tagger is loaded on first use. If ``is_official`` is True, sentences
    are processed as in CiteBench. Raises OptionRefused for an invalid set of labels.
    """

    scheme: str
    options: Options
    is_official: bool = False

    def __post_init__(self) -> None:
        declared.parse_label_set(self.scheme, self.options)

    def _read_option(self, option: Option) -> str:
        return self.options.get(option.name, option.default)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return declared.parse_label_set(self.scheme, self.options)

    @property
    def sentence_selection_rule(self) -> str:
        """Return the name of the rule that selects sentences. Official rules always use
        CiteBench's selection of sentences.
        """
        return (
            declared.ORIGINAL_DIVERGENCE
            if self.is_official
            else self._read_option(declared.DIVERGENCE_OPTION)
        )

    @property
    def splitter_option(self) -> str:
        chosen = self._read_option(declared.SENTENCE_SPLITTER_OPTION)
        if chosen == declared.AUTOMATIC_SPLITTER:
            is_corwa = self.scheme == CORWA_SCHEME
            chosen = "punkt" if self.is_official and is_corwa else "rules"
        return "blocks" if chosen == "rules" and not self.is_official else chosen

    @property
    def folder(self) -> str:
        """Return the folder of the sentence tagger, or an empty text if the options
        name no tagger.
        """
        value = self._read_option(declared.TAGGER_OPTIONS[self.scheme])
        return str(BUNDLED_TAGGER_FOLDERS.get(value, value))

    @property
    def has_bundled_tagger(self) -> bool:
        return (
            self._read_option(declared.TAGGER_OPTIONS[self.scheme])
            in BUNDLED_TAGGER_FOLDERS
        )

    @cached_property
    def tagger(self) -> SentenceTagger | None:
        """Return the sentence tagger, or None if no folder is set. Raises Unavailable."""
        if not self.folder:
            return None
        loaded = SentenceTagger.load(Path(self.folder))
        if further := sorted(set(loaded.labels) - set(self.labels)):
            message = f"the {self.scheme} tagger gives {', '.join(further)}"
            raise SoftwareUnavailable(
                f"{message}, which {self.scheme}_labels does not list"
            )
        return loaded

    @property
    def parameters(self) -> Mapping[str, str]:
        """Return the settings of the sentence labels, as written in the signature.
        Raises Unavailable.
        """
        tagger = self.tagger
        digest = hashlib.sha256(",".join(self.labels).encode()).hexdigest()[:8]
        return {
            "labels": f"{len(self.labels)}-{digest}",
            "labelled": self._read_option(declared.LABEL_SOURCE_OPTION),
            "sentences": format_splitter_name(self.splitter_option),
            "short": "dropped",
            "tagger": tagger.digest[:12] if tagger else "none",
            "treatment": self.sentence_selection_rule,
        }

    @property
    def packages(self) -> tuple[str, ...]:
        return ("nltk", "scikit-learn") if self.folder else ()

    def labelled(
        self, texts: Sequence[TextWithLabels | None], *, is_gold: bool
    ) -> "list[SentenceLabels | None]":
        marked_only = (
            is_gold and self.sentence_selection_rule == declared.ORIGINAL_DIVERGENCE
        )
        tagged: list[SentenceLabels | None] = [None] * len(texts)
        to_tag: dict[int, list[str]] = {}
        for place, text in enumerate(texts):
            if text is None:
                continue
            if (
                self._read_option(declared.LABEL_SOURCE_OPTION)
                == declared.SUPPLIED_LABELS
                and self.scheme in text.labels
            ):
                tagged[place] = SentenceLabels(
                    text.labels[self.scheme], LabelSource.SUPPLIED
                )
            elif self.tagger is None:
                tagged[place] = SentenceLabels((), LabelSource.NOBODY)
            else:
                to_tag[place] = split_into_counted_sentences(
                    text.text, self.splitter_option, marked_only=marked_only
                )
        if self.tagger is not None:
            tags = iter(
                self.tagger.tag(
                    [sentence for text in to_tag.values() for sentence in text]
                )
            )
            for place, sentences in to_tag.items():
                tagged[place] = SentenceLabels(
                    [next(tags) for _ in sentences], LabelSource.TAGGED
                )
        return tagged


class LabelSource(IntEnum):
    """The source of the labels of a text."""

    SUPPLIED = 0
    TAGGED = 1
    NOBODY = 2


SIDE_NAMES = ("run", "gold")
RUN_SIDE, GOLD = range(2)
#: The last matrix columns count the texts of run and gold by source of the labels.
SOURCE_COUNT_COLUMNS = len(SIDE_NAMES) * len(LabelSource)


@dataclass(frozen=True)
class SentenceLabels:
    """The labels of a text's sentences, in any order, and their source."""

    labels: Sequence[str]
    source: LabelSource


def build_label_count_matrix(
    labels: Sequence[str],
    datasets: Sequence[str],
    sides: Sequence[tuple[SentenceLabels | None, SentenceLabels | None]],
) -> Floats:
    """Return an array (n, D·2·(L+1) + 6) with the label counts of n instances, for D
    data sets and L labels.

    ``sides`` contains the labelled texts of run and gold for each instance. None in
    ``sides`` stands for a missing text, which does not count as an unlabelled text.
    """
    names = list(dict.fromkeys(datasets))
    column = {label: index for index, label in enumerate(labels)}
    width = len(labels) + 1
    counts = np.zeros((len(datasets), max(1, len(names)), len(SIDE_NAMES), width))
    tail = np.zeros((len(datasets), len(SIDE_NAMES), len(LabelSource)))
    for row, (dataset, texts) in enumerate(zip(datasets, sides, strict=True)):
        for side, text in enumerate(texts):
            if text is None:
                continue
            tail[row, side, text.source] = 1
            for label in text.labels:
                counts[
                    row, names.index(dataset), side, column.get(label, width - 1)
                ] += 1
    return np.hstack(
        [counts.reshape(len(datasets), -1), tail.reshape(len(datasets), -1)]
    )


def reshape_label_counts(sums: Floats, labels: int) -> Floats:
    """Reshape (…, k) sums of rows to (…, D, 2, L+1) counts by data set, by run or gold,
    and by label.
    """
    return sums[..., :-SOURCE_COUNT_COLUMNS].reshape(
        *sums.shape[:-1], -1, len(SIDE_NAMES), labels + 1
    )


def count_texts_by_source(stats: Floats) -> Mapping[tuple[str, LabelSource], int]:
    """Count the texts of run and gold for each source of labels, from an (n, k)
    matrix.
    """
    tail = (
        stats[:, -SOURCE_COUNT_COLUMNS:]
        .sum(axis=0)
        .reshape(len(SIDE_NAMES), len(LabelSource))
    )
    return {
        (side, source): int(tail[index, source])
        for index, side in enumerate(SIDE_NAMES)
        for source in LabelSource
    }


#: Names of the notes that state the number of texts for each source of labels.
_NOTE_NAMES_BY_SOURCE = {
    LabelSource.SUPPLIED: "texts_of_the_{side}_with_{scheme}_labels_of_their_own",
    LabelSource.TAGGED: "texts_of_the_{side}_with_{scheme}_labels_of_the_tagger",
    LabelSource.NOBODY: "texts_of_the_{side}_without_{scheme}_labels",
}


class Divergence(Metric):
    """KL(P || Q) in nats.

    P is the distribution of labels among all sentences of the system, Q the
    distribution among all sentences of the gold. The divergence is infinite if the
    system has a label that the gold lacks. The divergence is undefined if system or
    gold has no labelled sentence. Labels outside of the label set count as one label
    that the gold never has. Official rules process sentences as CiteBench does. Raises
    OptionRefused for an invalid label set.
    """

    shape = "divergence"
    own_version = 2
    higher_is_better: bool | None = False
    #: Bias-corrected intervals may be negative, as few sentences bias values upwards.
    ends = (-math.inf, math.inf)
    fixed = {"form": "pooled"}
    citation = "Funkquist et al. 2023, CiteBench: A Benchmark for Scientific Citation Text Generation, EMNLP"

    def __init__(self, name: str, rules: str, *, scheme: str, options: Options) -> None:
        super().__init__(name, rules)
        self.scheme = scheme
        self.statistic = f"discourse_{scheme}"
        self.labelling = LabellingScheme(scheme, options, rules == OFFICIAL)
        self.packages = self.labelling.packages

    @property
    def parameters(self) -> Parameters:
        return {**self.fixed, **self.labelling.parameters}

    @property
    def needs_model(self) -> bool:
        """Return True for a tagger that is not bundled and may load slowly. The bundled
        tagger loads within a second.
        """
        return bool(self.labelling.folder) and not self.labelling.has_bundled_tagger

    def requirements(self) -> Sequence[Requirement]:
        folder = self.labelling.folder
        if not folder:
            return ()
        kind = f"{self.scheme} tagger"
        return (
            find_requirement(
                kind, folder, lambda: (folder, self.labelling.parameters["tagger"])
            ),
        )

    def instance_stats(
        self,
        gold: Sequence[CitationTextInstance | None],
        answers: Sequence[PredictedCitationText | None],
    ) -> Floats:
        """Return the matrix of `build_label_count_matrix`, an array (n, D·2·(L+1) + 6). Answers
        without gold are excluded.
        """
        paired = [
            answer if gold_answer else None
            for gold_answer, answer in zip(gold, answers, strict=True)
        ]
        labelled = self.labelling.labelled
        sides = zip(
            labelled(paired, is_gold=False), labelled(gold, is_gold=True), strict=True
        )
        first = next((gold_answer.dataset for gold_answer in gold if gold_answer), "")
        datasets = [
            gold_answer.dataset if gold_answer else first for gold_answer in gold
        ]
        return build_label_count_matrix(self.labelling.labels, datasets, list(sides))

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """Count the texts of run and gold with supplied labels, with labels of the
        tagger, and without labels.
        """
        counts = count_texts_by_source(stats).items()
        return {
            _NOTE_NAMES_BY_SOURCE[by].format(side=side, scheme=self.scheme): count
            for (side, by), count in counts
        }

    def counts(self, sums: Floats) -> Floats:
        """Return (…, D, 2, L+1) counts of labels by data set, by run or gold, and by
        label.
        """
        return reshape_label_counts(sums, len(self.labelling.labels))

    def denominators(self, rows: Floats) -> Floats:
        return np.asarray(self.counts(rows).sum(axis=(-3, -2, -1)))

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums).sum(axis=-3)
        return compute_kl_divergence(
            compute_label_shares(counts[..., RUN_SIDE, :]),
            compute_label_shares(counts[..., GOLD, :]),
        )


class SmoothedDivergence(Divergence):
    """The divergence computed after adding half a sentence per label to the label
    counts of system and gold. The smoothed divergence is finite if system and gold each
    have a sentence.

    Labels outside of the label set count as one label. The smoothing is that of
    Krichevsky and Trofimov 1981 (The Performance of Universal Encoding).
    """

    fixed = {"form": "smoothed"}

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums).sum(axis=-3)
        smoothed = compute_label_shares(
            np.where(counts.sum(axis=-1, keepdims=True) > 0, counts + 0.5, 0.0)
        )
        return compute_kl_divergence(smoothed[..., RUN_SIDE, :], smoothed[..., GOLD, :])


class SuppliedDivergence(Divergence):
    """The divergence between the sentence labels that run and gold supply themselves.
    The tagger is ignored.

    This divergence never ranks runs, because a run's authors choose the run's labels.
    """

    higher_is_better = None
    fixed = {"form": "supplied"}

    def __init__(self, name: str, rules: str, *, scheme: str, options: Options) -> None:
        options = {
            **options,
            declared.LABEL_SOURCE_OPTION.name: declared.SUPPLIED_LABELS,
            declared.TAGGER_OPTIONS[scheme].name: "",
        }
        super().__init__(name, rules, scheme=scheme, options=options)
        self.statistic = f"supplied_{scheme}"

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """Return no notes, because the other divergences report the sources of labels."""
        return {}


class PublishedDivergence(Divergence):
    """The mean over data sets of KL(P || Q) in nats. P is the mean over all data sets
    of the system's label distributions, and Q is the gold's label distribution in one
    data set. If the system has no sentence in a data set, zeros replace the system's
    distribution for this data set. The shares in P may then sum to less than 1, and the
    divergence may be negative. In results for classes, P is computed on all data sets
    and Q on the gold of the class.
    """

    is_decomposable = False
    fixed = {"form": "published"}

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums)
        values = compute_published_divergence(
            counts[..., RUN_SIDE, :], counts[..., GOLD, :]
        )
        is_known = ~np.isnan(values)
        return quotient(
            np.where(is_known, values, 0.0).sum(axis=-1), is_known.sum(axis=-1)
        )

    def of_class(self, sums: Floats, whole: Floats) -> Floats:
        gold = self.counts(sums)[..., GOLD, :].sum(axis=-2)
        return compute_kl_divergence(
            compute_macro_average(self.counts(whole)[..., RUN_SIDE, :]),
            compute_label_shares(gold),
        )


def compute_label_shares(counts: Floats) -> Floats:
    """Return (…, L) counts of labels divided by the sum of the counts, or NaN if the
    sum is 0.
    """
    return quotient(counts, counts.sum(axis=-1, keepdims=True))


def compute_kl_divergence(p: Floats, q: Floats) -> Floats:
    """Return KL(P || Q) in nats over the last axis of (…, L) shares, or NaN if P or Q
    is undefined.
    """
    p, q = np.broadcast_arrays(
        np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p == 0, 0.0, p * np.log(p / q)).sum(axis=-1))


def compute_macro_average(counts: Floats) -> Floats:
    """Return the mean of the data sets' label shares, an array (…, L), from (…, D, L)
    counts of labels. A data set without labels contributes zeros to the mean.

    The mean is NaN if all data sets are empty.
    """
    share = compute_label_shares(counts)
    is_empty = np.asarray(np.isnan(share).any(axis=-1))
    mean = np.where(is_empty[..., None], 0.0, share).mean(axis=-2)
    return np.where(np.asarray(is_empty.all(axis=-1))[..., None], np.nan, mean)


def compute_published_divergence(system: Floats, gold: Floats) -> Floats:
    """Return an array (…, D) with the divergence of the system's macro average from the
    gold of each data set, as CiteBench computes it.

    ``system`` and ``gold`` are (…, D, L) counts of labels.
    """
    return compute_kl_divergence(
        compute_macro_average(system)[..., None, :], compute_label_shares(gold)
    )
