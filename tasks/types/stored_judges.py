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
from tasks.types.cited_reports.options import ASSIGNMENTS_OPTION, SUPPORTS_OPTION
from tasks.types.ledger import (
    ENTAILED_LABEL,
    ENTAILS_KIND,
    LEDGER_FILE_KEY,
    LEDGER_JUDGE_PREFIX,
    format_item_digests,
)
from tasks.types.positional_citations.options import (
    ENTAILMENT_OPTION,
    LABEL_FILE_SOURCE,
)

#: Each option that can name a judge of the ledger, in order of precedence.
#: Reports are ranked by nuggets by default, so the judge of nuggets is the first judge.
LEDGER_JUDGE_OPTIONS = (ENTAILMENT_OPTION, ASSIGNMENTS_OPTION, SUPPORTS_OPTION)
#: Commands on pages show these names in place of files with labels of a judge.
LABEL_FILE_PLACEHOLDERS = {
    ENTAILMENT_OPTION.name: "LABELS",
    ASSIGNMENTS_OPTION.name: "ASSIGNMENTS",
    SUPPORTS_OPTION.name: "LABELS",
}


class LedgerJudge(NamedTuple):
    """A judge of the ledger, with the option that names the judge, and the kind of the
    judge's labels.
    """

    option: str
    kind: str
    name: str


def list_ledger_judges(options: Options) -> list[LedgerJudge]:
    """Return the judges of the ledger that the options name, one for each kind of
    labels. The first judge of the list is the first judge of the task.
    """
    judges = []
    for option in LEDGER_JUDGE_OPTIONS:
        source, _, name = options.get(option.name, "").partition(":")
        if source == LEDGER_JUDGE_PREFIX and name:
            judges.append(LedgerJudge(option.name, option.asks, name))
    return judges


def list_ledger_judges_named(options: Options, name: str) -> list[LedgerJudge]:
    """Return the kinds of labels that the options take from the judge with this name."""
    return [judge for judge in list_ledger_judges(options) if judge.name == name]


def replace_judges_by_label_files(
    options: Options, paths: Mapping[str, Path | str]
) -> dict[str, str]:
    """Return a copy of the options that makes the offline scorer read labels from files
    instead of a site's ledger. ``paths`` maps the names of options to files.
    """
    files = {
        judge.option: make_label_file_option_value(judge.option, paths[judge.option])
        for judge in list_ledger_judges(options)
    }
    return {**options, **files}


def make_label_file_option_value(option: str, path: Path | str) -> str:
    """Return the value of an option that makes the offline scorer read labels from a
    file.
    """
    return (
        f"{LABEL_FILE_SOURCE}:{path}" if option == ENTAILMENT_OPTION.name else str(path)
    )


def format_label_file_header(kind: str, name: str) -> str:
    """Return the first line of a file with labels of a judge from a site's ledger."""
    head: Mapping[str, str | bool] = (
        {"model": name} if kind == ENTAILS_KIND else {"kind": kind, "judge": name}
    )
    return f"{json.dumps({**head, LEDGER_FILE_KEY: True}, ensure_ascii=False)}\n"


def format_label_line(kind: str, items: str, label: str) -> str:
    """Return a label as a line of a file for the offline scorer."""
    if kind != ENTAILS_KIND:
        return f"{json.dumps({'items': format_item_digests(items), 'label': label})}\n"
    premise, hypothesis = items.split()
    digest = "premise_sha256" if len(premise) == len(hypothesis) else "premise_sha1"
    value = {
        digest: premise,
        "hypothesis_sha256": hypothesis,
        "entailed": int(label == ENTAILED_LABEL),
    }
    return f"{json.dumps(value)}\n"
