"""Compute the scores, confidence intervals, scores by class and signatures of a run
from pairs of gold and answers.
"""

import json
import math
from collections import defaultdict
from collections.abc import (
    Callable,
    Collection,
    Container,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_magic
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray

from scoring.metrics import Metric, build_metrics, select_metrics_for_dimension
from scoring.metrics.base import (
    Floats,
    WeightedMetric,
    build_unit_rows,
    compute_metric_value,
    sum_rows_by_unit,
)
from scoring.metrics.entailment import compute_labels_digest
from scoring.metrics.numbers import Moments
from scoring.offline.parts import select_pairs
from scoring.stats import jackknife
from scoring.stats.breakdown import compute_breakdown, encode_value_as_json
from scoring.stats.interval_methods import RESAMPLING_METHODS, WILSON_JACKKNIFE
from scoring.stats.jackknife import NoIntervalReason
from scoring.stats.resampling import (
    BootstrapResampler,
    IntervalBounds,
    MetricAndRows,
    refuse_non_finite_rows,
)
from scoring.stats.signature import (
    INTERVAL_VERSION_KEY,
    LABEL_DIGEST_KEY_BY_KIND,
    NO_INTERVAL_KEY,
    NO_VALUE_REASON_KEY,
    build_column_key,
    build_signature,
)
from tasks.types import Options, Pairs, TaskType
from tasks.types.base import UNIT, AnswerPart, ShownInstance
from tasks.types.columns import (
    ClassColumn,
    compute_mask_of_present_rows,
    renumber_without_gaps,
)
from tasks.types.files import CURRENT_PARSING_RULES_VERSION
from tasks.types.tokenizers import TOKENIZERS_BY_NAME

#: WORDS_NOT_SEEN_REASON is the reason why a text metric that needs a tokenizer has no score.
WORDS_NOT_SEEN_REASON = "words-not-seen"
TOKENIZER_ADVICE = f"the task may name a tokenizer ({', '.join(TOKENIZERS_BY_NAME)})"


@dataclass(frozen=True, kw_only=True)
class IntervalSettings:
    """The method for confidence intervals of scores. If ``resamples`` is 0, the scorer
    computes no intervals. Only bootstrap methods use the number of resamples and the
    random seed.
    """

    resamples: int = 1000
    seed: int = 0
    method: str = WILSON_JACKKNIFE

    def build_provenance(self, metric: Metric) -> dict[str, str | int | float]:
        """Return the fields of a metric's signature that describe the metric's
        confidence interval.
        """
        if self.resamples and self.method not in RESAMPLING_METHODS:
            return {
                "interval": self.method,
                INTERVAL_VERSION_KEY: metric.interval_version,
            }
        return {"resamples": self.resamples, "interval": self.method, "seed": self.seed}


@dataclass(frozen=True, kw_only=True)
class MetricValue:
    """The unrounded value of a metric on one run, which is NaN if undefined."""

    value: float
    low: float | None
    high: float | None
    n: int
    scale: float
    higher_is_better: bool | None
    column: str
    signature: str
    #: ``off`` is the reason why the metric is disabled, or empty for an enabled metric.
    off: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            **encode_value_as_json(self.value),
            "low": self.low,
            "high": self.high,
            "n": self.n,
            "scale": self.scale or 1,
            **({} if self.scale else {"is_count": True}),
            "higher_is_better": self.higher_is_better,
            "column": self.column,
            "signature": self.signature,
            **({"off": self.off} if self.off else {}),
        }


@dataclass(frozen=True, kw_only=True)
class RunMeasurements:
    """The data of one run from which scores are computed, which are the matrix of each
    statistic, the unit number of each row, and the names of the units.

    If the method resamples clusters of units, the data also contains the numbers and
    names of the clusters.
    """

    matrices: Mapping[str, Floats]
    units: NDArray[np.intp]
    unit_names: Sequence[str]
    clusters: NDArray[np.intp] | None = None
    cluster_names: Sequence[str] = ()

    @property
    def resampled_units(self) -> tuple[Sequence[str], NDArray[np.intp]]:
        """Return the names of the units or clusters that are resampled, and the number
        of the unit or cluster of each row.
        """
        return (
            (self.unit_names, self.units)
            if self.clusters is None
            else (self.cluster_names, self.clusters)
        )

    def select_rows(self, statistic: str, rows: NDArray[np.intp]) -> "RunMeasurements":
        """Return the data of these rows of one matrix, for example the rows of a class."""
        occurring, units = renumber_without_gaps(self.units[rows])
        return RunMeasurements(
            matrices={statistic: self.matrices[statistic][rows]},
            units=units,
            unit_names=[self.unit_names[unit] for unit in occurring],
            clusters=None if self.clusters is None else self.clusters[rows],
            cluster_names=self.cluster_names,
        )


@dataclass(frozen=True, kw_only=True)
class RunScores(RunMeasurements):
    """All scores of one run under one rule set, and the matrices from which the scores
    were computed.
    """

    metrics: Mapping[str, MetricValue]
    breakdowns: Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]
    notes: Mapping[str, int]


def evaluate_pairs(  # noqa: PLR0913  (some are of a part)
    task_type: TaskType,
    pairs: Pairs,
    *,
    rules: str,
    options: Options,
    gold: str,
    resampling: IntervalSettings,
    part: str = "",
    rows: NDArray[np.intp] | None = None,
    known: Mapping[str, Floats] | None = None,
    reading: int = CURRENT_PARSING_RULES_VERSION,
    nonce: str = "",
) -> RunScores:
    """Score the pairs of gold and answers under a rule set.

    The signatures of scores contain the digest ``gold``, the version ``reading`` of the
    rules by which run files are read, and digests with the HMAC key ``nonce``. ``rows``
    are the matrix rows of the ``part`` of the split to score. ``known`` contains the
    matrices of all pairs if the caller has already computed the matrices.
    """
    metrics = build_metrics(task_type, rules, options)
    statistics = known or compute_matrices(metrics, pairs)
    labels = _compute_label_digests(metrics, pairs, nonce)
    # A metric is disabled by the whole gold, so that all parts of a split agree.
    by_statistic = {metric.statistic: metric for metric in metrics}
    reasons_off = {
        name: metric.unseen(pairs.gold) for name, metric in by_statistic.items()
    }
    own, pairs = _build_measurements(statistics, pairs, rows)
    has_gold = compute_mask_of_present_rows(pairs.gold)
    # Official rules may omit topics that a run lacks, so the part may have no rows.
    is_empty = rows is not None and not len(rows)
    intervals: Sequence[IntervalBounds | NoIntervalReason | None] = [None] * len(
        metrics
    )
    if resampling.resamples and not is_empty:
        intervals = _compute_metric_intervals(metrics, own, resampling)
    provenance: dict[str, str | int | float] = {
        **({UNIT.name: options[UNIT.name]} if own.cluster_names else {}),
        "units": len(own.resampled_units[0]),
        "missing": int((~compute_mask_of_present_rows(pairs.answers)).sum()),
    }
    values = {}
    for metric, bounds in zip(metrics, intervals, strict=True):
        stats = own.matrices[metric.statistic]
        n = 0 if is_empty else metric.instances(stats, has_gold)
        column = build_column_key(metric, gold=gold, part=part, reading=reading)
        low, high = bounds if isinstance(bounds, tuple) else (None, None)
        off = reasons_off[metric.statistic]
        reason = (
            {NO_INTERVAL_KEY: str(bounds)}
            if isinstance(bounds, NoIntervalReason)
            else {}
        )
        if off:
            reason = {NO_VALUE_REASON_KEY: WORDS_NOT_SEEN_REASON}
        values[metric.name] = MetricValue(
            value=math.nan
            if is_empty
            else compute_metric_value(metric, stats, own.units),
            low=low,
            high=high,
            n=n,
            scale=metric.scale,
            higher_is_better=metric.higher_is_better,
            column=column,
            signature=build_signature(
                column,
                {
                    "n": n,
                    **provenance,
                    **resampling.build_provenance(metric),
                    **reason,
                    **labels.get(metric.statistic, {}),
                },
                metric.packages,
            ),
            off=f"{off}; {TOKENIZER_ADVICE}" if off else "",
        )
    notes = {name: int(count) for name, count in pairs.notes.items()}
    for metric in () if is_empty else metrics:
        notes |= metric.notes(own.matrices[metric.statistic])
    breakdowns = {
        dimension: compute_breakdown(
            select_metrics_for_dimension(task_type, dimension, metrics),
            own.matrices,
            labels,
            has_gold,
        )
        for dimension, labels in pairs.features.items()
    }
    return RunScores(**vars(own), metrics=values, breakdowns=breakdowns, notes=notes)


def _compute_metric_intervals(
    metrics: Sequence[Metric],
    measurements: RunMeasurements,
    resampling: IntervalSettings,
) -> Sequence[IntervalBounds | NoIntervalReason | None]:
    names, numbers = measurements.resampled_units
    # Metrics with the same statistic have the same matrix and the same rows.
    sums = {
        name: sum_rows_by_unit(stats, numbers)
        for name, stats in measurements.matrices.items()
    }
    measured: list[MetricAndRows] = []
    for metric in metrics:
        rows = sums[metric.statistic]
        if metric.per_unit or isinstance(metric, WeightedMetric):
            rows = build_unit_rows(
                metric,
                measurements.matrices[metric.statistic],
                measurements.units,
                measurements.clusters,
            )
        measured.append((metric, rows))
    if resampling.method == WILSON_JACKKNIFE:
        return jackknife.compute_intervals_or_reasons(measured)
    resampler = BootstrapResampler(
        len(names), resamples=resampling.resamples, seed=resampling.seed
    )
    return resampler.intervals(measured, method=resampling.method)


def _compute_label_digests(
    metrics: Sequence[Metric], pairs: Pairs, nonce: str
) -> dict[str, dict[str, str]]:
    by_statistic = {metric.statistic: metric for metric in metrics}
    used = {
        name: labels
        for name, metric in by_statistic.items()
        if (labels := metric.labels_used(pairs.gold, pairs.answers)) is not None
    }
    by_kind: dict[str, dict[tuple[str, ...], bool | str]] = defaultdict(dict)
    for name, labels in used.items():
        by_kind[by_statistic[name].labels_kind] |= labels
    digests = {kind: compute_labels_digest(own, nonce) for kind, own in by_kind.items()}
    kinds = {name: by_statistic[name].labels_kind for name in used}
    return {
        name: {LABEL_DIGEST_KEY_BY_KIND[kind]: digests[kind]}
        for name, kind in kinds.items()
    }


def measure_run(
    metrics: Sequence[Metric], pairs: Pairs, rows: NDArray[np.intp] | None = None
) -> RunMeasurements:
    """Return the matrices, units and unit names of a run, restricted to ``rows`` if
    given.
    """
    return _build_measurements(compute_matrices(metrics, pairs), pairs, rows)[0]


def _build_measurements(
    statistics: Mapping[str, Floats], pairs: Pairs, rows: NDArray[np.intp] | None
) -> tuple[RunMeasurements, Pairs]:
    if rows is not None:
        statistics = {name: stats[rows] for name, stats in statistics.items()}
        pairs = select_pairs(pairs, rows)
    names, units = number_distinct_names(pairs.units)
    cluster_names, clusters = (
        ([], None) if pairs.clusters is None else number_distinct_names(pairs.clusters)
    )
    measurements = RunMeasurements(
        matrices=statistics,
        units=units,
        unit_names=names,
        clusters=clusters,
        cluster_names=cluster_names,
    )
    return measurements, pairs


def number_distinct_names(column: Sequence[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the sorted distinct unit names in a column, and the index of the unit name
    of each row.
    """
    if isinstance(column, ClassColumn):
        return column.get_labels_and_label_indexes()
    names, numbers = np.unique(np.array(column, dtype=str), return_inverse=True)
    return names.tolist(), numbers


def compute_matrices(
    metrics: Sequence[Metric],
    pairs: Pairs,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Floats]:
    """Return the matrix of each statistic that the metrics need, keyed by statistic.
    ``progress`` is called with the completed share of the metrics.

    Raises NotFinite.
    """
    statistics: dict[str, Floats] = {}
    for index, metric in enumerate(metrics):
        progress(index / len(metrics))
        if metric.statistic not in statistics:
            stats = compute_matrix(metric, pairs)
            assert len(stats) == len(pairs.gold), (
                f"{metric.name} gives {len(stats)} rows"
            )
            refuse_non_finite_rows(stats, f"the rows of {metric.name}")
            statistics[metric.statistic] = stats
    return statistics


def compute_matrix(metric: Metric, pairs: Pairs) -> Floats:
    """Return a metric's matrix with a row for each instance or unit. The matrix of a
    disabled metric is zero, so that all values of the metric are undefined.
    """
    stats = metric.instance_stats(pairs.gold, pairs.answers)
    return np.zeros_like(stats) if metric.unseen(pairs.gold) else stats


#: EARLIER_STATISTIC_BY_STATISTIC maps a statistic to the statistic that earlier versions stored instead.
EARLIER_STATISTIC_BY_STATISTIC = {Moments.statistic: Moments.earlier_statistic}


@dataclass(frozen=True, kw_only=True)
class StoredStatistics(RunMeasurements):
    """Stored matrices and units of a run, with the classes of each instance in each
    dimension and, in newer files, with a flag for each answered instance.
    """

    features: dict[str, Sequence[tuple[str, ...]]]
    answered: NDArray[np.bool_]


def save_statistics(
    path: Path,
    scores: RunScores,
    pairs: Pairs,
    details: "DetailsByUnit | None" = None,
    instances: Iterable[ShownInstance] = (),
) -> None:
    columns = {
        name: column
        for name, column in pairs.features.items()
        if isinstance(column, ClassColumn)
    }
    texts = {
        "unit_names": scores.unit_names,
        "features": {
            name: list(column)
            for name, column in pairs.features.items()
            if name not in columns
        },
        "labels": {name: column.labels for name, column in columns.items()},
        "cluster_names": scores.cluster_names,
    }
    arrays: dict[str, NDArray[Any]] = {
        f"statistic:{key}": rows for key, rows in scores.matrices.items()
    }
    arrays |= {
        f"classes:{name}": column.codes.astype(np.int32)
        for name, column in columns.items()
    }
    arrays |= pack_details(details or {}, scores.unit_names)
    if scores.clusters is not None:
        arrays["clusters"] = scores.clusters
    arrays |= pack_instances(instances)
    arrays["answered"] = (
        compute_mask_of_present_rows(pairs.answers)
        if pairs.answered is None
        else np.array(pairs.answered, bool)
    )
    if pairs.names is not None:
        arrays["names"] = _encode_json_as_bytes(list(pairs.names))
    with path.open("wb") as file:
        parts = {"units": scores.units, "texts": _encode_json_as_bytes(texts), **arrays}
        np.savez_compressed(file, **parts)  # type: ignore[arg-type]


def load_statistics(
    source: Path | IO[bytes], only: Collection[str] | None = None
) -> StoredStatistics:
    """Load the stored matrices and units of a run. If ``only`` is given, load only the
    matrices, which may be large, of these statistics and of their earlier versions.
    """
    if only is not None:
        only = {
            *only,
            *(
                EARLIER_STATISTIC_BY_STATISTIC[name]
                for name in only
                if name in EARLIER_STATISTIC_BY_STATISTIC
            ),
        }
    with np.load(source, allow_pickle=False) as kept:
        texts = json.loads(kept["texts"].tobytes())
        names = (
            name.partition(":")[2]
            for name in kept.files
            if name.startswith("statistic:")
        )
        labels = texts.get("labels", {}).items()
        lists = {
            name: [tuple(row) for row in rows]
            for name, rows in texts["features"].items()
        }
        return StoredStatistics(
            matrices={
                name: kept[f"statistic:{name}"]
                for name in names
                if only is None or name in only
            },
            units=kept["units"],
            answered=kept["answered"]
            if "answered" in kept.files
            else np.ones(len(kept["units"]), dtype=bool),
            unit_names=texts["unit_names"],
            clusters=kept["clusters"] if "clusters" in kept.files else None,
            cluster_names=texts.get("cluster_names", ()),
            features=lists
            | {
                name: ClassColumn(known, kept[f"classes:{name}"])
                for name, known in labels
            },
        )


def load_instance_names(source: Path | IO[bytes]) -> list[str] | None:
    """Return the instance name of each matrix row, or None if instances of the task
    type have no names.
    """
    with np.load(source, allow_pickle=False) as kept:
        return json.loads(kept["names"].tobytes()) if "names" in kept.files else None


def _encode_json_as_bytes(content: object) -> NDArray[np.uint8]:
    return np.frombuffer(
        json.dumps(content, ensure_ascii=False).encode(), dtype=np.uint8
    )


DetailsByUnit = Mapping[str, Mapping[str, Any]]
_DETAILS_KEY, _DETAILS_ENDS_KEY = "details", "details_ends"
_UNIT_NAMES_PREFIX = '{"unit_names": '
_JSON_DECODER = json.JSONDecoder()


def collect_details(
    metrics: Sequence[Metric], answers: Sequence[Any]
) -> dict[str, dict[str, Any]]:
    """Return details of the answers, such as verdicts on claims, by unit and merged
    over the metrics. Metrics with the same statistic have the same details of answers.
    """
    by_unit: dict[str, dict[str, Any]] = {}
    for metric in {metric.statistic: metric for metric in reversed(metrics)}.values():
        for unit, facts in metric.details(answers).items():
            by_unit.setdefault(unit, {}).update(facts)
    return by_unit


def pack_details(
    details: DetailsByUnit, unit_names: Sequence[str]
) -> dict[str, NDArray[Any]]:
    """Return the details of the units as concatenated JSON texts, with the end offset
    of each text. If ``details`` is empty, the function returns no arrays.
    """
    if not details:
        return {}
    dumped = {
        name: json.dumps(facts, ensure_ascii=False).encode()
        for name, facts in details.items()
    }
    return _pack_texts(
        [dumped.get(name, b"") for name in unit_names], _DETAILS_KEY, _DETAILS_ENDS_KEY
    )


def _pack_texts(
    texts: Sequence[bytes], text: str, ends: str
) -> dict[str, NDArray[Any]]:
    return {
        text: np.frombuffer(b"".join(texts), dtype=np.uint8),
        ends: np.cumsum([len(text) for text in texts], dtype=np.int64),
    }


def load_page_of_details(
    source: Path | IO[bytes], start: int, count: int
) -> tuple[list[tuple[str, dict[str, Any]]], int]:
    """Return the details of up to ``count`` units from index ``start``, and the total
    number of units with details.
    """
    with np.load(source, allow_pickle=False) as kept:
        units = _locate_unit_details(kept)
        return list(_read_unit_details(kept, units[start : start + count])), len(units)


def load_names_of_described_units(source: Path | IO[bytes]) -> list[str]:
    """Return the names of the run's units for which details are stored, in order."""
    with np.load(source, allow_pickle=False) as kept:
        return [name for name, _, _ in _locate_unit_details(kept)]


def load_details(
    source: Path | IO[bytes], units: Container[str]
) -> dict[str, dict[str, Any]]:
    """Return the stored details of the given units, such as verdicts on claims."""
    with np.load(source, allow_pickle=False) as kept:
        return dict(
            _read_unit_details(
                kept, [own for own in _locate_unit_details(kept) if own[0] in units]
            )
        )


def _locate_unit_details(kept: NpzFile) -> list[tuple[str, int, int]]:
    if _DETAILS_KEY not in kept.files:
        return []
    ends = kept[_DETAILS_ENDS_KEY].tolist()
    # Decode only the unit names at the start of the JSON text, not the classes.
    names: list[str] = _JSON_DECODER.raw_decode(
        kept["texts"].tobytes().decode(), len(_UNIT_NAMES_PREFIX)
    )[0]
    places = zip(names, [0, *ends[:-1]], ends, strict=True)
    return [(name, begin, end) for name, begin, end in places if begin < end]


def _read_unit_details(
    kept: NpzFile, parts: Sequence[tuple[str, int, int]]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the stored details of the given units in order, without decompressing data
    after the last unit.
    """
    if not parts:
        return
    assert kept.zip is not None, "it is open"
    with kept.zip.open(f"{_DETAILS_KEY}.npy") as texts:
        read_magic(texts)
        read_array_header_1_0(texts)
        head = texts.tell()
        for name, begin, end in parts:
            texts.seek(head + begin)
            yield name, json.loads(texts.read(end - begin))


#: Each stored text of an instance has at most MAX_STORED_TEXT_CHARS characters.
MAX_STORED_TEXT_CHARS = 3_000
#: A run's stored instances have at most MAX_STORED_INSTANCES_BYTES bytes, and further ones are omitted.
MAX_STORED_INSTANCES_BYTES = 6_000_000
#: A stored part of the gold or of an answer has at most MAX_STORED_PART_CHARS characters.
#: The gold or the answer of an instance has at most MAX_STORED_PARTS stored parts.
MAX_STORED_PART_CHARS, MAX_STORED_PARTS = 600, 200
_INSTANCES_KEY, _INSTANCES_ENDS_KEY = "instances", "instances_ends"


def pack_instances(instances: Iterable[ShownInstance]) -> dict[str, NDArray[Any]]:
    """Return the instances as concatenated JSON texts, with the end offset of each
    text. Long texts are truncated.
    """

    texts: list[bytes] = []
    size = 0
    for instance in instances:
        text = json.dumps(_build_stored_instance(instance), ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        size += len(text)
        if size > MAX_STORED_INSTANCES_BYTES:
            break
        texts.append(text)
    return _pack_texts(texts, _INSTANCES_KEY, _INSTANCES_ENDS_KEY) if texts else {}


def _shorten_text(text: str, most: int = MAX_STORED_TEXT_CHARS) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def _build_stored_instance(instance: ShownInstance) -> dict[str, Any]:
    """Return the JSON values of an instance, without the texts that its fields and
    parts already contain.
    """
    values = asdict(instance)
    values |= {
        name: _shorten_text(values[name]) for name in ("given", "gold", "answer")
    }
    values["judged"] = [
        (outcome, _shorten_text(text)) for outcome, text in instance.judged
    ]
    for side in ("gold", "answer"):
        parts: tuple[AnswerPart, ...] = getattr(instance, f"{side}_parts")
        if _join_part_names(parts) == getattr(instance, side):
            values[side] = ""
        values[f"{side}_parts"] = [
            part._replace(
                name=_shorten_text(part.name),
                text=_shorten_text(part.text, MAX_STORED_PART_CHARS),
            )
            for part in parts[:MAX_STORED_PARTS]
        ]
    if instance.fields:
        values["given"] = ""
        values["fields"] = _TextShortener().shorten_texts(instance.fields)
    return {name: value for name, value in values.items() if value not in ({}, [], ())}


def _join_part_names(parts: Sequence[AnswerPart]) -> str:
    return "\n".join(part.name for part in parts)


class _TextShortener:
    """Shorten the texts in a JSON value, so that their total length is limited."""

    def __init__(self) -> None:
        self.left = MAX_STORED_TEXT_CHARS

    def shorten_texts(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                name: self.shorten_texts(own)
                for name, own in value.items()
                if self.left > 0
            }
        if isinstance(value, list | tuple):
            return [self.shorten_texts(own) for own in value if self.left > 0]
        if isinstance(value, str):
            value = _shorten_text(value, max(self.left, 1))
            self.left -= len(value)
        else:
            self.left -= 8
        return value


def _join_input_fields(fields: Mapping[str, Any]) -> str:
    """Return the input fields of an instance as one text, for search and tables."""
    return "\n".join(
        f"{name}: {_format_field_value(value)}" for name, value in fields.items()
    )


def _format_field_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(own, str) for own in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False)


def load_instances(source: Path | IO[bytes]) -> dict[str, ShownInstance]:
    """Return the stored instances of a run, keyed by name, or an empty mapping for
    files of old versions.
    """
    with np.load(source, allow_pickle=False) as kept:
        if _INSTANCES_KEY not in kept.files:
            return {}
        text, ends = kept[_INSTANCES_KEY].tobytes(), kept[_INSTANCES_ENDS_KEY].tolist()
    instances = {}
    for begin, end in zip([0, *ends[:-1]], ends, strict=True):
        values = json.loads(text[begin:end])
        instance = ShownInstance.from_json(values)
        instances[instance.name] = replace(
            instance,
            given=instance.given or _join_input_fields(instance.fields),
            gold=instance.gold or _join_part_names(instance.gold_parts),
            answer=instance.answer or _join_part_names(instance.answer_parts),
        )
    return instances
