"""A tagger of sentences: TF-IDF of words and characters, and logistic regression, kept without pickling.

A tagger is a folder: `model.npz` holds vocabularies, inverse document frequencies and weights, and
`manifest.json` says what they are, where they came from, and how well the tagger does. Reading one runs no
code of the file. Its tags are those of the scikit-learn model that it was made of, to the last bit.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats
from tasks.types.unavailable import Unavailable

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
    """``terms`` and ``idf`` go by block; ``weights`` is (rows, terms of all blocks), one row a label or, of
    two labels, one row for the second.
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
            inputs = hstack([block.transform(batch) for block in self._vectorizers], format="csr")
            scores: Floats = np.asarray(inputs @ self.weights.T) + self.intercepts
            places = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
            tags += [self.labels[int(place)] for place in places]
        return tags

    @cached_property
    def _vectorizers(self) -> list[Any]:
        from sklearn.feature_extraction.text import TfidfVectorizer

        found = []
        for name, settings in BLOCKS.items():
            block = TfidfVectorizer(
                vocabulary={term: place for place, term in enumerate(self.terms[name])}, **settings
            )
            block.idf_ = self.idf[name]
            found.append(block)
        return found

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
        """``told`` is what the manifest says besides format, digest and labels."""
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / MODEL).open("wb") as file:
            np.savez_compressed(file, **self._arrays())  # type: ignore[arg-type]
        manifest = {"format": FORMAT, "sha256": self.digest, "labels": list(self.labels), **description}
        (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False, indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Tagger:
        """Raises Unavailable where there is no tagger, or one that is not what its manifest says."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text())
            with np.load(folder / MODEL, allow_pickle=False) as kept:
                found = _from_arrays({name: kept[name] for name in kept.files})
        except FileNotFoundError as missing:
            raise Unavailable(
                f"there is no tagger in {folder}: {MANIFEST} or {MODEL} is missing"
            ) from missing
        except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile) as broken:
            raise Unavailable(f"the tagger in {folder} cannot be read: {broken}") from broken
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise Unavailable(f"{folder / MANIFEST} does not say format {FORMAT}")
        if manifest.get("sha256") != found.digest:
            raise Unavailable(f"the tagger in {folder} is not the one of its manifest: the digests differ")
        return found


def _from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Tagger:
    tagger = Tagger(
        labels=_unpacked(arrays["labels"]),
        terms={name: _unpacked(arrays[f"terms:{name}"]) for name in BLOCKS},
        idf={name: _floats(arrays[f"idf:{name}"]) for name in BLOCKS},
        weights=_floats(arrays["weights"]),
        intercepts=_floats(arrays["intercepts"]),
    )
    if faults := list(_faults(tagger)):
        raise ValueError("; ".join(faults))
    return tagger


def _faults(tagger: Tagger) -> Iterator[str]:
    labels, terms = len(tagger.labels), sum(map(len, tagger.terms.values()))
    rows = 1 if labels == 2 else labels
    if labels < 2 or len(set(tagger.labels)) < labels:
        yield f"{labels} labels, expected two or more different ones"
    if tagger.weights.shape != (rows, terms):
        yield f"weights of {tagger.weights.shape}, expected {(rows, terms)}"
    if tagger.intercepts.shape != (rows,):
        yield f"intercepts of {tagger.intercepts.shape}, expected {(rows,)}"
    for name, own in tagger.terms.items():
        if len(set(own)) < len(own) or not own:
            yield f"{len(own)} terms of {name}, expected different ones"
        if tagger.idf[name].shape != (len(own),):
            yield f"{tagger.idf[name].shape} frequencies of {name}, expected {(len(own),)}"


def _packed(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(list(texts), ensure_ascii=False).encode(), dtype=np.uint8)


def _unpacked(array: NDArray[Any]) -> tuple[str, ...]:
    texts = json.loads(array.tobytes())
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("found no list of texts")
    return tuple(texts)


def _floats(array: NDArray[Any]) -> Floats:
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"numbers of {array.dtype}, expected finite ones of float64")
    return array
