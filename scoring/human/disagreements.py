"""Sample pairs of texts on which two judges disagree, and let people label the pairs."""

import hashlib
import heapq
import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.confinement import UploadUnreadable
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.human.estimates import (
    StoredSheetFile,
    estimable_kinds,
    require_estimable_board,
)
from scoring.human.sheets import SheetRefused
from scoring.models import EstimateSheet, Judge
from scoring.offline.estimated_units import KINDS
from scoring.worker.child import RunFailed
from scoring.worker.estimating import (
    SampleParameters,
    item_digests_of_row,
    open_all_unit_rows,
)
from scoring.worker.ledger import (
    ParsedJudgements,
    look_up_labels,
    read_judgement_file,
    split_into_batches,
)
from scoring.worker.local_copies import FileRefused
from tasks.models import Phase, Submission
from tasks.types import Problem
from tasks.types.judge_views import further_judges, view_of
from tasks.types.ledger import ASSIGNS, ENTAILS, NO_LABEL, Judgement
from tasks.types.problems import Problems
from tasks.types.stored_judges import StoredJudge, stored_judges

#: Minimum and maximum number of pairs on which two judges disagree in a sheet.
MIN_PAIRS, MAX_PAIRS = 10, 1000
#: The name under which the judgement ledger stores labels by people.
PEOPLE_JUDGE = "people"
#: Maximum length of a judge's name within the name of a sheet of disagreements.
#: Longer names are cut and end with a digest of DIGEST_CHARACTERS characters.
MAX_JUDGE_NAME_LENGTH, DIGEST_CHARACTERS = 60, 12


@dataclass(frozen=True, kw_only=True)
class DisagreementRequest:
    """The parameters of a sheet of pairs on which two judges disagree.

    ``judge`` is compared with the first judge of the phase, and ``seed`` determines the
    sample of pairs.
    """

    phase: Phase
    judge: str
    pairs: int
    seed: str

    @property
    def first(self) -> StoredJudge:
        judge = _compared_judge(self.phase)
        assert judge is not None, "only phases with a judge of the ledger have views"
        return judge

    @property
    def first_judge(self) -> str:
        return self.first.name

    @property
    def name(self) -> str:
        """Return the name of the sheet, which the ledger stores as the prompt digest of
        the sheet's labels.
        """
        judges = f"{_shorten_judge_name(self.first_judge)} and {_shorten_judge_name(self.judge)}"
        return f"disagreements of {judges}, {self.pairs} pairs, seed {self.seed}"


def _shorten_judge_name(judge: str) -> str:
    """Return the name of a judge, or a shortened name that ends with a digest of the
    name.
    """
    if len(judge) <= MAX_JUDGE_NAME_LENGTH:
        return judge
    digest = hashlib.sha256(judge.encode()).hexdigest()[:DIGEST_CHARACTERS]
    return f"{judge[: MAX_JUDGE_NAME_LENGTH - DIGEST_CHARACTERS - 1]}…{digest}"


@dataclass(frozen=True, kw_only=True)
class SampledDisagreements:
    """The sampled pairs.

    ``common`` is the number of pairs that both judges labelled, and ``differing`` the
    number of pairs with different labels.
    """

    sampling: SampleParameters
    rows: list[Mapping[str, Any]]
    common: int
    differing: int


def judges_to_compare(phase: Phase) -> list[str]:
    """Return the judges whose labels can be compared with the labels of the first
    judge.
    """
    return further_judges(phase.task.rules) if _unit_of(phase) else []


def _unit_of(phase: Phase) -> str | None:
    """Return the kind of units, such as claims, that the judges of the phase label, or
    None if people cannot label such units.
    """
    judge = _compared_judge(phase)
    if judge is None:
        return None
    return next((of for of in estimable_kinds(phase) if KINDS[of] == judge.kind), None)


def _compared_judge(phase: Phase) -> StoredJudge | None:
    """Return the first judge of the phase with the kind of its labels that a sheet can
    ask people for. A row of a sheet of nuggets has no forms to look up in the ledger.
    """
    judges = stored_judges(phase.task.options)
    return next(
        (
            judge
            for judge in judges
            if judge.name == judges[0].name and judge.kind != ASSIGNS
        ),
        None,
    )


def new_sampling_seed() -> str:
    return secrets.token_hex(16)


def sample_disagreements(asked: DisagreementRequest, by: User) -> SampledDisagreements:
    """Sample pairs on which the two judges disagree, from the runs on the board. Raises
    SheetRefused.
    """
    if asked.judge not in judges_to_compare(asked.phase):
        raise SheetRefused(_("the judge decides no view of this phase"))
    sampling = _sampling_for_request(asked, by)
    try:
        with open_all_unit_rows(sampling) as rows:
            return _sample_from_rows(asked, sampling, rows)
    except (RunFailed, UploadUnreadable) as reason:
        raise SheetRefused(str(reason)) from reason


def _sampling_for_request(asked: DisagreementRequest, by: User) -> SampleParameters:
    board = require_estimable_board(asked.phase, by)
    unit = _unit_of(asked.phase)
    assert board.gold is not None
    assert board.rules is not None
    assert unit is not None, "the phase has views to compare"
    chosen = [row.submission for row in board.systems]
    runs = Submission.objects.select_related("phase__task__season").in_bulk(chosen)
    return SampleParameters(
        phase=asked.phase,
        gold=board.gold,
        rules=board.rules,
        of=unit,
        labels=asked.pairs,
        seed=asked.seed,
        runs=[runs[number] for number in chosen if runs[number].file],
    )


def _sample_from_rows(
    asked: DisagreementRequest,
    sampling: SampleParameters,
    rows: Iterable[Mapping[str, Any]],
) -> SampledDisagreements:
    common = differing = 0

    def differing_rows_by_key() -> Iterator[tuple[str, Mapping[str, Any]]]:
        nonlocal common, differing
        for compared in _compare_labels(asked, rows):
            common += 1
            if compared.differs:
                differing += 1
                yield _key(asked.seed, compared.row), compared.row

    # The loop keeps only the sampled pairs in memory, and not all pairs.
    kept = heapq.nsmallest(
        asked.pairs, differing_rows_by_key(), key=lambda entry: entry[0]
    )
    if not common:
        words = _("no pair has labels of both %(first)s and %(judge)s")
        raise SheetRefused(words % {"first": asked.first_judge, "judge": asked.judge})
    if not differing:
        words = _("the judges agree on all of the %(pairs)s that both labelled")
        raise SheetRefused(words % {"pairs": count_with_noun(common, "pair")})
    return SampledDisagreements(
        sampling=sampling,
        rows=[row for _key, row in kept],
        common=common,
        differing=differing,
    )


def _key(seed: str, row: Mapping[str, Any]) -> str:
    texts = json.dumps(row["texts"], sort_keys=True)
    return hashlib.sha256(f"{seed} {texts}".encode()).hexdigest()


@dataclass(frozen=True)
class _ComparedRow:
    row: Mapping[str, Any]
    differs: bool


def _compare_labels(
    asked: DisagreementRequest, rows: Iterable[Mapping[str, Any]]
) -> Iterator[_ComparedRow]:
    season = asked.phase.task.season
    judges = [
        list(Judge.objects.deciding(name, season, asked.first.kind))
        for name in (asked.first_judge, asked.judge)
    ]
    for some in split_into_batches(rows):
        forms = [list(item_digests_of_row(row)) for row in some]
        first, other = (_labels_by_form(judge, forms) for judge in judges)
        for row, own in zip(some, forms, strict=True):
            a = next((first[form] for form in own if form in first), None)
            b = next((other[form] for form in own if form in other), None)
            if a is not None and b is not None:
                yield _ComparedRow(row, a != b)


def _labels_by_form(deciding: list[Judge], forms: list[list[str]]) -> dict[str, str]:
    asked = (form for own in forms for form in own)
    return {
        items: decision.settled.label
        for items, decision in look_up_labels(deciding, asked)
        if decision.settled.label != NO_LABEL
    }


def lines_to_label(asked: DisagreementRequest, found: SampledDisagreements) -> bytes:
    """Return the pairs as lines of a file that people fill in. Each line has the format
    of the judgement ledger with an empty label, and does not show the labels of the two
    judges.
    """
    head = {
        "kind": asked.first.kind,
        "judge": PEOPLE_JUDGE,
        "digest": asked.name,
        "by": "",
    }
    lines = [head, *({"texts": row["texts"], "label": ""} for row in found.rows)]
    return "".join(
        f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines
    ).encode()


def save_disagreement_sheet(
    asked: DisagreementRequest,
    found: SampledDisagreements,
    lines: StoredSheetFile,
    *,
    by: User,
) -> EstimateSheet:
    """Save a sheet of disagreements whose lines are already stored as a file."""
    sampling = found.sampling
    with transaction.atomic():
        sheet = EstimateSheet.objects.create(
            phase=asked.phase,
            of=EstimateSheet.Of.DISAGREEMENTS,
            labels=asked.pairs,
            seed=asked.seed,
            gold=sampling.gold,
            rules=view_of(sampling.rules, asked.judge),
            runs=[run.pk for run in sampling.runs],
            judgements=lines.rows,
            file=lines.name,
            result={
                "name": asked.name,
                "kind": asked.first.kind,
                "judges": [asked.first_judge, asked.judge],
                "common": found.common,
                "differing": found.differing,
            },
            created_by=by,
        )
        audit.record(
            "estimate-sheet/disagreements",
            actor=by,
            subject=asked.phase,
            place=asked.phase.task.season,
            facts={"pairs": lines.rows, "runs": len(sampling.runs)},
        )
    return sheet


def read_people_labels(
    sheet: EstimateSheet, path: Path, filename: str, by: User
) -> ParsedJudgements:
    """Read people's labels of the pairs of a sheet, without the pairs that nobody
    labelled.

    Raises FileRefused if a line is not a label by a person for a pair of the sheet.
    """
    stored = _read_stored_sheet(sheet)
    given = read_judgement_file(path, filename, "", by).labelled()
    summary = given.summary
    lines = (summary.kind, summary.judge, summary.digest)
    if lines != (stored.kind, PEOPLE_JUDGE, stored.name):
        message = _("these are not the lines of this sheet")
        problem = Problem(
            file=filename, message=message, expected=f"“digest”: “{stored.name}”"
        )
        raise FileRefused([problem])
    problems = Problems()
    is_empty = True
    for line, row in given:
        is_empty = False
        if message := _label_fault(row, stored.pairs):
            expected = _("the lines of the sheet, with “label” and “by”")
            problems.append(
                Problem(file=filename, line=line, message=message, expected=expected)
            )
    if is_empty:
        message = _("there is no label in it")
        expected = _("the lines of the sheet, with “label” and “by”")
        problems.append(Problem(file=filename, message=message, expected=expected))
    if problems:
        raise FileRefused([*problems])
    return given


def _label_fault(row: Judgement, pairs: Collection[str]) -> str:
    if not row.by:
        return _("it does not say who labelled the pair")
    return "" if row.items in pairs else _("the sheet has no such pair")


@dataclass(frozen=True, kw_only=True)
class _StoredSheet:
    """The name of a sheet of disagreements, the kind of its labels, and the digests
    that identify its pairs.
    """

    name: str
    kind: str
    pairs: set[str]


def _read_stored_sheet(sheet: EstimateSheet) -> _StoredSheet:
    with storage.statistics.open(sheet.file) as file:
        head, *rows = map(json.loads, file.read().splitlines())
    pairs = {next(item_digests_of_row(row)) for row in rows}
    return _StoredSheet(name=head["digest"], kind=head["kind"], pairs=pairs)


def count_ledger_labels(sheet: EstimateSheet) -> int:
    """Return the number of labels in the season's ledger that people gave to pairs of
    the sheet.
    """
    judges = Judge.objects.filter(
        season=sheet.phase.task.season_id,
        # Sheets of earlier releases have pairs of claims alone.
        kind=sheet.result.get("kind", ENTAILS),
        name=PEOPLE_JUDGE,
        digest=sheet.result.get("name") or _read_stored_sheet(sheet).name,
    )
    return sum(judges.values_list("decided", flat=True))
