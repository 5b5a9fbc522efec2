"""The evaluation measures that a rule set in `task.toml` can select by name. The
measures that a task can select depend on its form, such as ranking or labels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tasks.types.declared.keys import Keys, near
from tasks.types.declared.official_program import COLUMN, Official
from tasks.types.declared.own_measures import OwnMeasures
from tasks.types.references import MetricRef
from tasks.types.tokenizers import TOKENIZERS

CLASSES, CALIBRATION = "scoring.metrics.classification", "scoring.metrics.calibration"
WEIGHTED = "scoring.metrics.weighted"
#: `PROBABILITIES` and `SCORES` state which numbers a measure needs besides labels.
PROBABILITIES, SCORES = "probabilities", "probabilities or confidence"
PARTS = ("precision", "recall", "f1")
#: `ZEROS` lists the values that a rule set can define for 0/0 in precision or recall.
#: `OF_CLASSES` lists the metric classes that receive the rule set's value for 0/0.
ZEROS = ("0", "left-out")
OF_CLASSES = (f"{CLASSES}:ClassAverage", f"{CLASSES}:OneClass")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """An evaluation measure that `task.toml` can select.

    ``metric`` is the import path of the class that computes the measure. ``given``
    lists the settings of the task that are passed to the class of the measure.
    ``options`` maps the name of each option to the option's type, which is a text, a
    number, a flag, a label, or a choice of texts. ``cut`` is `always`, `maybe` or
    empty, if names of the measure end with a cut-off such as `@10` always, optionally
    or never.
    """

    metric: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    given: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    cut: str = ""
    #: `several` is True for measures of multi-label classification only.
    #: `several` is None if a measure accepts one or several labels per instance.
    several: bool | None = False
    asks: str = ""
    #: `has_tokenizer` is True if the measure splits texts into words.
    #: A rule set may select the tokenizer for a measure that splits texts into words.
    has_tokenizer: bool = False


def _label_measure(metric: str, **more: Any) -> Measure:
    return Measure(
        metric=f"{more.pop('module', CLASSES)}:{metric}", given=("labels",), **more
    )


def _of_label(metric: str, **more: Any) -> Measure:
    return _label_measure(metric, options={"label": "label"}, **more)


_BINS = {"bins": "count"}
LABELS: Mapping[str, Measure] = {
    "accuracy": _label_measure("Accuracy"),
    "balanced_accuracy": _label_measure("BalancedAccuracy"),
    **{
        f"{average}_{part}": _label_measure(
            "ClassAverage", arguments={"part": part, "average": average}, several=None
        )
        for average in ("macro", "micro", "weighted")
        for part in PARTS
    },
    **{
        part: _of_label("OneClass", arguments={"part": part}, several=None)
        for part in PARTS
    },
    "false_positive_rate": _of_label("FalsePositiveRate"),
    "mcc": _label_measure("Matthews"),
    "kappa": _label_measure("Kappa"),
    "kappa_linear": _label_measure("LinearKappa"),
    "kappa_quadratic": _label_measure("QuadraticKappa"),
    "coverage": _label_measure("Coverage"),
    "brier_score": _label_measure("Brier", module=CALIBRATION, asks=PROBABILITIES),
    "log_loss": _label_measure("LogLoss", module=CALIBRATION, asks=PROBABILITIES),
    "auroc": _of_label("Auroc", module=WEIGHTED, asks=SCORES),
    "average_precision": _of_label("AveragePrecision", module=WEIGHTED, asks=SCORES),
    "auprc": _of_label("Auprc", module=WEIGHTED, asks=SCORES),
    "ece": _label_measure(
        "CalibrationError", module=CALIBRATION, options=_BINS, asks=SCORES
    ),
    "ece_debiased": _label_measure(
        "DebiasedCalibrationError", module=CALIBRATION, options=_BINS, asks=SCORES
    ),
    "ece_equal_size": _label_measure(
        "EqualSizeCalibrationError",
        module=WEIGHTED,
        options={**_BINS, "pooled": "flag"},
        asks=SCORES,
    ),
    "exact_match": _label_measure(
        "LabelSets", arguments={"column": "exact"}, several=True
    ),
    "hamming_loss": _label_measure(
        "HammingLoss", arguments={"column": "hamming"}, several=True
    ),
    "jaccard": _label_measure(
        "LabelSets", arguments={"column": "jaccard"}, several=True
    ),
    **{
        f"samples_{part}": _label_measure(
            "LabelSets", arguments={"column": part}, several=True
        )
        for part in PARTS
    },
}


def _of(
    metric: str,
    *,
    given: tuple[str, ...] = (),
    cut: str = "",
    options: Any = (),
    has_tokenizer: bool = False,
    **arguments: Any,
) -> Measure:
    return Measure(
        has_tokenizer=has_tokenizer,
        metric=f"scoring.metrics.{metric}",
        given=given,
        cut=cut,
        options=dict(options),
        arguments=arguments,
    )


NUMBERS: Mapping[str, Measure] = {
    "pearson": _of("numbers:Pearson"),
    "spearman": _of("weighted:RankCorrelation"),
    "kendall": _of("weighted:Kendall"),
    "concordance": _of("numbers:Concordance"),
    "mae": _of("numbers:AbsoluteError"),
    "rmse": _of("numbers:SquaredError"),
    "mse": _of("numbers:MeanSquare"),
    "r2": _of("numbers:Determination"),
    "kappa_quadratic": _of("numbers:LevelKappa", given=("levels",)),
}
SPANS: Mapping[str, Measure] = {
    **{
        f"{scheme}_{part}": _of("spans:SemEval", part=part, scheme=scheme)
        for scheme in ("strict", "exact", "partial", "type")
        for part in PARTS
    },
    **{
        f"{unit}_{part}": _of("spans:Units", part=part, unit=unit)
        for unit in ("character", "token")
        for part in PARTS
    },
    **{
        f"iou_{part}": _of(
            "spans:OverlapAt", part=part, options={"threshold": "number"}
        )
        for part in PARTS
    },
}
TAGS: Mapping[str, Measure] = {
    f"entity_{part}": _of("entities:Entities", given=("labels",), part=part)
    for part in PARTS
}
SETS: Mapping[str, Measure] = {
    f"{measure}_{part}": _of("evidence:SciFact", measure=measure, part=part)
    for measure in (
        "abstract_rationalized",
        "abstract_label_only",
        "sentence_selection",
        "sentence_label",
    )
    for part in PARTS
}
_FEVER = {
    "label_accuracy": "label",
    "fever_score": "score",
    **{f"evidence_{part}": part for part in PARTS},
}
ONE: Mapping[str, Measure] = {
    name: _of("evidence:Fever", column=column, given=("abstain",))
    for name, column in _FEVER.items()
}
_ROUGE = {"part": PARTS, "stemmed": "flag"}
_BERTSCORE = {"part": PARTS, "model": "text", "layer": "count"}


def _of_words(metric: str, **more: Any) -> Measure:
    return _of(f"references:{metric}", has_tokenizer=True, **more)


TEXTS: Mapping[str, Measure] = {
    **{
        f"rouge_{kind}": _of_words("BestRouge", kind=kind, options=_ROUGE)
        for kind in ("1", "2", "l", "lsum")
    },
    "bleu": _of_words("ReferencesBleu"),
    "chrf": _of_words("ReferencesChrf", options={"words": "count"}),
    "meteor": _of_words("BestMeteor", options={"wordnet": "text"}),
    "bertscore": _of("references:BestBertScore", options=_BERTSCORE),
    "exact_match": _of("references:ShortAnswer", column="exact"),
    "token_f1": _of_words("ShortAnswer", column="f1"),
    "length": _of_words("Length", column="words"),
}
RANKING: Mapping[str, Measure] = {
    **{
        name: _of("ranking:Ranking", cut="maybe", measure=name)
        for name in ("recall", "mrr", "success", "map")
    },
    **{
        part: _of("ranking:RankingF1", cut="always", column=part)
        for part in ("precision", "f1")
    },
    "ndcg": _of("ranking:GradedNdcg", cut="maybe"),
    "rbp": _of("ranking:GradedRanking", cut="always", measure="rbp"),
    "r_precision": _of("ranking:RPrecision"),
    "bpref": _of("ranking:Bpref"),
}
CATALOGUE: Mapping[str, Mapping[str, Measure]] = {
    "labels": LABELS,
    "ranking": RANKING,
    "text": TEXTS,
    "spans": SPANS,
    "tags": TAGS,
    "evidence": SETS,
    "evidence-one": ONE,
    "numbers": NUMBERS,
}


class Naming:
    """Converts the measures that a rule set lists in `task.toml` into references to
    metric classes.
    """

    def __init__(
        self,
        form: str,
        given: Mapping[str, Any],
        own: OwnMeasures | None = None,
        official: Official | None = None,
    ) -> None:
        self.form, self.given = form, given
        #: `own` contains the measures that the task folder defines in `measures.py`.
        self.own = own or OwnMeasures("", {})
        self.official = official

    def metrics(self, rules: Keys) -> tuple[MetricRef, ...]:
        # Only a rule set of a text generation task may have the key `tokenizer`.
        # In all other tasks, `close` refuses the key `tokenizer` as unknown.
        tokenizer = (
            rules.choice("tokenizer", TOKENIZERS, "") if self.form == "text" else ""
        )
        said = rules.value("measures")
        if not isinstance(said, list) or not said:
            if said is not None and "measures" in rules:
                message = "“measures” is no list, or an empty one"
                rules.refuse("measures", message, '["accuracy", { name = … }]')
            return ()
        references = []
        for position, entry in enumerate(said, start=1):
            found: MetricRef | tuple[str, str] | None
            if self.official and isinstance(entry, dict) and COLUMN in entry:
                found = self._column(self.official, entry, rules)
            else:
                found = self._metric(entry, rules, position, tokenizer)
            if isinstance(found, MetricRef):
                references.append(found)
            elif found:
                rules.refuse("measures", *found)
        names = [reference.name for reference in references]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                rules.refuse(
                    "measures", f"two measures are called “{name}”", "a `name` for each"
                )
        return self._with_zero(rules, references)

    def _with_zero(
        self, rules: Keys, references: Iterable[MetricRef]
    ) -> tuple[MetricRef, ...]:
        """Pass the value that `task.toml` chooses for 0/0 to metrics such as macro F1,
        which divide for each class.
        """
        if "zero" not in rules:
            return tuple(references)
        zero = rules.choice("zero", ZEROS, ZEROS[0])
        if self.form != "labels":
            rules.refuse("zero", f"“zero” is of labels, and this form is {self.form}")
        given = {} if zero == ZEROS[0] else {"zero": zero}
        return tuple(
            replace(reference, arguments={**reference.arguments, **given})
            if reference.metric in OF_CLASSES
            else reference
            for reference in references
        )

    def _column(
        self, official: Official, entry: Mapping[str, Any], rules: Keys
    ) -> MetricRef | tuple[str, str]:
        """Return the metric that reads a column in the output of the official scoring
        program. For a faulty entry, return an error message and the expected value.
        """
        keys = rules.entry("measures", entry)
        assert keys is not None
        return official.reference(keys.text("name"), keys)

    def _metric(
        self, entry: Any, rules: Keys, place: int, tokenizer: str
    ) -> MetricRef | tuple[str, str] | None:
        """Return the metric for an entry in the list `measures` of a rule set. For a
        faulty entry, return an error message and the expected form, or None if the
        fault is already recorded.
        """
        keys = rules.entry("measures", entry)
        if keys is None:
            return (
                f"measure {place} is no text and no table",
                '{ name = "f1_method", … }',
            )
        name = keys.text("name")
        called = keys.text("measure", name) if name else ""
        if not called:
            return None
        stem, at, depth = called.partition("@")
        if stem in self.own.classes:
            keys.close()
            return self.own.reference(name, stem, self.given)
        known = CATALOGUE[self.form]
        measure = known.get(stem)
        if measure is None:
            message = f"there is no measure “{called}” of the form {self.form}{near(stem, list(known))}"
            return message, f"one of {', '.join([*known, *self.own.classes])}"
        arguments = dict(measure.arguments)
        if at:
            if not measure.cut or not depth.isdecimal() or int(depth) < 1:
                return (
                    f"“{called}” has no such cut-off",
                    f"{stem}@10" if measure.cut else stem,
                )
            arguments["cut"] = int(depth)
        elif measure.cut == "always":
            return f"“{called}” has no cut-off", f"{stem}@10"
        arguments |= {option: self.given[option] for option in measure.given}
        if fault := self._unfit(measure, stem):
            return fault
        for option, kind in measure.options.items():
            self._take(option, kind, keys, arguments, stem)
        keys.close()
        parts = {"tokenizer": tokenizer} if tokenizer and measure.has_tokenizer else {}
        return MetricRef(name, measure.metric, arguments | parts)

    def _unfit(self, measure: Measure, name: str) -> tuple[str, str] | None:
        """Return an error message and the expected value if the measure does not fit
        the classification task, otherwise None.
        """
        if self.form != "labels":
            return None
        if measure.several is not None and measure.several != self.given["several"]:
            message = "several labels" if measure.several else "one label"
            return f"“{name}” is of tasks in which an instance has {message}", ""
        has = {
            name for name in (PROBABILITIES, "confidence") if self.given[name] != "none"
        }
        if measure.asks == PROBABILITIES and PROBABILITIES not in has:
            return (
                f"“{name}” needs probabilities",
                'probabilities = "optional" or "needed" in [task.answer]',
            )
        if measure.asks == SCORES and not has:
            return (
                f"“{name}” needs probabilities or confidence",
                "either of them in [task.answer]",
            )
        return None

    def _take(
        self, option: str, kind: Any, keys: Keys, arguments: dict[str, Any], stem: str
    ) -> None:
        if kind == "label":
            label = keys.text(option, self.given["positive"])
            if label and label not in self.given["labels"]:
                keys.refuse(
                    option,
                    f"“{label}” is no label",
                    f"one of {', '.join(self.given['labels'])}",
                )
            elif not label:
                keys.refuse(
                    "name",
                    f"“{stem}” says no `label`",
                    "one here, or `positive` in [task.answer]",
                )
            else:
                arguments["label"] = label
        elif option not in keys:
            keys.value(option, None)
        elif kind == "flag":
            arguments[option] = keys.flag(option)
        elif kind in ("number", "count"):
            number = keys.number(option, least=1 if kind == "count" else 0)
            if number is not None:
                arguments[option] = int(number) if kind == "count" else number
        else:
            arguments[option] = (
                keys.text(option) if kind == "text" else keys.choice(option, kind)
            )
