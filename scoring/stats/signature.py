"""The words that let others recompute a number: what may share a column, and where the number came from.

After sacreBLEU (Post 2018, A Call for Clarity in Reporting BLEU Scores). The short form is the column key;
the long one is the column key and its provenance.
"""

import platform
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from tasks.types.base import DECLARED

if TYPE_CHECKING:
    from scoring.metrics.base import Metric

#: Enough of a digest to tell gold versions apart by eye; the whole digest stands beside the score.
DIGEST_LENGTH = 12
#: The part with the digest of the entailment labels that decided a run.
ENTAILMENT_LABELS = "entailment_labels"
#: The parts with the version of the intervals without draws, and with why there is none.
INTERVAL_VERSION, NO_INTERVAL = "interval_v", "no_interval"
#: The part that names the public or private part of the split that a number is of.
PART = "part"
#: The part with the version by which runs on the gold are read; version 1 is not named.
READING = "reading"
#: The part with why there is no number.
NO_VALUE = "no_value"
#: The part with the normal form in which texts are compared.
UNICODE = "unicode"
#: The part with the step to which the Ladder has rounded a number.
LADDER = "ladder"


def column_key(metric: "Metric", *, gold: str, part: str = "", reading: int = 1) -> str:
    """Return the key of a column: metric, rules, parameters, gold, part, reading version, version.

    Numbers with the same key can be compared. The key names reading versions from 2 on.

    >>> column_key(metric, gold="1a2b3c4d5e6f…")
    'overlap_f1_micro|rules:corrected|average:micro|gold:1a2b3c4d5e6f|v:1'
    """
    facts: dict[str, str | int | float] = {
        "rules": metric.rules,
        **dict(sorted(metric.parameters.items())),
        **({UNICODE: metric.normal_form} if metric.normal_form else {}),
        **({"task": metric.task[:DIGEST_LENGTH]} if metric.task else {}),
        "gold": gold[:DIGEST_LENGTH],
        **({PART: part} if part else {}),
        **({READING: reading} if reading > 1 else {}),
        "v": metric.version,
    }
    return _joined(metric.name, facts)


def signature(
    column: str,
    provenance: Mapping[str, str | int | float],
    packages: Sequence[str] = (),
) -> str:
    """The column key and what else a reader needs: counts, resamples and seed, versions."""
    return _joined(column, {**provenance, **versions(packages)})


version_of = cache(metadata.version)


def versions(packages: Sequence[str] = ()) -> dict[str, str]:
    """The programs whose arithmetic a number rests on."""
    return {name: version_of(name) for name in ("numpy", *packages)} | {
        "python": platform.python_version()
    }


def offline_command(
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
    """The command that computes a score again, to paste into a shell; ``gold`` and ``run`` are paths. Without
    a run that is the human line's. ``key`` are the options of the gold's key, ``draw`` is the nonce of the
    draw.
    """
    drawn = provenance_of(signature)
    if PART in drawn:
        drawn[PART] = _opened(drawn[PART], draw)
    kind = _folder_or_slug(task_type)
    words = [
        "python",
        "-m",
        "scoring",
        *(["score"] if run else ["papers", "human-line"]),
        kind,
    ]
    for path in gold:
        words += ["--gold", path]
    words += [*(["--run", run] if run else []), "--rules", rules]
    for name, value in options.items():
        words += ["--option", f"{name}={value}"]
    sources = (
        ("--intervals", "resamples"),
        ("--method", "interval"),
        ("--seed", "seed"),
        ("--part", PART),
    )
    for option, name in sources:
        words += [option, drawn[name]] if name in drawn else []
    for option, value in (key or {}).items():
        words += [option, value]
    return shlex.join(words)


def _opened(part: str, draw: str) -> str:
    """Return the part with the nonce of its draw in the place of the commitment."""
    head, _, drawn = part.rpartition("-")
    return f"{head}-{draw}" if draw and drawn.startswith("c") else part


def _folder_or_slug(task_type: str) -> str:
    """As a command names it: a declared task by a folder of its name."""
    name = task_type.removeprefix(DECLARED)
    return task_type if name == task_type else f"./{name.partition('@')[0]}"


def compare_command(  # noqa: PLR0913  (what a command consists of)
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
    """The command that compares two runs again, to paste into a shell; ``gold`` and ``runs`` are paths."""
    words = [
        "python",
        "-m",
        "scoring",
        "compare",
        _folder_or_slug(task_type),
        "--gold",
        gold,
    ]
    words += ["--run", runs[0], "--run", runs[1], "--rules", rules]
    for name, value in options.items():
        words += ["--option", f"{name}={value}"]
    words += ["--part", _opened(part, draw)] if part else []
    for option, value in (key or {}).items():
        words += [option, value]
    return shlex.join([*words, "--tests", str(trials), "--seed", str(seed)])


def provenance_of(signature: str) -> dict[str, str]:
    """A signature's parts by name; the metric's own name stands before them."""
    return dict(part.split(":", 1) for part in signature.split("|")[1:])


def withheld_signature(signature: str, instances: int) -> str:
    """Return the signature of a withheld number, with the instances of the split in the place of its own.

    Why a number has no interval, and the instances that it rests on, can tell which answers are right.
    """
    parts = provenance_of(signature)
    parts.pop(NO_INTERVAL, None)
    return _joined(signature.partition("|")[0], parts | {"n": str(instances)})


def shared_form(signature: str, counts: Mapping[str, int | str]) -> str:
    """The signature with these parts left open, for `filled` to close; a part with another value stays.

    >>> shared_form("f1|rules:corrected|v:1|n:10|missing:2|seed:0", {"n": 10, "missing": 2})
    'f1|rules:corrected|v:1|n:*|missing:*|seed:0'
    """
    return _with_parts(
        signature, {f"{name}:{count}": f"{name}:*" for name, count in counts.items()}
    )


def filled(shared: str, counts: Mapping[str, int | str]) -> str:
    """The signature of which `shared_form` with the same counts gives ``shared``."""
    return _with_parts(
        shared, {f"{name}:*": f"{name}:{count}" for name, count in counts.items()}
    )


def _with_parts(signature: str, changed: Mapping[str, str]) -> str:
    return "|".join(changed.get(part, part) for part in signature.split("|"))


def _joined(head: str, parts: Mapping[str, str | int | float]) -> str:
    # A bar would begin another part.
    return "|".join(
        [
            head,
            *(
                f"{name}:{str(value).replace('|', '/')}"
                for name, value in parts.items()
            ),
        ]
    )
