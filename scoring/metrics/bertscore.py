"""BERTScore compares each token of a text with the most similar token of another text.

Zhang and others introduced BERTScore at ICLR 2020. BERTScore's values equal those of
the package bert-score 0.3.13 to 1e-6 for each pair of texts, before rescaling. The
model embeds each distinct text once, in batches of texts with similar length. The token
vectors of gold texts are cached and reused for all runs.
"""

import csv
import math
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from scoring.metrics import base, cache, local_models
from tasks.types.base import OptionRefused, Options
from tasks.types.problems import SoftwareUnavailable

DEFAULT_BERTSCORE_MODEL = "distilbert-base-uncased"
EQUIVALENT_PACKAGE_VERSION = "bert-score-0.3.13"
#: A batch contains this number of pairs, and a cache file this number of gold texts.
PAIRS_PER_BATCH = 1024


class BertScore(base.TextMean):
    """The mean over instances of precision, recall or F1 of BERTScore, times 100.

    Gold and answers are texts. An empty text scores 0, for which no model is needed.
    ``idf`` weights tokens by their inverse document frequency in the gold. The option
    ``baseline`` is `no`, `yes` for the model's baseline table in bert-score, or the
    path of another baseline table. Values are rescaled linearly between the baseline
    and 1. Unless the options request BERTScore, no instance counts and the value is
    undefined. Raises OptionRefused.
    """

    columns = base.PRECISION_RECALL_F1
    scale = 100
    citation = (
        "Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT, ICLR"
    )

    def __init__(self, name: str, rules: str, *, part: str, options: Options) -> None:
        super().__init__(name, rules, column=part)
        self.settings = BertScoreSettings(options)
        self.statistic = "bertscore"
        self.engine = "bert-score" if self.settings.is_asked else ""
        self.choose_engine(options)
        if self.settings.baseline != "no":
            # Rescaled values have no minimum or maximum that holds for all models.
            self.ends = (-math.inf, math.inf)
        self.packages = ("torch", "transformers") if self.settings.is_asked else ()

    @property
    def parameters(self) -> base.Parameters:
        """Return BERTScore's parameters for the signature. A digest of the model's
        weights identifies the model. Raises Unavailable.
        """
        chosen = self.settings
        if not chosen.is_asked:
            return {**super().parameters, "model": "none"}
        return {
            **super().parameters,
            "model": f"sha256-{chosen.digest[:12]}",
            "layer": chosen.layer,
            "idf": "gold" if chosen.uses_idf else "no",
            "baseline": "no"
            if chosen.baseline == "no"
            else cache.compute_digest_of_texts(
                map(repr, chosen.read_baseline_values())
            )[:12],
            "as": EQUIVALENT_PACKAGE_VERSION,
            **self.engine_parameters,
        }

    @property
    def needs_model(self) -> bool:
        return self.settings.is_asked

    def requirements(self) -> Sequence[base.Requirement]:
        chosen = local_models.NamedModel("BERTScore", self.settings.model)
        model = (
            (chosen.build_requirement("BERTScore model"),)
            if self.settings.is_asked
            else ()
        )
        return (*model, *super().requirements())

    def instance_stats(
        self,
        gold: Sequence[base.TextOrHasText | None],
        answers: Sequence[base.TextOrHasText | None],
    ) -> base.Floats:
        if not self.settings.is_asked:
            return np.zeros((len(gold), len(base.PRECISION_RECALL_F1) + 1))
        return super().instance_stats(gold, answers)

    def measured(self, gold: Sequence[str], answers: Sequence[str]) -> base.Floats:
        return (compute_package_bertscore if self.is_by_package else compute_bertscore)(
            gold, answers, self.settings
        )


class BertScoreSettings:
    """The settings for BERTScore from the task's options. Model files are located on
    first use. ``is_asked`` is True if the options request BERTScore explicitly or name
    another model than the default. Raises OptionRefused.
    """

    def __init__(self, options: Options) -> None:
        self.model = options.get("bertscore_model") or DEFAULT_BERTSCORE_MODEL
        self.is_asked = (
            options.get("bertscore") not in ("no", "absent")
            or self.model != DEFAULT_BERTSCORE_MODEL
        )
        self._layer = options.get("bertscore_layer") or ""
        if self._layer and not (self._layer.isdecimal() and self._layer.isascii()):
            raise OptionRefused(
                f"option bertscore_layer={self._layer}: expected the number of a layer"
            )
        idf = options.get("bertscore_idf") or "no"
        if idf not in ("yes", "no"):
            raise OptionRefused(f"option bertscore_idf={idf}: expected one of yes, no")
        self.uses_idf = idf == "yes"
        self.baseline = options.get("bertscore_baseline") or "no"

    @property
    def layer(self) -> int:
        return local_models.choose_model_layer(self.model, self._layer)

    @property
    def digest(self) -> str:
        return local_models.compute_weights_digest(
            local_models.require_model_folder("BERTScore", self.model)
        )

    def load_encoder(self) -> local_models.TruncatedEncoder:
        return local_models.load_encoder(self.model, self.layer)

    def read_baseline_values(self) -> tuple[float, float, float]:
        """Return precision, recall and F1 of unrelated texts under the model and layer,
        which are the baseline for rescaling.
        """
        path: Path | None = Path(self.baseline)
        if self.baseline == "yes":
            # `find_spec` locates the English baseline table without an import.
            spec = find_spec("bert_score")
            tables = (
                Path(spec.origin).parent / "rescale_baseline" / "en"
                if spec and spec.origin
                else None
            )
            path = tables / f"{self.model}.tsv" if tables else None
        if path is None or not path.is_file():
            raise SoftwareUnavailable(
                f"BERTScore: there is no baseline for {self.model} ({path or 'bert-score'})"
            )
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                if int(row["LAYER"]) == self.layer:
                    return float(row["P"]), float(row["R"]), float(row["F"])
        raise SoftwareUnavailable(
            f"BERTScore: {path} has no line for layer {self.layer}"
        )


def compute_bertscore(
    gold: Sequence[str], answers: Sequence[str], settings: BertScoreSettings
) -> base.Floats:
    """Return an array (n, 3) with BERTScore's precision, recall and F1 of each pair of
    texts. Raises Unavailable if the model is missing.
    """
    if len(gold) != len(answers):
        raise ValueError(f"{len(gold)} gold texts and {len(answers)} answers")
    scores = np.zeros((len(gold), 3))
    weights: _TokenWeights | None = None
    for start in range(0, len(gold), PAIRS_PER_BATCH):
        pairs = list(
            zip(
                gold[start : start + PAIRS_PER_BATCH],
                answers[start : start + PAIRS_PER_BATCH],
                strict=True,
            )
        )
        rows = [row for row, pair in enumerate(pairs) if all(map(str.strip, pair))]
        if rows:
            weights = weights or _TokenWeights(settings, gold)
            # Embed all gold texts of the batch, also those without an answer.
            # The cache key of the gold texts is thus the same for all runs.
            wanted = _load_or_embed_tokens(
                settings, _collect_unique_texts(text for text, _ in pairs)
            )
            answered = _collect_unique_texts(pairs[row][1] for row in rows)
            tokens = dict(
                zip(
                    answered, settings.load_encoder().embed_texts(answered), strict=True
                )
            )
            for row in rows:
                text, answer = wanted[pairs[row][0]], tokens[pairs[row][1]]
                # Special tokens have weight 0 but may be nearest to another token.
                # Negative similarities become 0, as in bert-score's padded batches.
                # bert-score does not pad a batch of one pair, whose value may differ.
                similar = np.maximum(answer.vectors @ text.vectors.T, 0)
                precision = weights.mean(answer, similar.max(axis=1))
                recall = weights.mean(text, similar.max(axis=0))
                scores[start + row] = (
                    precision,
                    recall,
                    float(base.compute_harmonic_mean(precision, recall)),
                )
    return _rescale_by_baseline(scores, settings)


def _rescale_by_baseline(
    scores: base.Floats, settings: BertScoreSettings
) -> base.Floats:
    if settings.baseline == "no":
        return scores
    baseline = np.array(settings.read_baseline_values())
    return np.asarray((scores - baseline) / (1 - baseline))


class _TokenWeights:
    """Weights of tokens, which are 1 or the token's inverse document frequency among
    the gold texts.
    """

    def __init__(self, settings: BertScoreSettings, gold: Sequence[str]) -> None:
        model = settings.load_encoder()
        # The two special tokens around a text have weight 0.
        around = {model.tokenizer.cls_token_id, model.tokenizer.sep_token_id}
        self._special = np.array(sorted(around - {None}))
        self._idf: base.Floats | None = None
        if settings.uses_idf:
            having = Counter(token for ids in model.ids(gold) for token in set(ids))
            self._idf = np.full(len(model.tokenizer), math.log(len(gold) + 1))
            for token, count in having.items():
                self._idf[token] = math.log((len(gold) + 1) / (count + 1))

    def mean(
        self,
        text: local_models.EmbeddedText,
        similarities: np.ndarray[tuple[int], np.dtype[np.float32]],
    ) -> float:
        """Return the weighted mean similarity of a text's tokens, or 0 if all weights
        are 0.
        """
        weights = (
            ~np.isin(text.ids, self._special)
            if self._idf is None
            else self._idf[text.ids]
        )
        total = weights.sum(dtype=np.float64)
        return (
            float((similarities * weights).sum(dtype=np.float64) / total)
            if total
            else 0.0
        )


def _collect_unique_texts(texts: Iterable[str]) -> list[str]:
    return [text for text in dict.fromkeys(texts) if text.strip()]


def _load_or_embed_tokens(
    settings: BertScoreSettings, texts: Sequence[str]
) -> dict[str, local_models.EmbeddedText]:
    digest = cache.compute_digest_of_texts(
        [settings.digest, str(settings.layer), *texts]
    )
    arrays = cache.load_cached_arrays("bertscore", digest)
    if arrays is None:
        embedded = settings.load_encoder().embed_texts(texts)
        arrays = {
            "ids": np.concatenate([text.ids for text in embedded]),
            "vectors": np.concatenate([text.vectors for text in embedded]),
            "ends": np.cumsum([len(text.ids) for text in embedded])[:-1],
        }
        cache.cache_arrays("bertscore", digest, arrays)
    ids, vectors = (
        np.split(arrays[name], arrays["ends"]) for name in ("ids", "vectors")
    )
    return dict(zip(texts, map(local_models.EmbeddedText, ids, vectors), strict=True))


def compute_package_bertscore(
    gold: Sequence[str], answers: Sequence[str], settings: BertScoreSettings
) -> base.Floats:
    """Return an array (n, 3) with precision, recall and F1 of the package bert-score,
    computed on the CPU. Pairs with an empty text score 0 and are not passed to the
    package.
    """
    base.find_package_version("bert-score")
    from bert_score import BERTScorer

    scores = np.zeros((len(gold), 3))
    rows = [
        index
        for index, pair in enumerate(zip(gold, answers, strict=True))
        if all(map(str.strip, pair))
    ]
    if rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scorer = BERTScorer(
                model_type=str(
                    local_models.NamedModel("BERTScore", settings.model).folder
                ),
                num_layers=settings.layer,
                device="cpu",
                nthreads=0,
                idf=settings.uses_idf,
                idf_sents=list(gold) if settings.uses_idf else None,
            )
            parts = scorer.score(
                [answers[place] for place in rows], [gold[place] for place in rows]
            )
        scores[rows] = np.column_stack([part.numpy() for part in parts])
    return _rescale_by_baseline(scores, settings)
