"""The options of tasks that take labels of judges from the ledger of a site, as
`entailment = "store:NAME"`, `assignments = "store:NAME"` and `supports = "store:NAME"`.

The ledger has labels of several kinds. The option determines the kind.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tasks.types.base import Options
from tasks.types.cited_reports.options import ASSIGNMENTS, SUPPORTS_FILE
from tasks.types.ledger import ENTAILS, KEPT, STORE, YES, shown_items
from tasks.types.positional_citations.options import ENTAILMENT, LABELS

#: Each option that can name a judge of the ledger, in order of precedence.
#: Reports are ranked by nuggets by default, so the judge of nuggets is the first judge.
OPTIONS = (ENTAILMENT, ASSIGNMENTS, SUPPORTS_FILE)
#: Commands on pages show these names in place of files with labels of a judge.
PLACEHOLDERS = {
    ENTAILMENT.name: "LABELS",
    ASSIGNMENTS.name: "ASSIGNMENTS",
    SUPPORTS_FILE.name: "LABELS",
}


class StoredJudge(NamedTuple):
    """A judge of the ledger, with the option that names the judge, and the kind of the
    judge's labels.
    """

    option: str
    kind: str
    name: str


def stored_judges(options: Options) -> list[StoredJudge]:
    """Return the judges of the ledger that the options name, one for each kind of
    labels. The first judge of the list is the first judge of the task.
    """
    judges = []
    for option in OPTIONS:
        source, _, name = options.get(option.name, "").partition(":")
        if source == STORE and name:
            judges.append(StoredJudge(option.name, option.asks, name))
    return judges


def judges_named(options: Options, name: str) -> list[StoredJudge]:
    """Return the kinds of labels that the options take from the judge with this name."""
    return [judge for judge in stored_judges(options) if judge.name == name]


def with_label_files(
    options: Options, paths: Mapping[str, Path | str]
) -> dict[str, str]:
    """Return a copy of the options that makes the offline scorer read labels from files
    instead of a site's ledger. ``paths`` maps the names of options to files.
    """
    files = {
        judge.option: option_of_file(judge.option, paths[judge.option])
        for judge in stored_judges(options)
    }
    return {**options, **files}


def option_of_file(option: str, path: Path | str) -> str:
    """Return the value of an option that makes the offline scorer read labels from a
    file.
    """
    return f"{LABELS}:{path}" if option == ENTAILMENT.name else str(path)


def first_line(kind: str, name: str) -> str:
    """Return the first line of a file with labels of a judge from a site's ledger."""
    head: Mapping[str, str | bool] = (
        {"model": name} if kind == ENTAILS else {"kind": kind, "judge": name}
    )
    return f"{json.dumps({**head, KEPT: True}, ensure_ascii=False)}\n"


def label_line(kind: str, items: str, label: str) -> str:
    """Return a label as a line of a file for the offline scorer."""
    if kind != ENTAILS:
        return f"{json.dumps({'items': shown_items(items), 'label': label})}\n"
    premise, hypothesis = items.split()
    digest = "premise_sha256" if len(premise) == len(hypothesis) else "premise_sha1"
    value = {
        digest: premise,
        "hypothesis_sha256": hypothesis,
        "entailed": int(label == YES),
    }
    return f"{json.dumps(value)}\n"
