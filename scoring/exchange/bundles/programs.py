"""Recognise the measures that a scoring program computes from the source of the
program, without running the program.

A program that calls a measure of a known library, or that contains a known formula, is
certain to compute the measure. A program that only defines a function with the name of
a measure is assumed to compute the measure.
"""

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from scoring.exchange.bundles.files import read_text_file
from scoring.exchange.bundles.report import ImportPrevented, ImportReport
from tasks.types.files import InputFile

PROGRAM_METADATA_FILE_NAMES = ("metadata", "metadata.yaml", "metadata.yml")
PROGRAM_ENTRY_FILE_NAMES = (
    "scoring.py",
    "score.py",
    "evaluate.py",
    "evaluation.py",
    "scoring_program.py",
)
MAX_SOURCE_FILES, MAX_EXPRESSION_DEPTH = 100, 20
#: Only the last MAX_SOURCE_EXCERPT_LENGTH characters of a printed text can contain a key.
MAX_SOURCE_EXCERPT_LENGTH = 500
_COMMAND_PATTERN = re.compile(r"^[ \t]*command[ \t]*:(.{1,1000})$", re.MULTILINE)
_PYTHON_INTERPRETER_PATTERN = re.compile(r"(?:.*/)?python(\d(?:\.\d+)?)?$")
_PYTHON_2_PATTERN = re.compile(
    r"^[ \t]*(?:print[ \t]+[^\s(=]|exec[ \t]+['\"\w]|except[ \t]+[\w.]+[ \t]*,)",
    re.MULTILINE,
)
#: Columns whose names match RESOURCE_COLUMN_PATTERN contain consumed resources, not measures.
RESOURCE_COLUMN_PATTERN = re.compile(
    r"duration|time|elapsed|memory|\bmem\b|cpu", re.IGNORECASE
)
CONFIDENCE_SURE, CONFIDENCE_LIKELY = "sure", "likely"
CallOptions = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class RecognisedMeasure:
    """A measure of the site that the source of a scoring program computes, with the
    position in the source.
    """

    form: str
    name: str
    place: str
    call: str
    confidence: str = CONFIDENCE_SURE
    options: CallOptions = field(default_factory=dict)
    doubt: str = ""
    is_percent: bool = False


@dataclass(frozen=True)
class ScoringProgram:
    """The measures that a scoring program computes, and the string literals of its
    source.

    ``by_key`` maps each key of the program's output to the measure that the program
    writes under the key. ``others`` contains the measures that the program writes under
    no known key, in order of appearance. ``words`` are the string literals in the
    source, which include the names of input files.
    """

    entry: str
    by_key: Mapping[str, RecognisedMeasure]
    others: Sequence[RecognisedMeasure]
    words: frozenset[str] = frozenset()


def read_scoring_program(
    files: Sequence[InputFile], place: str, report: ImportReport
) -> ScoringProgram:
    """Return the measures that a scoring program computes. Raises Prevented if the
    program is not written in Python 3.
    """
    command = find_command_line(files)
    entry = _find_entry_module(files, command, place)
    sources = {
        file.name: text
        for file in files
        if file.suffix == ".py" and (text := read_text_file(file)) is not None
    }
    if entry is None or entry not in sources:
        raise ImportPrevented(
            place, "no scoring program in Python; the source is not there"
        )
    trees: dict[str, ast.Module] = {}
    for name, text in list(sources.items())[:MAX_SOURCE_FILES]:
        try:
            trees[name] = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
            if name == entry:
                kind = (
                    "Python 2"
                    if _PYTHON_2_PATTERN.search(text)
                    else f"no Python 3: {fault}"
                )
                raise ImportPrevented(f"{place}/{name}", kind) from fault
    names = {
        file.name: read_text_file(file) for file in files if file.suffix in ("", ".txt")
    }
    words = frozenset(
        node.value
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    try:
        found = replace(
            _ScoringProgramSource(trees, entry, names).recognise_scoring_program(),
            words=words,
        )
    except RecursionError:
        found = ScoringProgram(entry, {}, (), words)
    report.add_understood_value(
        f"{place}/{entry}", f"the program: {command or 'no command'}"
    )
    for own in (*found.by_key.values(), *found.others):
        if own.doubt:
            report.add_needed_decision(own.place, f"{own.call}: {own.doubt}")
    return found


def find_command_line(files: Sequence[InputFile]) -> str:
    """Return the command line in the metadata of a scoring program, or an empty text if
    the metadata has no command.
    """
    for file in files:
        if file.name in PROGRAM_METADATA_FILE_NAMES:
            match = _COMMAND_PATTERN.search(read_text_file(file) or "")
            if match:
                return match[1].strip().strip("'\"")[:300]
    return ""


def _find_entry_module(
    files: Sequence[InputFile], command: str, place: str
) -> str | None:
    scripts = [file.name for file in files if file.suffix == ".py"]
    words = command.split()
    if words:
        python = _PYTHON_INTERPRETER_PATTERN.match(words[0])
        if python and (python[1] or "").startswith("2"):
            raise ImportPrevented(place, f"Python 2: {command}")
        if not python:
            raise ImportPrevented(
                place, f"an executable, and no source in Python: {command}"
            )
        named = [PurePosixPath(word).name for word in words if word.endswith(".py")]
        own = [name for name in scripts if PurePosixPath(name).name in named[:1]]
        if own:
            return min(own, key=len)
    executables = [file.name for file in files if file.suffix in (".exe", ".jar")]
    if executables:
        raise ImportPrevented(place, f"an executable: {', '.join(executables)[:100]}")
    known = [
        name for name in scripts if PurePosixPath(name).name in PROGRAM_ENTRY_FILE_NAMES
    ]
    return min(known or scripts, key=len, default=None)


def _make_averaged_metric_chooser(part: str) -> Callable[[CallOptions], Any]:
    def choose_averaged_metric(said: CallOptions) -> Any:
        average = said.get("average", "binary" if part != "" else None)
        if average == "binary":
            label = said.get("pos_label")
            return part, {} if label is None else {"label": str(label)}
        if average in ("macro", "micro", "weighted", "samples"):
            return f"{average}_{part}", {}
        return None

    return choose_averaged_metric


def _choose_kappa_metric(said: CallOptions) -> Any:
    weights = said.get("weights")
    return (f"kappa_{weights}" if weights else "kappa"), {}


def _choose_squared_error_metric(said: CallOptions) -> Any:
    return ("rmse" if said.get("squared") is False else "mse"), {}


def _choose_ndcg_metric(said: CallOptions) -> Any:
    return (f"ndcg@{said['k']}" if isinstance(said.get("k"), int) else "ndcg"), {}


SKLEARN_METRICS_MODULE, SCIPY_STATS_MODULE = "sklearn.metrics", "scipy.stats"
#: MEASURES_BY_CALL maps each library function to a task form and a measure.
#: A value of MEASURES_BY_CALL may be a function that derives the measure from call arguments.
MEASURES_BY_CALL: Mapping[str, tuple[str, str | Callable[[CallOptions], Any]]] = {
    f"{SKLEARN_METRICS_MODULE}.accuracy_score": ("labels", "accuracy"),
    f"{SKLEARN_METRICS_MODULE}.balanced_accuracy_score": (
        "labels",
        "balanced_accuracy",
    ),
    f"{SKLEARN_METRICS_MODULE}.f1_score": (
        "labels",
        _make_averaged_metric_chooser("f1"),
    ),
    f"{SKLEARN_METRICS_MODULE}.precision_score": (
        "labels",
        _make_averaged_metric_chooser("precision"),
    ),
    f"{SKLEARN_METRICS_MODULE}.recall_score": (
        "labels",
        _make_averaged_metric_chooser("recall"),
    ),
    f"{SKLEARN_METRICS_MODULE}.matthews_corrcoef": ("labels", "mcc"),
    f"{SKLEARN_METRICS_MODULE}.cohen_kappa_score": ("labels", _choose_kappa_metric),
    f"{SKLEARN_METRICS_MODULE}.hamming_loss": ("labels", "hamming_loss"),
    f"{SKLEARN_METRICS_MODULE}.roc_auc_score": ("labels", "auroc"),
    f"{SKLEARN_METRICS_MODULE}.average_precision_score": (
        "labels",
        "average_precision",
    ),
    f"{SKLEARN_METRICS_MODULE}.log_loss": ("labels", "log_loss"),
    f"{SKLEARN_METRICS_MODULE}.brier_score_loss": ("labels", "brier_score"),
    f"{SKLEARN_METRICS_MODULE}.mean_squared_error": (
        "numbers",
        _choose_squared_error_metric,
    ),
    f"{SKLEARN_METRICS_MODULE}.root_mean_squared_error": ("numbers", "rmse"),
    f"{SKLEARN_METRICS_MODULE}.mean_absolute_error": ("numbers", "mae"),
    f"{SKLEARN_METRICS_MODULE}.r2_score": ("numbers", "r2"),
    f"{SKLEARN_METRICS_MODULE}.ndcg_score": ("ranking", _choose_ndcg_metric),
    f"{SCIPY_STATS_MODULE}.pearsonr": ("numbers", "pearson"),
    f"{SCIPY_STATS_MODULE}.spearmanr": ("numbers", "spearman"),
    f"{SCIPY_STATS_MODULE}.kendalltau": ("numbers", "kendall"),
    "sacrebleu.corpus_bleu": ("text", "bleu"),
    "sacrebleu.corpus_chrf": ("text", "chrf"),
    "sacrebleu.metrics.BLEU": ("text", "bleu"),
    "sacrebleu.metrics.CHRF": ("text", "chrf"),
    "nltk.translate.bleu_score.corpus_bleu": ("text", "bleu"),
    "seqeval.metrics.f1_score": ("tags", "entity_f1"),
    "seqeval.metrics.precision_score": ("tags", "entity_precision"),
    "seqeval.metrics.recall_score": ("tags", "entity_recall"),
}
#: Each function in MEASURES_BY_TUPLE_CALL returns a tuple of several measures.
MEASURES_BY_TUPLE_CALL: Mapping[str, tuple[str, tuple[str, ...]]] = {
    f"{SKLEARN_METRICS_MODULE}.precision_recall_fscore_support": (
        "labels",
        ("precision", "recall", "f1"),
    ),
}
MEASURES_BY_ROUGE_NAME = {"rouge1": "rouge_1", "rouge2": "rouge_2"}
MEASURES_BY_ROUGE_NAME |= {"rougeL": "rouge_l", "rougeLsum": "rouge_lsum"}
#: MEASURES_BY_TREC_NAME maps names of measures in trec_eval to names of measures on the site.
MEASURES_BY_TREC_NAME = {
    "map": "map",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    "bpref": "bpref",
    "Rprec": "r_precision",
}
MEASURES_BY_TREC_CUTOFF_NAME = {
    "ndcg_cut": "ndcg",
    "recall": "recall",
    "P": "precision",
}
#: A function whose name matches an expression in MEASURES_BY_FUNCTION_NAME probably computes the measure.
MEASURES_BY_FUNCTION_NAME = (
    (r"mean_reciprocal_rank|mrr|reciprocal_rank", "ranking", "mrr"),
    (r"mean_average_precision|mapk|map_score|average_precision", "ranking", "map"),
    (r"ndcg(?:_score|_at_k)?", "ranking", "ndcg"),
    (r"recall_at_k|recall_k", "ranking", "recall"),
    (r"macro_f1|f1_macro|f1_score_macro", "labels", "macro_f1"),
    (r"micro_f1|f1_micro", "labels", "micro_f1"),
    (r"accuracy|acc|compute_accuracy|calculate_accuracy", "labels", "accuracy"),
    (r"rouge_?l(?:_score)?", "text", "rouge_l"),
    (r"exact_match(?:_score)?", "text", "exact_match"),
)
#: The functions in _CONVERSION_FUNCTIONS convert their argument and do not change the measure.
_CONVERSION_FUNCTIONS = frozenset(
    {"float", "round", "str", "np.float64", "numpy.float64"}
)
_MEAN_FUNCTIONS = frozenset(
    {"numpy.mean", "numpy.average", "statistics.mean", "statistics.fmean"}
)


class _ScoringProgramSource:
    """The parsed modules of a scoring program, and the statements that its entry module
    can reach.
    """

    def __init__(
        self,
        trees: Mapping[str, ast.Module],
        entry: str,
        texts: Mapping[str, str | None],
    ) -> None:
        self.trees, self.entry, self.texts = trees, entry, texts
        self.imports = {name: _map_imported_names(tree) for name, tree in trees.items()}
        #: ``functions`` maps a module and a function name to the function's definition.
        self.functions = {
            (name, node.name): node
            for name, tree in trees.items()
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
        }
        self.modules = {
            name.removesuffix(".py").replace("/", "."): name for name in trees
        }

    def recognise_scoring_program(self) -> ScoringProgram:
        if named := self._find_measure_named_in_file():
            return ScoringProgram(self.entry, {}, (named,))
        reached = self._list_reachable_statements()
        by_key: dict[str, RecognisedMeasure] = {}
        for module, body in reached:
            scope = _FunctionScope(self, module, body)
            for key, value in scope.iterate_written_keys_and_values():
                if found := scope.measure(value):
                    by_key.setdefault(key, found)
        seen = {(own.form, own.name) for own in by_key.values()}
        others: dict[tuple[str, str], RecognisedMeasure] = {}
        for module, body in reached:
            scope = _FunctionScope(self, module, body)
            for node in scope.iterate_syntax_nodes():
                for found in scope.iterate_measures_of_node(node):
                    measure = found.form, found.name
                    if measure not in seen:
                        others.setdefault(measure, found)
        return ScoringProgram(self.entry, by_key, tuple(others.values()))

    def _find_measure_named_in_file(self) -> RecognisedMeasure | None:
        words = {
            node.value
            for node in ast.walk(self.trees[self.entry])
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        for name, text in self.texts.items():
            if PurePosixPath(name).name not in words:
                continue
            lines = (text or "").split()
            for module, function in self.functions if len(lines) == 1 else ():
                if function != lines[0]:
                    continue
                node = self.functions[module, function]
                scope = _FunctionScope(self, module, node.body)
                returned = [
                    own for own in ast.walk(node) if isinstance(own, ast.Return)
                ]
                if returned and returned[-1].value is not None:
                    found = scope.measure(returned[-1].value)
                    return found and replace(found, call=f"{name}: {function}")
        return None

    def _list_reachable_statements(self) -> list[tuple[str, list[ast.stmt]]]:
        reached = [(self.entry, list(self.trees[self.entry].body))]
        seen = {(self.entry, "")}
        for module, body in reached:
            for name in _iterate_referenced_names(body):
                target = self.resolve(module, name)
                if target is not None and target not in seen and len(seen) < 500:
                    seen.add(target)
                    reached.append((target[0], self.functions[target].body))
        return reached

    def resolve(self, module: str, name: str) -> tuple[str, str] | None:
        """Return the module and the name of the scoring program's function to which a
        name refers, or None if the name refers to no function of the program.
        """
        if (module, name) in self.functions:
            return module, name
        whole = self.imports[module].get(name.partition(".")[0], "")
        rest = name.partition(".")[2]
        path, _dot, function = f"{whole}.{rest}".strip(".").rpartition(".")
        other = self.modules.get(path) or self.modules.get(path.rpartition(".")[2])
        target = (other or "", function)
        return target if target in self.functions else None

    def build_full_import_name(self, module: str, name: str) -> str:
        """Return the full name of the imported object to which a dotted name in the
        program refers.
        """
        head, _dot, rest = name.partition(".")
        full = self.imports[module].get(head, head)
        return f"{full}.{rest}".strip(".")


class _FunctionScope:
    """The statements of one function or of a module's top level in a scoring program."""

    def __init__(
        self, source: _ScoringProgramSource, module: str, body: Sequence[ast.stmt]
    ) -> None:
        self.source, self.module, self.body = source, module, body
        self.assigned: dict[str, list[ast.expr]] = {}
        #: ``unpacked`` maps a variable to the assigned call and the result's index.
        self.unpacked: dict[str, tuple[ast.expr, int]] = {}
        for node in self.iterate_syntax_nodes():
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._record_assignment(target, node.value)

    def iterate_syntax_nodes(self) -> Iterator[ast.AST]:
        """Yield the syntax nodes of the statements, without the nodes in nested
        functions and classes.
        """
        waiting: list[ast.AST] = list(reversed(self.body))
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            yield node
            waiting += reversed(list(ast.iter_child_nodes(node)))

    def _record_assignment(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple):
            for place, own in enumerate(target.elts):
                if isinstance(own, ast.Name):
                    self.unpacked[own.id] = (value, place)

    def iterate_written_keys_and_values(self) -> Iterator[tuple[str, ast.expr]]:
        """Yield the keys and values of the dictionaries that the statements fill."""
        for node in self.iterate_syntax_nodes():
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield key.value, value
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Subscript):
                        key = target.slice
                        if isinstance(key, ast.Constant) and isinstance(key.value, str):
                            yield key.value, node.value
            elif isinstance(node, ast.Call | ast.BinOp | ast.JoinedStr):
                yield from _iterate_printed_keys_and_values(node)

    def measure(self, value: ast.expr, depth: int = 0) -> RecognisedMeasure | None:
        """Return the measure that an expression computes, or None for an unknown
        expression.
        """
        if depth > MAX_EXPRESSION_DEPTH:
            return None
        value, is_percent = _strip_conversions(value, self._find_full_name)
        found = next(iter(self.iterate_measures_of_node(value)), None)
        if found is None and isinstance(value, ast.Name):
            if value.id in self.unpacked:
                found = self._recognise_measure_of_tuple_result(
                    *self.unpacked[value.id]
                )
            else:
                options = [
                    own
                    for one in self.assigned.get(value.id, ())
                    if (own := self.measure(one, depth + 1))
                ]
                found = options[-1] if options else None
        if found is None and isinstance(value, ast.Subscript):
            place = value.slice
            if isinstance(place, ast.Constant) and isinstance(place.value, int):
                # A correlation function of scipy.stats first returns the correlation.
                found = self._recognise_measure_of_tuple_result(
                    value.value, place.value
                )
                if found is None and place.value == 0:
                    found = self.measure(value.value, depth + 1)
        if found is None and isinstance(value, ast.Call):
            found = self._recognise_measure_of_own_function(value, depth)
        if found is None:
            return None
        return replace(found, is_percent=found.is_percent or is_percent)

    def _recognise_measure_of_own_function(
        self, call: ast.Call, depth: int
    ) -> RecognisedMeasure | None:
        """Return the measure that a call to a function of the scoring program computes,
        judged by the function's body or name.
        """
        name = _build_dotted_name(call.func)
        target = self.source.resolve(self.module, name) if name else None
        if target is None:
            if name.rpartition(".")[2] in ("mean", "item") and not call.args:
                return self.measure(call.func.value, depth + 1)  # type: ignore[attr-defined]
            return None
        node = self.source.functions[target]
        scope = _FunctionScope(self.source, target[0], node.body)
        returned = [
            own.value
            for own in scope.iterate_syntax_nodes()
            if isinstance(own, ast.Return) and own.value is not None
        ]
        for value in reversed(returned):
            if found := scope.measure(value, depth + 1):
                return found
        for pattern, form, measure in MEASURES_BY_FUNCTION_NAME:
            if re.fullmatch(f"_*(?:{pattern})", target[1], re.IGNORECASE):
                return RecognisedMeasure(
                    form=form,
                    name=measure,
                    place=self._format_source_position(call),
                    call=f"{target[1]}()",
                    confidence=CONFIDENCE_LIKELY,
                    doubt=f"a function of the program's own, taken for `{measure}` by"
                    " its name; compare the numbers",
                )
        return None

    def _recognise_measure_of_tuple_result(
        self, value: ast.expr, place: int
    ) -> RecognisedMeasure | None:
        if not isinstance(value, ast.Call):
            return None
        known = MEASURES_BY_TUPLE_CALL.get(self._find_full_name(value.func))
        if known is None:
            return self.measure(value) if place == 0 else None
        form, parts = known
        if place >= len(parts):
            return None
        return self._make_recognised_measure(
            value, form, _make_averaged_metric_chooser(parts[place])
        )

    def iterate_measures_of_node(self, node: ast.AST) -> Iterator[RecognisedMeasure]:
        """Yield the measures that a node of the scoring program's syntax tree computes."""
        if isinstance(node, ast.Call):
            name = self._find_full_name(node.func)
            if known := MEASURES_BY_CALL.get(name):
                if found := self._make_recognised_measure(node, *known):
                    yield found
                return
            yield from self._iterate_measures_named_in_lists(node, name)
        if isinstance(node, ast.expr) and (
            name := self._recognise_measure_of_formula(node)
        ):
            form = "labels" if name == "accuracy" else "numbers"
            text = ast.unparse(node)[:80]
            yield RecognisedMeasure(
                form=form,
                name=name,
                place=self._format_source_position(node),
                call=text,
            )

    def _iterate_measures_named_in_lists(
        self, call: ast.Call, name: str
    ) -> Iterator[RecognisedMeasure]:
        names = [
            node.value
            for argument in (*call.args, *(own.value for own in call.keywords))
            for node in ast.walk(argument)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        if name.endswith("rouge_scorer.RougeScorer"):
            found = [
                ("text", MEASURES_BY_ROUGE_NAME[own])
                for own in names
                if own in MEASURES_BY_ROUGE_NAME
            ]
            stem = any(own.arg == "use_stemmer" for own in call.keywords)
            doubt = "with the stemmer: set `stemmed` of the measure" if stem else ""
        elif name in ("pytrec_eval.RelevanceEvaluator", "ir_measures.calc_aggregate"):
            found = [
                ("ranking", own)
                for one in names
                if (own := _find_measure_of_trec_name(one))
            ]
            doubt = ""
        elif name in ("evaluate.load", "datasets.load_metric"):
            known = {"accuracy": ("labels", "accuracy"), "rouge": ("text", "rouge_l")}
            known |= {"f1": ("labels", "macro_f1"), "sacrebleu": ("text", "bleu")}
            found = [known[own] for own in names[:1] if own in known]
            doubt = "its options are not read" if found else ""
        else:
            return
        for form, measure in found:
            yield RecognisedMeasure(
                form=form,
                name=measure,
                place=self._format_source_position(call),
                call=f"{name}: {measure}",
                doubt=doubt,
            )

    def _make_recognised_measure(
        self, call: ast.Call, form: str, measure: str | Callable[[CallOptions], Any]
    ) -> RecognisedMeasure | None:
        said = {
            own.arg: own.value.value
            for own in call.keywords
            if own.arg and isinstance(own.value, ast.Constant)
        }
        named = (measure, {}) if isinstance(measure, str) else measure(said)
        if named is None:
            return None
        unread = [
            own.arg
            for own in call.keywords
            if own.arg in ("labels", "sample_weight", "normalize", "multioutput")
        ]
        doubt = f"its argument {', '.join(unread)} is not read" if unread else ""
        return RecognisedMeasure(
            form=form,
            name=named[0],
            options=named[1],
            place=self._format_source_position(call),
            call=self._find_full_name(call.func),
            doubt=doubt,
        )

    def _recognise_measure_of_formula(self, node: ast.expr) -> str:
        """Return the measure that a formula such as `np.mean((a - b) ** 2)` computes,
        or an empty text if the formula is unknown.
        """
        if isinstance(node, ast.Call) and len(node.args) == 1:
            name, inner = self._find_full_name(node.func), node.args[0]
            if name in ("numpy.sqrt", "math.sqrt"):
                return (
                    "rmse"
                    if self._recognise_formula_or_variable(inner) == "mse"
                    else ""
                )
            if name in _MEAN_FUNCTIONS:
                return self._recognise_measure_of_mean(inner)
        if _is_call_of_mean(node):
            return self._recognise_measure_of_mean(node.func.value)  # type: ignore[attr-defined]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left, right = node.left, node.right
            is_count = (
                isinstance(right, ast.Call) and _build_dotted_name(right.func) == "len"
            )
            if is_count and isinstance(left, ast.Call) and left.args:
                name = self._find_full_name(left.func)
                if name in ("sum", "numpy.sum") and _is_equality(left.args[0]):
                    return "accuracy"
        return ""

    def _recognise_formula_or_variable(self, node: ast.expr) -> str:
        if found := self._recognise_measure_of_formula(node):
            return found
        values = self.assigned.get(node.id, ()) if isinstance(node, ast.Name) else ()
        if values:
            return self._recognise_measure_of_formula(values[-1])
        found_call = next(iter(self.iterate_measures_of_node(node)), None)
        return found_call.name if found_call else ""

    def _recognise_measure_of_mean(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            # The variable stands for a formula that an earlier statement assigns to it.
            values = self.assigned.get(node.id, ())
            return self._recognise_measure_of_formula(values[-1]) if values else ""
        if _is_equality(node):
            return "accuracy"
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            is_two = isinstance(node.right, ast.Constant) and node.right.value == 2
            return "mse" if is_two and _is_difference(node.left) else ""
        if isinstance(node, ast.Call) and len(node.args) == 1:
            name = self._find_full_name(node.func)
            if _is_difference(node.args[0]):
                squares = ("numpy.square",)
                sizes = ("abs", "numpy.abs", "numpy.absolute", "numpy.fabs")
                return "mse" if name in squares else "mae" if name in sizes else ""
        return ""

    def _find_full_name(self, node: ast.expr) -> str:
        name = _build_dotted_name(node)
        return self.source.build_full_import_name(self.module, name) if name else ""

    def _format_source_position(self, node: ast.AST) -> str:
        return f"{self.module}:{getattr(node, 'lineno', 0)}"


def _map_imported_names(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for own in node.names:
                head = own.name.partition(".")[0]
                found[own.asname or head] = own.name if own.asname else head
        elif isinstance(node, ast.ImportFrom):
            for own in node.names:
                whole = f"{node.module or ''}.{own.name}".strip(".")
                found[own.asname or own.name] = whole
    return found


def _iterate_referenced_names(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name | ast.Attribute) and (
                name := _build_dotted_name(node)
            ):
                yield name


def _build_dotted_name(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def _strip_conversions(
    value: ast.expr, whole: Callable[[ast.expr], str]
) -> tuple[ast.expr, bool]:
    is_percent = False
    for _step in range(MAX_EXPRESSION_DEPTH):
        if isinstance(value, ast.Call) and value.args:
            name = whole(value.func)
            if name not in _CONVERSION_FUNCTIONS:
                break
            value = value.args[0]
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            sides = [value.left, value.right]
            hundred = [
                own
                for own in sides
                if isinstance(own, ast.Constant) and own.value in (100, 100.0)
            ]
            if not hundred:
                break
            value = next(own for own in sides if own is not hundred[0])
            is_percent = True
        else:
            break
    return value, is_percent


_PRINTED_KEY_PATTERN = re.compile(
    r"(?:^|\n)\s*[\"']?([\w@./ -]{1,60}?)[\"']?\s*[:=]\s*$"
)
_FORMATTED_KEY_PATTERN = re.compile(
    r"(?:^|\n)\s*([\w@./-]{1,60}) ?[:=] ?(?:%[\d.]*[a-z]|\{[^}]*\})"
)


def _iterate_printed_keys_and_values(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the keys and values of the texts that a statement prints, in an f-string, a
    text with `%` or a sum of texts.
    """
    if isinstance(node, ast.JoinedStr):
        for before, own in zip(node.values, node.values[1:], strict=False):
            if not isinstance(before, ast.Constant):
                continue
            match = _PRINTED_KEY_PATTERN.search(
                str(before.value)[-MAX_SOURCE_EXCERPT_LENGTH:]
            )
            if match and isinstance(own, ast.FormattedValue):
                yield match[1].strip(), own.value
    elif isinstance(node, ast.BinOp) and isinstance(node.left, ast.Constant):
        text = str(node.left.value)[-MAX_SOURCE_EXCERPT_LENGTH:]
        if isinstance(node.op, ast.Mod):
            right = node.right
            values = right.elts if isinstance(right, ast.Tuple) else [right]
            yield from zip(_FORMATTED_KEY_PATTERN.findall(text), values, strict=False)
        elif isinstance(node.op, ast.Add) and (
            match := _PRINTED_KEY_PATTERN.search(text)
        ):
            yield match[1].strip(), node.right
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text_node = node.func.value
        if node.func.attr == "format" and isinstance(text_node, ast.Constant):
            keys = _FORMATTED_KEY_PATTERN.findall(
                str(text_node.value)[-MAX_SOURCE_EXCERPT_LENGTH:]
            )
            yield from zip(keys, node.args, strict=False)


def _is_call_of_mean(node: ast.expr) -> bool:
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_method and node.func.attr == "mean" and not node.args  # type: ignore[attr-defined]


def _is_equality(node: ast.expr) -> bool:
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        if _is_equality(node.elt):
            return True
        conditions = [own for one in node.generators for own in one.ifs]
        is_one = isinstance(node.elt, ast.Constant) and node.elt.value == 1
        return is_one and len(conditions) == 1 and _is_equality(conditions[0])
    if not (isinstance(node, ast.Compare) and len(node.ops) == 1):
        return False
    right = node.comparators[0]
    both = not isinstance(node.left, ast.Constant) and not isinstance(
        right, ast.Constant
    )
    return isinstance(node.ops[0], ast.Eq) and both


def _is_difference(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Sub)
        and isinstance(node.left, ast.Name | ast.Attribute | ast.Subscript)
        and isinstance(node.right, ast.Name | ast.Attribute | ast.Subscript)
    )


def _find_measure_of_trec_name(name: str) -> str:
    if name in MEASURES_BY_TREC_NAME:
        return MEASURES_BY_TREC_NAME[name]
    kind, _line, cut = name.replace(".", "_").rpartition("_")
    return (
        f"{MEASURES_BY_TREC_CUTOFF_NAME[kind]}@{cut}"
        if kind in MEASURES_BY_TREC_CUTOFF_NAME and cut.isdecimal()
        else ""
    )
