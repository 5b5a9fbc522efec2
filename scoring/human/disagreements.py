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
    list_estimable_unit_kinds,
    require_estimable_board,
)
from scoring.human.sheets import SheetRefused
from scoring.models import EstimateSheet, Judge
from scoring.offline.estimated_units import LABEL_KIND_BY_UNIT_KIND
from scoring.results.board.estimates import get_kind_of_labels
from scoring.worker.child import ScoringOfRunFailed
from scoring.worker.estimating import (
    SampleParameters,
    UnitForms,
    iterate_item_digests_of_row,
    open_all_unit_forms,
)
from scoring.worker.ledger import (
    ParsedJudgements,
    look_up_labels,
    read_judgement_file,
    split_into_batches,
)
from scoring.worker.local_copies import UploadedFileRefused
from tasks.models import Phase, Submission
from tasks.types import Problem
from tasks.types.base import JUDGE_SEPARATOR
from tasks.types.judge_views import (
    judge_key,
    make_view_name,
    replace_first_judge_in_options,
    replaced_judges,
)
from tasks.types.ledger import NO_VALID_LABEL, Judgement
from tasks.types.problems import ProblemList
from tasks.types.stored_judges import list_ledger_judges

#: Minimum and maximum number of pairs on which two judges disagree in a sheet.
MIN_DISAGREEMENT_PAIRS, MAX_DISAGREEMENT_PAIRS = 10, 1000
#: The name under which the judgement ledger stores labels by people.
PEOPLE_JUDGE_NAME = "people"
#: Maximum length of a judge's name within the name of a sheet of disagreements.
#: Longer names are cut and end with a digest of SHORTENED_NAME_DIGEST_LENGTH characters.
MAX_SHORTENED_JUDGE_NAME_LENGTH, SHORTENED_NAME_DIGEST_LENGTH = 60, 12


@dataclass(frozen=True, kw_only=True)
class ComparedJudges:
    """A judge of the task, and the further judge of a view that replaces the judge.

    ``kind`` is the kind of the labels that are compared, and ``of`` the kind of units,
    such as claims, that people label.
    """

    first: str
    other: str
    kind: str
    of: str


@dataclass(frozen=True, kw_only=True)
class DisagreementRequest:
    """The parameters of a sheet of pairs on which two judges disagree.

    ``judge`` is the key of a further judge of the phase, such as `b` or `b@supports`,
    who is compared with the judge whom its view replaces, and ``seed`` determines the
    sample of pairs.
    """

    phase: Phase
    judge: str
    pairs: int
    seed: str

    @property
    def compared(self) -> ComparedJudges:
        judges = compared_judges(self.phase)
        assert self.judge in judges, "only further judges of a phase are compared"
        return judges[self.judge]

    @property
    def view(self) -> str:
        """Return the key of the view whose scores use labels of the further judge."""
        keys = map(judge_key, self.phase.task.rules)
        return self.judge if self.judge in keys else self.compared.other

    @property
    def name(self) -> str:
        """Return the name of the sheet, which the ledger stores as the prompt digest of
        the sheet's labels.
        """
        found = self.compared
        judges = (
            f"{_shorten_judge_name(found.first)} and {_shorten_judge_name(found.other)}"
        )
        return f"disagreements of {judges}, {self.pairs} pairs, seed {self.seed}"


def _shorten_judge_name(judge: str) -> str:
    """Return the name of a judge, or a shortened name that ends with a digest of the
    name.
    """
    if len(judge) <= MAX_SHORTENED_JUDGE_NAME_LENGTH:
        return judge
    digest = hashlib.sha256(judge.encode()).hexdigest()[:SHORTENED_NAME_DIGEST_LENGTH]
    return f"{judge[: MAX_SHORTENED_JUDGE_NAME_LENGTH - SHORTENED_NAME_DIGEST_LENGTH - 1]}…{digest}"


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


def compared_judges(phase: Phase) -> dict[str, ComparedJudges]:
    """Return the comparisons of judges for which the site can make sheets, by the key of
    the further judge.

    If a view replaces the judge of several kinds of labels, the key of the view compares
    labels of the last kind, and a key with the kind compares labels of each kind.
    """
    units = {LABEL_KIND_BY_UNIT_KIND[of]: of for of in list_estimable_unit_kinds(phase)}
    options, found = phase.task.options, dict[str, ComparedJudges]()
    for rules in phase.task.rules:
        view = {
            one.kind: one.name
            for one in list_ledger_judges(
                replace_first_judge_in_options(rules, options)
            )
        }
        for judge in replaced_judges(rules, options):
            if judge.kind in units:
                compared = ComparedJudges(
                    first=judge.name,
                    other=view[judge.kind],
                    kind=judge.kind,
                    of=units[judge.kind],
                )
                found[judge_key(rules)] = compared
                found.setdefault(
                    make_view_name(compared.other, "", judge.kind), compared
                )
    return found


def list_judges_to_compare(phase: Phase) -> list[str]:
    """Return the keys of judges whose labels can be compared with labels of the judges
    of the task. A key names the kind of labels if the judge can be compared by several.
    """
    keys: dict[str, list[str]] = {}
    for key, compared in (found := compared_judges(phase)).items():
        keys.setdefault(compared.other, []).append(key)
    return [
        key
        for own in keys.values()
        for key in (
            own[:1]
            if len({found[key].kind for key in own}) == 1
            else [key for key in own if JUDGE_SEPARATOR in key]
        )
    ]


def make_random_sampling_seed() -> str:
    return secrets.token_hex(16)


def sample_disagreements(asked: DisagreementRequest, by: User) -> SampledDisagreements:
    """Sample pairs on which the two judges disagree, from the runs on the board. Raises
    SheetRefused.
    """
    if asked.judge not in compared_judges(asked.phase):
        raise SheetRefused(_("the judge decides no view of this phase"))
    sampling = _build_sample_parameters(asked, by)
    try:
        with open_all_unit_forms(sampling) as units:
            return _sample_from_units(asked, sampling, units)
    except (ScoringOfRunFailed, UploadUnreadable) as reason:
        raise SheetRefused(str(reason)) from reason


def _build_sample_parameters(asked: DisagreementRequest, by: User) -> SampleParameters:
    board = require_estimable_board(asked.phase, by)
    assert board.gold is not None
    assert board.rules is not None
    chosen = [row.submission for row in board.systems]
    runs = Submission.objects.select_related("phase__task__season").in_bulk(chosen)
    return SampleParameters(
        phase=asked.phase,
        gold=board.gold,
        rules=board.rules,
        of=asked.compared.of,
        labels=asked.pairs,
        seed=asked.seed,
        runs=[runs[number] for number in chosen if runs[number].file],
    )


def _sample_from_units(
    asked: DisagreementRequest,
    sampling: SampleParameters,
    units: Iterable[UnitForms],
) -> SampledDisagreements:
    common = differing = 0

    def differing_rows_by_key() -> Iterator[tuple[str, Mapping[str, Any]]]:
        nonlocal common, differing
        for compared in _compare_labels(asked, units):
            common += 1
            if compared.differs:
                differing += 1
                yield _hash_row_with_seed(asked.seed, compared.row), compared.row

    # The loop keeps only the sampled pairs in memory, and not all pairs.
    kept = heapq.nsmallest(
        asked.pairs, differing_rows_by_key(), key=lambda entry: entry[0]
    )
    if not common:
        words = _("no pair has labels of both %(first)s and %(judge)s")
        facts = {"first": asked.compared.first, "judge": asked.compared.other}
        raise SheetRefused(words % facts)
    if not differing:
        words = _("the judges agree on all of the %(pairs)s that both labelled")
        raise SheetRefused(words % {"pairs": count_with_noun(common, "pair")})
    return SampledDisagreements(
        sampling=sampling,
        rows=[row for _key, row in kept],
        common=common,
        differing=differing,
    )


def _hash_row_with_seed(seed: str, row: Mapping[str, Any]) -> str:
    texts = json.dumps(row["texts"], sort_keys=True)
    return hashlib.sha256(f"{seed} {texts}".encode()).hexdigest()


@dataclass(frozen=True)
class _RowWithComparedLabels:
    row: Mapping[str, Any]
    differs: bool


def _compare_labels(
    asked: DisagreementRequest, units: Iterable[UnitForms]
) -> Iterator[_RowWithComparedLabels]:
    season, compared = asked.phase.task.season, asked.compared
    judges = [
        list(Judge.objects.deciding(name, season, compared.kind))
        for name in (compared.first, compared.other)
    ]
    for some in split_into_batches(units):
        first, other = (
            _load_labels_by_item_form(judge, [unit.forms for unit in some])
            for judge in judges
        )
        for unit in some:
            a = next((first[form] for form in unit.forms if form in first), None)
            b = next((other[form] for form in unit.forms if form in other), None)
            if a is not None and b is not None:
                yield _RowWithComparedLabels(unit.row, a != b)


def _load_labels_by_item_form(
    deciding: list[Judge], forms: Iterable[Iterable[str]]
) -> dict[str, str]:
    asked = (form for own in forms for form in own)
    return {
        items: decision.settled.label
        for items, decision in look_up_labels(deciding, asked)
        if decision.settled.label != NO_VALID_LABEL
    }


def build_lines_for_people_to_label(
    asked: DisagreementRequest, found: SampledDisagreements
) -> bytes:
    """Return the pairs as lines of a file that people fill in. Each line has the format
    of the judgement ledger with an empty label, and does not show the labels of the two
    judges.
    """
    head = {
        "kind": asked.compared.kind,
        "judge": PEOPLE_JUDGE_NAME,
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
            of=EstimateSheet.UnitKind.DISAGREEMENTS,
            labels=asked.pairs,
            seed=asked.seed,
            gold=sampling.gold,
            rules=make_view_name(sampling.rules, asked.view),
            runs=[run.pk for run in sampling.runs],
            judgements=lines.rows,
            file=lines.name,
            result={
                "name": asked.name,
                "kind": asked.compared.kind,
                "judges": [asked.compared.first, asked.compared.other],
                "common": found.common,
                "differing": found.differing,
            },
            created_by=by,
        )
        audit.record_action(
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

    Raises UploadedFileRefused if a line is not a label by a person for a pair of the sheet.
    """
    stored = _read_stored_sheet(sheet)
    given = read_judgement_file(path, filename, "", by).labelled()
    summary = given.summary
    lines = (summary.kind, summary.judge, summary.digest)
    if lines != (stored.kind, PEOPLE_JUDGE_NAME, stored.name):
        message = _("these are not the lines of this sheet")
        problem = Problem(
            file=filename, message=message, expected=f"“digest”: “{stored.name}”"
        )
        raise UploadedFileRefused([problem])
    problems = ProblemList()
    is_empty = True
    for line, row in given:
        is_empty = False
        if message := _find_label_fault(row, stored.pairs):
            expected = _("the lines of the sheet, with “label” and “by”")
            problems.append(
                Problem(file=filename, line=line, message=message, expected=expected)
            )
    if is_empty:
        message = _("there is no label in it")
        expected = _("the lines of the sheet, with “label” and “by”")
        problems.append(Problem(file=filename, message=message, expected=expected))
    if problems:
        raise UploadedFileRefused([*problems])
    return given


def _find_label_fault(row: Judgement, pairs: Collection[str]) -> str:
    if not row.by:
        return _("it does not say who labelled the pair")
    return "" if row.items in pairs else _("the sheet has no such pair")


@dataclass(frozen=True, kw_only=True)
class _StoredDisagreementSheet:
    """The name of a sheet of disagreements, the kind of its labels, and the digests
    that identify its pairs.
    """

    name: str
    kind: str
    pairs: set[str]


def _read_stored_sheet(sheet: EstimateSheet) -> _StoredDisagreementSheet:
    with storage.statistics_file_storage.open(sheet.file) as file:
        head, *rows = map(json.loads, file.read().splitlines())
    pairs = {next(iterate_item_digests_of_row(row)) for row in rows}
    return _StoredDisagreementSheet(name=head["digest"], kind=head["kind"], pairs=pairs)


def count_ledger_labels(sheet: EstimateSheet) -> int:
    """Return the number of labels in the season's ledger that people gave to pairs of
    the sheet.
    """
    judges = Judge.objects.filter(
        season=sheet.phase.task.season_id,
        kind=get_kind_of_labels(sheet),
        name=PEOPLE_JUDGE_NAME,
        digest=sheet.result.get("name") or _read_stored_sheet(sheet).name,
    )
    return sum(judges.values_list("decided", flat=True))
