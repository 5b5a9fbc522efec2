"""What sentences do in a text: where they end, which of them count, and who labels them.

After CiteBench (Funkquist et al. 2023, section 5 and its notebook on citation classification). Its step for
intents runs spaCy's rule-based sentencizer and glues each piece that does not end in a full stop to the next,
without a space; its step for CORWA runs NLTK's Punkt and glues behind `et. al.`, `al.`, `e.g.` and `i.e.`,
with one. A third splitter are rules of our own for scholarly prose, which need no data; outside of the
official rules a text is split as the answers of positional citations are.
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
    looked_for,
    quotient,
)
from tasks.types.base import OFFICIAL, Option, Options
from tasks.types.citation_text import metrics as declared
from tasks.types.citation_text.instances import CORWA, Instance, Prediction
from tasks.types.positional_citations.sentences import RULES_IN_BLOCKS, sentences_of
from tasks.types.problems import Unavailable, needed
from tasks.types.text import punkt_name, punkt_sentences

#: Sentences of so many tokens or fewer are dropped.
SHORT = 5
#: What the original takes for a citation mark: of one digit, so that `[10]` is none.
ONE_DIGIT_MARK = re.compile(r"\[\d\]")
_GLUED = (" et.", " al.", "al.", "e.g.", "i.e.")
_MAX_GLUED = max(map(len, _GLUED))
#: Of one ASCII sign that ends no sentence; where sentences end does not depend on how many are one token.
_LONG_RUN = re.compile(r"([\"#-'(-,/:->@\[-`{-~-])\1{15,}$")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")

#: Named in every data sheet; raised when a rule changes.
RULES = "citeboard-sentences-1"

#: After these a full stop ends no sentence, whatever follows.
_NEVER_LAST = frozenset(
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
#: After these it may end one, where the next word looks like a beginning.
_SELDOM_LAST = frozenset(("etc", "inc", "ltd", "co", "corp", "a.m", "p.m"))
_END = re.compile(r"(?<![.?!])[.?!]++[\"'”’)\]\ue000]*+(?=\s|$)")
_NEXT = re.compile(r"\s*+(\S)")
#: No longer word is looked at before a full stop.
_MAX_WORD = 64
_BEGINNING = re.compile(r"[\"'“‘(\[\s]*(?:[A-Z0-9À-ÖØ-ÞΑ-Ω]|\ue000|<|\\|\$|\{\{)")
_INITIAL = re.compile(r"(?:^|[\s(.\-])[A-ZÀ-Þ]$")

Splitter = Callable[[str], list[str]]


def by_rules(text: str) -> list[str]:
    """Split as the rules that build diagnostic sets do; a mark `[0]` is a word like others.

    Outside of the official rules `sentences_of` splits in their place.
    """
    return [text[start:end] for start, end in sentence_spans(text)]


def by_sentencizer(text: str) -> list[str]:
    """As CiteBench splits for intents. Raises Unavailable where spaCy is not installed."""
    sentences: list[list[str]] = []
    is_open = False
    for span in _sentencizer()(text).sents:
        if not is_open:
            sentences.append([])
        sentences[-1].append(span.text)
        is_open = not span.text.endswith(".")
    return ["".join(pieces) for pieces in sentences]


def by_punkt(text: str) -> list[str]:
    """As CiteBench splits for CORWA: ASCII alone is left."""
    return [_NOT_ASCII.sub("", sentence) for sentence in glued(punkt_sentences(text))]


def glued(sentences: Sequence[str]) -> list[str]:
    """Sentences that end in an abbreviation, with the next one behind them."""
    groups: list[list[str]] = []
    end = ""
    for sentence in sentences:
        if groups and end.endswith(_GLUED):
            groups[-1].append(sentence)
            end = f"{end} {sentence}"[-_MAX_GLUED:]
        else:
            groups.append([sentence])
            end = sentence[-_MAX_GLUED:]
    return [" ".join(pieces) for pieces in groups]


SPLITTERS: dict[str, Splitter] = {
    "rules": by_rules,
    #: As answers are split, outside of the official rules.
    "blocks": sentences_of,
    "sentencizer": by_sentencizer,
    "punkt": by_punkt,
}


def splitter_name(option: str) -> str:
    """What a signature calls a splitter: our own rules by their number, others by their package."""
    if option == "rules":
        return RULES
    if option == "blocks":
        return RULES_IN_BLOCKS
    if option == "punkt":
        return punkt_name()
    try:
        return f"{option}-spacy-{version('spacy')}"
    except ModuleNotFoundError:
        return f"{option}-spacy-missing"


def counted_sentences(
    text: str, splitter: str, *, marked_only: bool = False
) -> list[str]:
    """The sentences of more than five tokens; with ``marked_only`` those of them with a one-digit mark."""
    long = [
        sentence for sentence in SPLITTERS[splitter](text) if tokens(sentence) > SHORT
    ]
    return (
        [sentence for sentence in long if ONE_DIGIT_MARK.search(sentence)]
        if marked_only
        else long
    )


def tokens(sentence: str) -> int:
    """How many tokens the Penn Treebank's conventions make of a sentence, as NLTK has them."""
    return len(_tokenizer().tokenize(sentence))


@cache
def _tokenizer() -> Any:
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


@cache
def _sentencizer() -> Any:
    with needed(
        "spaCy is not installed, which discourse_sentences=sentencizer needs; `make models` installs it"
    ):
        import spacy
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    # No memory is taken for a text beyond what its words need, so that long ones may be split too.
    pipeline.max_length = 1 << 30
    # One token instead of one a sign, which spaCy takes off one by one at a cost of the square.
    tokenizer: Any = pipeline.tokenizer
    tokenizer.token_match = _LONG_RUN.match
    return pipeline


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence begins and ends, without the blanks around it. Citation marks are expected as the
    character U+E000; one directly behind a full stop, as in superscript styles, belongs to the sentence
    before it.
    """
    start = 0
    for mark in _END.finditer(text):
        if mark.end() == len(text) or _ends_here(text, start, mark):
            yield from _stripped(text, start, mark.end())
            start = mark.end()
    yield from _stripped(text, start, len(text))


def _ends_here(text: str, start: int, mark: re.Match[str]) -> bool:
    if not _BEGINNING.match(text, mark.end()):
        return False
    if not mark[0].startswith("."):
        return True
    before = text[max(start, mark.start() - _MAX_WORD) : mark.start()]
    lowered = re.split(r"[\s(\[]", before)[-1].rstrip("\"'”’").lower().strip("([{")
    if lowered in _NEVER_LAST or _INITIAL.search(before):
        return False
    # “etc. The” ends, “etc. (2” does not.
    following = _NEXT.match(text, mark.end())
    return lowered not in _SELDOM_LAST or bool(following and following[1].isupper())


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if inner := text[start:end].strip():
        start = text.index(inner, start)
        yield start, start + len(inner)


FORMAT = "citeboard-tagger-1"
MODEL, MANIFEST = "model.npz", "manifest.json"
#: What turns a sentence into numbers, block by block, as scikit-learn's TfidfVectorizer takes it: words and
#: pairs of them, and two to five characters within words.
BLOCKS: Mapping[str, Mapping[str, Any]] = {
    "words": {"analyzer": "word", "ngram_range": (1, 2), "sublinear_tf": True},
    "characters": {"analyzer": "char_wb", "ngram_range": (2, 5), "sublinear_tf": True},
}
#: Sentences are tagged so many at a time.
BATCH = 4096


@dataclass(frozen=True, kw_only=True)
class Tagger:
    """TF-IDF of words and characters and logistic regression, kept in a folder without pickling. `model.npz`
    holds the arrays, `manifest.json` says what they are, where they came from, and how well the tagger does;
    reading them runs no code of theirs. Tags are those of the scikit-learn model that it was made of, to the
    last bit. ``terms`` and ``idf`` go by block; ``weights`` is (rows, terms of all blocks), one row a label
    or, of two labels, one row for the second.
    """

    labels: tuple[str, ...]
    terms: Mapping[str, tuple[str, ...]]
    idf: Mapping[str, Floats]
    weights: Floats
    intercepts: Floats

    def tag(self, sentences: Sequence[str]) -> list[str]:
        """A label for each sentence; of labels that are equally likely the first."""
        from scipy.sparse import hstack

        tags: list[str] = []
        for start in range(0, len(sentences), BATCH):
            batch = sentences[start : start + BATCH]
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
        for name, settings in BLOCKS.items():
            block = TfidfVectorizer(
                vocabulary={term: place for place, term in enumerate(self.terms[name])},
                **settings,
            )
            block.idf_ = self.idf[name]
            blocks.append(block)
        return blocks

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the labels and of every array: the same model has the same wherever it lies."""
        digest = hashlib.sha256(FORMAT.encode())
        for name, array in sorted(self._arrays().items()):
            digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "labels": _packed(self.labels),
            "weights": self.weights,
            "intercepts": self.intercepts,
            **{f"terms:{name}": _packed(terms) for name, terms in self.terms.items()},
            **{f"idf:{name}": idf for name, idf in self.idf.items()},
        }

    def save(self, folder: Path, description: Mapping[str, Any]) -> None:
        """``description`` is what the manifest says besides format, digest and labels."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / MODEL).open("wb") as file:
            np.savez_compressed(file, **self._arrays())  # type: ignore[arg-type]
        manifest = {
            "format": FORMAT,
            "sha256": self.digest,
            "labels": list(self.labels),
            **description,
        }
        (folder / MANIFEST).write_text(
            json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
        )

    @classmethod
    def load(cls, folder: Path) -> "Tagger":
        """Raises Unavailable where there is no tagger, or one that is not what its manifest says."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            with np.load(folder / MODEL) as kept:
                tagger = cls(
                    labels=_unpacked(kept["labels"]),
                    terms={name: _unpacked(kept[f"terms:{name}"]) for name in BLOCKS},
                    idf={name: _floats(kept[f"idf:{name}"]) for name in BLOCKS},
                    weights=_floats(kept["weights"]),
                    intercepts=_floats(kept["intercepts"]),
                )
            _require_whole(tagger)
        except FileNotFoundError as missing:
            raise Unavailable(
                f"there is no tagger in {folder}: {MANIFEST} or {MODEL} is missing"
            ) from missing
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as broken:
            raise Unavailable(
                f"the tagger in {folder} cannot be read: {broken}"
            ) from broken
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise Unavailable(f"{folder / MANIFEST} does not say format {FORMAT}")
        if manifest.get("sha256") != tagger.digest:
            raise Unavailable(
                f"the tagger in {folder} is not the one of its manifest: the digests differ"
            )
        return tagger


def _require_whole(tagger: Tagger) -> None:
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


def _packed(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(
        json.dumps(list(texts), ensure_ascii=False).encode(), dtype=np.uint8
    )


def _unpacked(array: NDArray[Any]) -> tuple[str, ...]:
    texts = json.loads(array.tobytes())
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("found no list of texts")
    return tuple(texts)


def _floats(array: NDArray[Any]) -> Floats:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"numbers of {array.dtype}, expected finite ones of float64")
    return array


class Text(Protocol):
    """A target or a prediction: its text, and by scheme the labels of its sentences as far as it has some."""

    @property
    def text(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, Sequence[str]]: ...


@dataclass(frozen=True)
class Labelling:
    """One scheme under options. Nothing is read before the first text is labelled. ``is_official`` treats the
    sentences as the original does. Raises OptionRefused for what is no set of labels.
    """

    scheme: str
    options: Options
    is_official: bool = False

    def __post_init__(self) -> None:
        declared.label_set(self.scheme, self.options)

    def _option(self, option: Option) -> str:
        return self.options.get(option.name, option.default)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return declared.label_set(self.scheme, self.options)

    @property
    def treatment(self) -> str:
        """The official treatment is that of the original, whatever the option says."""
        return (
            declared.ORIGINAL if self.is_official else self._option(declared.TREATMENT)
        )

    @property
    def splitter(self) -> str:
        chosen = self._option(declared.SENTENCES)
        if chosen == declared.AUTO:
            is_corwa = self.scheme == CORWA
            chosen = "punkt" if self.is_official and is_corwa else "rules"
        return "blocks" if chosen == "rules" and not self.is_official else chosen

    @property
    def folder(self) -> str:
        """Where the tagger lies; empty where none is named."""
        return self._option(declared.TAGGERS[self.scheme])

    @cached_property
    def tagger(self) -> Tagger | None:
        """None where no folder is named. Raises Unavailable."""
        if not self.folder:
            return None
        loaded = Tagger.load(Path(self.folder))
        if further := sorted(set(loaded.labels) - set(self.labels)):
            message = f"the {self.scheme} tagger gives {', '.join(further)}"
            raise Unavailable(f"{message}, which {self.scheme}_labels does not list")
        return loaded

    @property
    def parameters(self) -> Mapping[str, str]:
        """What of it is part of a signature. Raises Unavailable."""
        tagger = self.tagger
        digest = hashlib.sha256(",".join(self.labels).encode()).hexdigest()[:8]
        return {
            "labels": f"{len(self.labels)}-{digest}",
            "labelled": self._option(declared.LABELS),
            "sentences": splitter_name(self.splitter),
            "short": "dropped",
            "tagger": tagger.digest[:12] if tagger else "none",
            "treatment": self.treatment,
        }

    @property
    def packages(self) -> tuple[str, ...]:
        return (
            ("nltk", "scikit-learn")
            if self._option(declared.TAGGERS[self.scheme])
            else ()
        )

    def labelled(
        self, texts: Sequence[Text | None], *, is_gold: bool
    ) -> "list[Labelled | None]":
        marked_only = is_gold and self.treatment == declared.ORIGINAL
        tagged: list[Labelled | None] = [None] * len(texts)
        to_tag: dict[int, list[str]] = {}
        for place, text in enumerate(texts):
            if text is None:
                continue
            if (
                self._option(declared.LABELS) == declared.SUPPLIED
                and self.scheme in text.labels
            ):
                tagged[place] = Labelled(text.labels[self.scheme], Source.SUPPLIED)
            elif self.tagger is None:
                tagged[place] = Labelled((), Source.NOBODY)
            else:
                to_tag[place] = counted_sentences(
                    text.text, self.splitter, marked_only=marked_only
                )
        if self.tagger is not None:
            tags = iter(
                self.tagger.tag(
                    [sentence for text in to_tag.values() for sentence in text]
                )
            )
            for place, sentences in to_tag.items():
                tagged[place] = Labelled([next(tags) for _ in sentences], Source.TAGGED)
        return tagged


class Source(IntEnum):
    """Who labelled the sentences of a text."""

    SUPPLIED = 0
    TAGGED = 1
    NOBODY = 2


SIDES = ("run", "gold")
RUN, GOLD = range(2)
#: The last columns: for each side how many texts each source labelled.
TAIL = len(SIDES) * len(Source)


@dataclass(frozen=True)
class Labelled:
    """The labels of one text's sentences, in any order, and who gave them."""

    labels: Sequence[str]
    source: Source


def count_matrix(
    labels: Sequence[str],
    datasets: Sequence[str],
    sides: Sequence[tuple[Labelled | None, Labelled | None]],
) -> Floats:
    """The (n, D·2·(L+1) + 6) matrix of n instances, each with its data set and what run and gold have there.
    None is a text that is not there, which is nobody's omission.
    """
    names = list(dict.fromkeys(datasets))
    column = {label: place for place, label in enumerate(labels)}
    width = len(labels) + 1
    counts = np.zeros((len(datasets), max(1, len(names)), len(SIDES), width))
    tail = np.zeros((len(datasets), len(SIDES), len(Source)))
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


def label_counts(sums: Floats, labels: int) -> Floats:
    """From (…, k) sums of rows to (…, D, 2, L+1) counts: data set, side, label."""
    return sums[..., :-TAIL].reshape(*sums.shape[:-1], -1, len(SIDES), labels + 1)


def text_counts(stats: Floats) -> Mapping[tuple[str, Source], int]:
    """How many texts of each side were labelled by whom, from an (n, k) matrix."""
    tail = stats[:, -TAIL:].sum(axis=0).reshape(len(SIDES), len(Source))
    return {
        (side, source): int(tail[place, source])
        for place, side in enumerate(SIDES)
        for source in Source
    }


#: What the texts that each source labelled are called in the notes.
_NOTES = {
    Source.SUPPLIED: "texts_of_the_{side}_with_{scheme}_labels_of_their_own",
    Source.TAGGED: "texts_of_the_{side}_with_{scheme}_labels_of_the_tagger",
    Source.NOBODY: "texts_of_the_{side}_without_{scheme}_labels",
}


class Divergence(Metric):
    """KL(P || Q) in nats, P the shares of labels among the system's sentences, Q those among the gold's, over
    all of them together.

    Infinite where the system has a label that the gold lacks; undefined where either side has no labelled
    sentence, as when neither labels nor a tagger are there. A label outside of the set counts as one that is
    never expected. Values below 0 occur in the published form alone. The official rules treat the
    sentences as the original does. Raises OptionRefused for a set of labels that is none.
    """

    shape = "divergence"
    own_version = 2
    higher_is_better: bool | None = False
    #: Few sentences make a divergence larger than it is, so that an interval may reach below 0.
    ends = (-math.inf, math.inf)
    fixed = {"form": "pooled"}
    citation = "Funkquist et al. 2023, CiteBench: A Benchmark for Scientific Citation Text Generation, EMNLP"

    def __init__(self, name: str, rules: str, *, scheme: str, options: Options) -> None:
        super().__init__(name, rules)
        self.scheme = scheme
        self.statistic = f"discourse_{scheme}"
        self.labelling = Labelling(scheme, options, rules == OFFICIAL)
        self.packages = self.labelling.packages

    @property
    def parameters(self) -> Parameters:
        return {**self.fixed, **self.labelling.parameters}

    @property
    def needs_model(self) -> bool:
        return bool(self.labelling.folder)

    def requirements(self) -> Sequence[Requirement]:
        folder = self.labelling.folder
        if not folder:
            return ()
        kind = f"{self.scheme} tagger"
        return (
            looked_for(
                kind, folder, lambda: (folder, self.labelling.parameters["tagger"])
            ),
        )

    def instance_stats(
        self, gold: Sequence[Instance | None], answers: Sequence[Prediction | None]
    ) -> Floats:
        """(n, D·2·(L+1) + 6), see `count_matrix`; answers without gold are left out."""
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
        return count_matrix(self.labelling.labels, datasets, list(sides))

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """How many texts of either side brought their labels along, were tagged, or have no labels."""
        counts = text_counts(stats).items()
        return {
            _NOTES[by].format(side=side, scheme=self.scheme): count
            for (side, by), count in counts
        }

    def counts(self, sums: Floats) -> Floats:
        """(…, D, 2, L+1) counts of labels by data set and side."""
        return label_counts(sums, len(self.labelling.labels))

    def denominators(self, rows: Floats) -> Floats:
        return np.asarray(self.counts(rows).sum(axis=(-3, -2, -1)))

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums).sum(axis=-3)
        return divergence(shares(counts[..., RUN, :]), shares(counts[..., GOLD, :]))


class SmoothedDivergence(Divergence):
    """The same with half a sentence more for each label on both sides: finite wherever both have a sentence.
    Labels outside of the set count as one label. Krichevsky and Trofimov 1981, The Performance of Universal
    Encoding.
    """

    fixed = {"form": "smoothed"}

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums).sum(axis=-3)
        smoothed = shares(
            np.where(counts.sum(axis=-1, keepdims=True) > 0, counts + 0.5, 0.0)
        )
        return divergence(smoothed[..., RUN, :], smoothed[..., GOLD, :])


class SuppliedDivergence(Divergence):
    """The same over the labels that runs and gold bring along, whatever tagger there is. Whoever labels a run
    decides on it, so that nothing is ranked by it.
    """

    higher_is_better = None
    fixed = {"form": "supplied"}

    def __init__(self, name: str, rules: str, *, scheme: str, options: Options) -> None:
        options = {
            **options,
            declared.LABELS.name: declared.SUPPLIED,
            declared.TAGGERS[scheme].name: "",
        }
        super().__init__(name, rules, scheme=scheme, options=options)
        self.statistic = f"supplied_{scheme}"

    def notes(self, stats: Floats) -> Mapping[str, int]:
        """The other divergences say who labelled."""
        return {}


class PublishedDivergence(Divergence):
    """KL(P || Q) in nats, P the mean of the system's shares over the data sets, Q the gold's shares in one
    data set; over all of them the mean of these values. A data set in which the system has no sentence counts
    as zeros, so that P may add up to less than 1 and the value be below 0. By class, P stays that of all data
    sets and Q is the gold of the class.
    """

    is_decomposable = False
    fixed = {"form": "published"}

    def aggregate(self, sums: Floats) -> Floats:
        counts = self.counts(sums)
        values = published_divergence(counts[..., RUN, :], counts[..., GOLD, :])
        is_known = ~np.isnan(values)
        return quotient(
            np.where(is_known, values, 0.0).sum(axis=-1), is_known.sum(axis=-1)
        )

    def of_class(self, sums: Floats, whole: Floats) -> Floats:
        gold = self.counts(sums)[..., GOLD, :].sum(axis=-2)
        return divergence(macro_average(self.counts(whole)[..., RUN, :]), shares(gold))


def shares(counts: Floats) -> Floats:
    """(…, L) counts as shares of their sum; NaN where there is nothing to share."""
    return quotient(counts, counts.sum(axis=-1, keepdims=True))


def divergence(p: Floats, q: Floats) -> Floats:
    """KL(P || Q) in nats over the last axis of (…, L) shares; NaN where either is undefined."""
    p, q = np.broadcast_arrays(
        np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(p == 0, 0.0, p * np.log(p / q)).sum(axis=-1))


def macro_average(counts: Floats) -> Floats:
    """(…, D, L) counts as the mean of the data sets' shares, (…, L); an empty data set counts as zeros. NaN
    where all are empty.
    """
    share = shares(counts)
    is_empty = np.asarray(np.isnan(share).any(axis=-1))
    mean = np.where(is_empty[..., None], 0.0, share).mean(axis=-2)
    return np.where(np.asarray(is_empty.all(axis=-1))[..., None], np.nan, mean)


def published_divergence(system: Floats, gold: Floats) -> Floats:
    """The published form, (…, D): the system's macro average over the data sets against each one's gold. Both
    are (…, D, L) counts.
    """
    return divergence(macro_average(system)[..., None, :], shares(gold))
