"""The evaluation measures that a rule set in `task.toml` can select by name. The
measures that a task can select depend on its form, such as ranking or labels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tasks.types.declared.keys import TomlTable, format_similar_name_hint
from tasks.types.declared.official_program import (
    PROGRAM_COLUMN_KEY,
    OfficialProgramWithLayout,
)
from tasks.types.declared.own_measures import OwnMeasureClasses
from tasks.types.references import MetricRef
from tasks.types.tokenizers import TOKENIZERS_BY_NAME

CLASSIFICATION_METRICS_MODULE, CALIBRATION_METRICS_MODULE = (
    "scoring.metrics.classification",
    "scoring.metrics.calibration",
)
WEIGHTED_METRICS_MODULE = "scoring.metrics.weighted"
#: `NEEDS_PROBABILITIES` and `NEEDS_PROBABILITIES_OR_CONFIDENCE` state what measures need besides labels.
NEEDS_PROBABILITIES, NEEDS_PROBABILITIES_OR_CONFIDENCE = (
    "probabilities",
    "probabilities or confidence",
)
PRECISION_RECALL_AND_F1 = ("precision", "recall", "f1")
#: `ZERO_DIVISION_VALUES` lists the values that a rule set can define for 0/0 in precision or recall.
#: `METRICS_WITH_ZERO_DIVISION_VALUE` lists the metric classes that receive the rule set's value for 0/0.
ZERO_DIVISION_VALUES = ("0", "left-out")
METRICS_WITH_ZERO_DIVISION_VALUE = (
    f"{CLASSIFICATION_METRICS_MODULE}:ClassAverage",
    f"{CLASSIFICATION_METRICS_MODULE}:OneClass",
)


@dataclass(frozen=True, kw_only=True)
class SelectableMeasure:
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


def _make_label_measure(metric: str, **more: Any) -> SelectableMeasure:
    return SelectableMeasure(
        metric=f"{more.pop('module', CLASSIFICATION_METRICS_MODULE)}:{metric}",
        given=("labels",),
        **more,
    )


def _make_measure_of_one_label(metric: str, **more: Any) -> SelectableMeasure:
    return _make_label_measure(metric, options={"label": "label"}, **more)


_BINS_OPTION = {"bins": "count"}
LABEL_MEASURES: Mapping[str, SelectableMeasure] = {
    "accuracy": _make_label_measure("Accuracy"),
    "balanced_accuracy": _make_label_measure("BalancedAccuracy"),
    **{
        f"{average}_{part}": _make_label_measure(
            "ClassAverage", arguments={"part": part, "average": average}, several=None
        )
        for average in ("macro", "micro", "weighted")
        for part in PRECISION_RECALL_AND_F1
    },
    **{
        part: _make_measure_of_one_label(
            "OneClass", arguments={"part": part}, several=None
        )
        for part in PRECISION_RECALL_AND_F1
    },
    "false_positive_rate": _make_measure_of_one_label("FalsePositiveRate"),
    "mcc": _make_label_measure("Matthews"),
    "kappa": _make_label_measure("Kappa"),
    "kappa_linear": _make_label_measure("LinearKappa"),
    "kappa_quadratic": _make_label_measure("QuadraticKappa"),
    "coverage": _make_label_measure("Coverage"),
    "brier_score": _make_label_measure(
        "Brier", module=CALIBRATION_METRICS_MODULE, asks=NEEDS_PROBABILITIES
    ),
    "log_loss": _make_label_measure(
        "LogLoss", module=CALIBRATION_METRICS_MODULE, asks=NEEDS_PROBABILITIES
    ),
    "auroc": _make_measure_of_one_label(
        "Auroc", module=WEIGHTED_METRICS_MODULE, asks=NEEDS_PROBABILITIES_OR_CONFIDENCE
    ),
    "average_precision": _make_measure_of_one_label(
        "AveragePrecision",
        module=WEIGHTED_METRICS_MODULE,
        asks=NEEDS_PROBABILITIES_OR_CONFIDENCE,
    ),
    "auprc": _make_measure_of_one_label(
        "Auprc", module=WEIGHTED_METRICS_MODULE, asks=NEEDS_PROBABILITIES_OR_CONFIDENCE
    ),
    "ece": _make_label_measure(
        "CalibrationError",
        module=CALIBRATION_METRICS_MODULE,
        options=_BINS_OPTION,
        asks=NEEDS_PROBABILITIES_OR_CONFIDENCE,
    ),
    "ece_debiased": _make_label_measure(
        "DebiasedCalibrationError",
        module=CALIBRATION_METRICS_MODULE,
        options=_BINS_OPTION,
        asks=NEEDS_PROBABILITIES_OR_CONFIDENCE,
    ),
    "ece_equal_size": _make_label_measure(
        "EqualSizeCalibrationError",
        module=WEIGHTED_METRICS_MODULE,
        options={**_BINS_OPTION, "pooled": "flag"},
        asks=NEEDS_PROBABILITIES_OR_CONFIDENCE,
    ),
    "exact_match": _make_label_measure(
        "LabelSets", arguments={"column": "exact"}, several=True
    ),
    "hamming_loss": _make_label_measure(
        "HammingLoss", arguments={"column": "hamming"}, several=True
    ),
    "jaccard": _make_label_measure(
        "LabelSets", arguments={"column": "jaccard"}, several=True
    ),
    **{
        f"samples_{part}": _make_label_measure(
            "LabelSets", arguments={"column": part}, several=True
        )
        for part in PRECISION_RECALL_AND_F1
    },
}


def _make_selectable_measure(
    metric: str,
    *,
    given: tuple[str, ...] = (),
    cut: str = "",
    options: Any = (),
    has_tokenizer: bool = False,
    **arguments: Any,
) -> SelectableMeasure:
    return SelectableMeasure(
        has_tokenizer=has_tokenizer,
        metric=f"scoring.metrics.{metric}",
        given=given,
        cut=cut,
        options=dict(options),
        arguments=arguments,
    )


NUMBER_MEASURES: Mapping[str, SelectableMeasure] = {
    "pearson": _make_selectable_measure("numbers:Pearson"),
    "spearman": _make_selectable_measure("weighted:RankCorrelation"),
    "kendall": _make_selectable_measure("weighted:Kendall"),
    "concordance": _make_selectable_measure("numbers:Concordance"),
    "mae": _make_selectable_measure("numbers:AbsoluteError"),
    "rmse": _make_selectable_measure("numbers:SquaredError"),
    "mse": _make_selectable_measure("numbers:MeanSquare"),
    "r2": _make_selectable_measure("numbers:Determination"),
    "kappa_quadratic": _make_selectable_measure(
        "numbers:LevelKappa", given=("levels",)
    ),
}
SPAN_MEASURES: Mapping[str, SelectableMeasure] = {
    **{
        f"{scheme}_{part}": _make_selectable_measure(
            "spans:SemEval", part=part, scheme=scheme
        )
        for scheme in ("strict", "exact", "partial", "type")
        for part in PRECISION_RECALL_AND_F1
    },
    **{
        f"{unit}_{part}": _make_selectable_measure("spans:Units", part=part, unit=unit)
        for unit in ("character", "token")
        for part in PRECISION_RECALL_AND_F1
    },
    **{
        f"iou_{part}": _make_selectable_measure(
            "spans:OverlapAt", part=part, options={"threshold": "number"}
        )
        for part in PRECISION_RECALL_AND_F1
    },
}
TAG_MEASURES: Mapping[str, SelectableMeasure] = {
    f"entity_{part}": _make_selectable_measure(
        "entities:Entities", given=("labels",), part=part
    )
    for part in PRECISION_RECALL_AND_F1
}
EVIDENCE_SET_MEASURES: Mapping[str, SelectableMeasure] = {
    f"{measure}_{part}": _make_selectable_measure(
        "evidence:SciFact", measure=measure, part=part
    )
    for measure in (
        "abstract_rationalized",
        "abstract_label_only",
        "sentence_selection",
        "sentence_label",
    )
    for part in PRECISION_RECALL_AND_F1
}
_FEVER_COLUMNS = {
    "label_accuracy": "label",
    "fever_score": "score",
    **{f"evidence_{part}": part for part in PRECISION_RECALL_AND_F1},
}
SINGLE_EVIDENCE_MEASURES: Mapping[str, SelectableMeasure] = {
    name: _make_selectable_measure("evidence:Fever", column=column, given=("abstain",))
    for name, column in _FEVER_COLUMNS.items()
}
_ROUGE_OPTIONS = {"part": PRECISION_RECALL_AND_F1, "stemmed": "flag"}
_BERTSCORE_OPTIONS = {
    "part": PRECISION_RECALL_AND_F1,
    "model": "text",
    "layer": "count",
}


def _make_tokenizer_measure(metric: str, **more: Any) -> SelectableMeasure:
    return _make_selectable_measure(f"references:{metric}", has_tokenizer=True, **more)


TEXT_MEASURES: Mapping[str, SelectableMeasure] = {
    **{
        f"rouge_{kind}": _make_tokenizer_measure(
            "BestRouge", kind=kind, options=_ROUGE_OPTIONS
        )
        for kind in ("1", "2", "l", "lsum")
    },
    "bleu": _make_tokenizer_measure("ReferencesBleu"),
    "chrf": _make_tokenizer_measure("ReferencesChrf", options={"words": "count"}),
    "meteor": _make_tokenizer_measure("BestMeteor", options={"wordnet": "text"}),
    "bertscore": _make_selectable_measure(
        "references:BestBertScore", options=_BERTSCORE_OPTIONS
    ),
    "exact_match": _make_selectable_measure("references:ShortAnswer", column="exact"),
    "token_f1": _make_tokenizer_measure("ShortAnswer", column="f1"),
    "length": _make_tokenizer_measure("Length", column="words"),
}
RANKING_MEASURES: Mapping[str, SelectableMeasure] = {
    **{
        name: _make_selectable_measure("ranking:Ranking", cut="maybe", measure=name)
        for name in ("recall", "mrr", "success", "map")
    },
    **{
        part: _make_selectable_measure("ranking:RankingF1", cut="always", column=part)
        for part in ("precision", "f1")
    },
    "ndcg": _make_selectable_measure("ranking:GradedNdcg", cut="maybe"),
    "rbp": _make_selectable_measure(
        "ranking:GradedRanking", cut="always", measure="rbp"
    ),
    "r_precision": _make_selectable_measure("ranking:RPrecision"),
    "bpref": _make_selectable_measure("ranking:Bpref"),
}
MEASURES_BY_FORM: Mapping[str, Mapping[str, SelectableMeasure]] = {
    "labels": LABEL_MEASURES,
    "ranking": RANKING_MEASURES,
    "text": TEXT_MEASURES,
    "spans": SPAN_MEASURES,
    "tags": TAG_MEASURES,
    "evidence": EVIDENCE_SET_MEASURES,
    "evidence-one": SINGLE_EVIDENCE_MEASURES,
    "numbers": NUMBER_MEASURES,
}


class MeasureListReader:
    """Converts the measures that a rule set lists in `task.toml` into references to
    metric classes.
    """

    def __init__(
        self,
        form: str,
        given: Mapping[str, Any],
        own: OwnMeasureClasses | None = None,
        official: OfficialProgramWithLayout | None = None,
    ) -> None:
        self.form, self.given = form, given
        #: `own` contains the measures that the task folder defines in `measures.py`.
        self.own = own or OwnMeasureClasses("", {})
        self.official = official

    def metrics(self, rules: TomlTable) -> tuple[MetricRef, ...]:
        # Only a rule set of a text generation task may have the key `tokenizer`.
        # In all other tasks, `close` refuses the key `tokenizer` as unknown.
        tokenizer = (
            rules.choice("tokenizer", TOKENIZERS_BY_NAME, "")
            if self.form == "text"
            else ""
        )
        said = rules.value("measures")
        if not isinstance(said, list) or not said:
            if said is not None and "measures" in rules:
                message = "“measures” is no list, or an empty one"
                rules.add_problem_at_key(
                    "measures", message, '["accuracy", { name = … }]'
                )
            return ()
        references = []
        for position, entry in enumerate(said, start=1):
            found: MetricRef | tuple[str, str] | None
            if (
                self.official
                and isinstance(entry, dict)
                and PROGRAM_COLUMN_KEY in entry
            ):
                found = self._read_program_column(self.official, entry, rules)
            else:
                found = self._read_metric(entry, rules, position, tokenizer)
            if isinstance(found, MetricRef):
                references.append(found)
            elif found:
                rules.add_problem_at_key("measures", *found)
        names = [reference.name for reference in references]
        for name in dict.fromkeys(names):
            if names.count(name) > 1:
                rules.add_problem_at_key(
                    "measures", f"two measures are called “{name}”", "a `name` for each"
                )
        return self._apply_zero_division_value(rules, references)

    def _apply_zero_division_value(
        self, rules: TomlTable, references: Iterable[MetricRef]
    ) -> tuple[MetricRef, ...]:
        """Pass the value that `task.toml` chooses for 0/0 to metrics such as macro F1,
        which divide for each class.
        """
        if "zero" not in rules:
            return tuple(references)
        zero = rules.choice("zero", ZERO_DIVISION_VALUES, ZERO_DIVISION_VALUES[0])
        if self.form != "labels":
            rules.add_problem_at_key(
                "zero", f"“zero” is of labels, and this form is {self.form}"
            )
        given = {} if zero == ZERO_DIVISION_VALUES[0] else {"zero": zero}
        return tuple(
            replace(reference, arguments={**reference.arguments, **given})
            if reference.metric in METRICS_WITH_ZERO_DIVISION_VALUE
            else reference
            for reference in references
        )

    def _read_program_column(
        self,
        official: OfficialProgramWithLayout,
        entry: Mapping[str, Any],
        rules: TomlTable,
    ) -> MetricRef | tuple[str, str]:
        """Return the metric that reads a column in the output of the official scoring
        program. For a faulty entry, return an error message and the expected value.
        """
        keys = rules.entry("measures", entry)
        assert keys is not None
        return official.reference(keys.text("name"), keys)

    def _read_metric(
        self, entry: Any, rules: TomlTable, place: int, tokenizer: str
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
        known = MEASURES_BY_FORM[self.form]
        measure = known.get(stem)
        if measure is None:
            hint = format_similar_name_hint(stem, list(known))
            message = f"there is no measure “{called}” of the form {self.form}{hint}"
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
        if fault := self._find_reason_measure_misfits_task(measure, stem):
            return fault
        for option, kind in measure.options.items():
            self._read_metric_option(option, kind, keys, arguments, stem)
        keys.close()
        parts = {"tokenizer": tokenizer} if tokenizer and measure.has_tokenizer else {}
        return MetricRef(name, measure.metric, arguments | parts)

    def _find_reason_measure_misfits_task(
        self, measure: SelectableMeasure, name: str
    ) -> tuple[str, str] | None:
        """Return an error message and the expected value if the measure does not fit
        the classification task, otherwise None.
        """
        if self.form != "labels":
            return None
        if measure.several is not None and measure.several != self.given["several"]:
            message = "several labels" if measure.several else "one label"
            return f"“{name}” is of tasks in which an instance has {message}", ""
        has = {
            name
            for name in (NEEDS_PROBABILITIES, "confidence")
            if self.given[name] != "none"
        }
        if measure.asks == NEEDS_PROBABILITIES and NEEDS_PROBABILITIES not in has:
            return (
                f"“{name}” needs probabilities",
                'probabilities = "optional" or "needed" in [task.answer]',
            )
        if measure.asks == NEEDS_PROBABILITIES_OR_CONFIDENCE and not has:
            return (
                f"“{name}” needs probabilities or confidence",
                "either of them in [task.answer]",
            )
        return None

    def _read_metric_option(
        self,
        option: str,
        kind: Any,
        keys: TomlTable,
        arguments: dict[str, Any],
        stem: str,
    ) -> None:
        if kind == "label":
            label = keys.text(option, self.given["positive"])
            if label and label not in self.given["labels"]:
                keys.add_problem_at_key(
                    option,
                    f"“{label}” is no label",
                    f"one of {', '.join(self.given['labels'])}",
                )
            elif not label:
                keys.add_problem_at_key(
                    "name",
                    f"“{stem}” says no `label`",
                    "one here, or `positive` in [task.answer]",
                )
            else:
                arguments["label"] = label
        elif option not in keys:
            keys.value(option, None)
        elif kind == "flag":
            arguments[option] = keys.read_flag(option)
        elif kind in ("number", "count"):
            number = keys.number(option, least=1 if kind == "count" else 0)
            if number is not None:
                arguments[option] = int(number) if kind == "count" else number
        else:
            arguments[option] = (
                keys.text(option) if kind == "text" else keys.choice(option, kind)
            )
