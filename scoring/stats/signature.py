"""Write the signatures of scores, which make scores reproducible.

The format of signatures follows sacreBLEU (Post 2018, A Call for Clarity in Reporting
BLEU Scores). The short form of a signature is the column key. The long form of a
signature adds the provenance of the score.
"""

import platform
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from tasks.types.base import DECLARED_SLUG_PREFIX, remove_judge_from_rule_set
from tasks.types.ledger import ASSIGNS_KIND, ENTAILS_KIND, SUPPORTS_KIND

if TYPE_CHECKING:
    from scoring.metrics.base import Metric

#: Signatures show this many digits of a gold digest, and scores store all digits.
SHOWN_DIGEST_LENGTH = 12
#: The part of a signature with the digest of a run's labels, by the kind of the labels.
LABEL_DIGEST_KEY_BY_KIND = {
    ENTAILS_KIND: "entailment_labels",
    SUPPORTS_KIND: "support_labels",
    ASSIGNS_KIND: "assignment_labels",
}
#: Signatures state the version of jackknife intervals, or why an interval is missing.
INTERVAL_VERSION_KEY, NO_INTERVAL_KEY = "interval_v", "no_interval"
#: Signatures state if the value covers the public or the private part of the split.
SPLIT_PART_KEY = "part"
#: The part of a signature with the version of the rules for reading runs.
#: Version 1 is omitted.
READING_VERSION_KEY = "reading"
#: The part of a signature with the reason for a missing value.
NO_VALUE_REASON_KEY = "no_value"
#: The part of a signature with the Unicode normal form in which texts are compared.
UNICODE_FORM_KEY = "unicode"
#: The part of a signature with the step to which the Ladder rounded the value.
LADDER_STEP_KEY = "ladder"


def build_column_key(
    metric: "Metric", *, gold: str, part: str = "", reading: int = 1
) -> str:
    """Return the column key of a score, which contains metric, rules, parameters, gold,
    part of the split, version of the rules for reading runs, and metric version.

    Scores with the same column key are comparable. The column key omits the version of
    the rules for reading runs if the version is 1.

    >>> build_column_key(metric, gold="1a2b3c4d5e6f…")
    'overlap_f1_micro|rules:corrected|average:micro|gold:1a2b3c4d5e6f|v:1'
    """
    facts: dict[str, str | int | float] = {
        "rules": metric.rules,
        **dict(sorted(metric.parameters.items())),
        **(
            {UNICODE_FORM_KEY: metric.unicode_normal_form}
            if metric.unicode_normal_form
            else {}
        ),
        **({"task": metric.task[:SHOWN_DIGEST_LENGTH]} if metric.task else {}),
        "gold": gold[:SHOWN_DIGEST_LENGTH],
        **({SPLIT_PART_KEY: part} if part else {}),
        **({READING_VERSION_KEY: reading} if reading > 1 else {}),
        "v": metric.version,
    }
    return _join_signature_parts(metric.name, facts)


def build_signature(
    column: str,
    provenance: Mapping[str, str | int | float],
    packages: Sequence[str] = (),
) -> str:
    """Return the column key with the score's provenance, which contains counts, number
    of resamples, seed and versions.
    """
    return _join_signature_parts(column, {**provenance, **collect_versions(packages)})


find_package_version = cache(metadata.version)


def collect_versions(packages: Sequence[str] = ()) -> dict[str, str]:
    """Return the versions of Python, NumPy and the packages that computed a value."""
    return {name: find_package_version(name) for name in ("numpy", *packages)} | {
        "python": platform.python_version()
    }


def format_score_command(
    task_type: str,
    *,
    rules: str,
    options: Mapping[str, str],
    signature: str,
    gold: Sequence[str],
    run: str,
    key: Mapping[str, str] | None = None,
    draw: str = "",
) -> str:
    """Return the shell command that recomputes a score.

    ``gold`` contains the paths of the gold files, and ``run`` is the path of the run.
    If ``run`` is empty, the command scores the human baseline. ``key`` contains the
    options for the gold's secret key, and ``draw`` is the nonce of the sampled part of
    the split.
    """
    drawn = parse_signature(signature)
    if SPLIT_PART_KEY in drawn:
        drawn[SPLIT_PART_KEY] = _reveal_nonce(drawn[SPLIT_PART_KEY], draw)
    kind = _format_task_type_argument(task_type)
    words = [
        "python",
        "-m",
        "scoring",
        *(["score"] if run else ["papers", "human-line"]),
        kind,
    ]
    for path in gold:
        words += ["--gold", path]
    words += [
        *(["--run", run] if run else []),
        "--rules",
        remove_judge_from_rule_set(rules),
    ]
    for name, value in options.items():
        words += ["--option", f"{name}={value}"]
    sources = (
        ("--intervals", "resamples"),
        ("--method", "interval"),
        ("--seed", "seed"),
        ("--part", SPLIT_PART_KEY),
    )
    for option, name in sources:
        words += [option, drawn[name]] if name in drawn else []
    for option, value in (key or {}).items():
        words += [option, value]
    return shlex.join(words)


def _reveal_nonce(part: str, draw: str) -> str:
    """In the name of a sampled part of a split, replace the commitment by the nonce of
    the sample.
    """
    head, _, drawn = part.rpartition("-")
    return f"{head}-{draw}" if draw and drawn.startswith("c") else part


def _format_task_type_argument(task_type: str) -> str:
    """Return the command-line argument for a task type, which is the slug, or the
    folder name of a declared task.
    """
    name = task_type.removeprefix(DECLARED_SLUG_PREFIX)
    return task_type if name == task_type else f"./{name.partition('@')[0]}"


def format_compare_command(  # noqa: PLR0913  (what a command consists of)
    task_type: str,
    *,
    rules: str,
    options: Mapping[str, str],
    gold: str,
    runs: tuple[str, str],
    trials: int,
    seed: int,
    part: str = "",
    key: Mapping[str, str] | None = None,
    draw: str = "",
) -> str:
    """Return the shell command that repeats the comparison of two runs. ``gold`` is the
    path of the gold, and ``runs`` contains the paths of the two runs.
    """
    words = [
        "python",
        "-m",
        "scoring",
        "compare",
        _format_task_type_argument(task_type),
        "--gold",
        gold,
    ]
    words += [
        "--run",
        runs[0],
        "--run",
        runs[1],
        "--rules",
        remove_judge_from_rule_set(rules),
    ]
    for name, value in options.items():
        words += ["--option", f"{name}={value}"]
    words += ["--part", _reveal_nonce(part, draw)] if part else []
    for option, value in (key or {}).items():
        words += [option, value]
    return shlex.join([*words, "--tests", str(trials), "--seed", str(seed)])


def parse_signature(signature: str) -> dict[str, str]:
    """Return the parts of a signature as a mapping of names to values. The metric's
    name at the start of the signature is omitted.
    """
    return dict(part.split(":", 1) for part in signature.split("|")[1:])


def build_withheld_signature(signature: str, instances: int) -> str:
    """Return the signature of a withheld score.

    The number of scored instances is replaced by the number of instances in the split,
    and the reason for a missing interval is removed, because both could reveal right
    answers.
    """
    parts = parse_signature(signature)
    parts.pop(NO_INTERVAL_KEY, None)
    return _join_signature_parts(
        signature.partition("|")[0], parts | {"n": str(instances)}
    )


def replace_counts_by_placeholders(
    signature: str, counts: Mapping[str, int | str]
) -> str:
    """In a signature, replace the values in ``counts`` by placeholders. The function
    `filled` inserts the values again. A part of the signature whose value differs from
    ``counts`` is not changed.

    >>> replace_counts_by_placeholders(
    ...     "f1|rules:corrected|v:1|n:10|missing:2|seed:0", {"n": 10, "missing": 2}
    ... )
    'f1|rules:corrected|v:1|n:*|missing:*|seed:0'
    """
    return _replace_signature_parts(
        signature, {f"{name}:{count}": f"{name}:*" for name, count in counts.items()}
    )


def fill_count_placeholders(shared: str, counts: Mapping[str, int | str]) -> str:
    """In a signature, replace the placeholders of `replace_counts_by_placeholders` by the values in
    ``counts``.
    """
    return _replace_signature_parts(
        shared, {f"{name}:*": f"{name}:{count}" for name, count in counts.items()}
    )


def _replace_signature_parts(signature: str, changed: Mapping[str, str]) -> str:
    return "|".join(changed.get(part, part) for part in signature.split("|"))


def _join_signature_parts(head: str, parts: Mapping[str, str | int | float]) -> str:
    # A vertical bar separates the parts of a signature, so no value may contain a bar.
    return "|".join(
        [
            head,
            *(
                f"{name}:{str(value).replace('|', '/')}"
                for name, value in parts.items()
            ),
        ]
    )
