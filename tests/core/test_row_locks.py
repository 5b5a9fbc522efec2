"""An act locks the row that it decides by on PostgreSQL: it waits until whoever changes the row has ended."""

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.db.models import Model
from django.test import override_settings
from django.utils import timezone

from citeboard.core.audit import delete_row_and_record
from citeboard.ops.pruning import delete_season
from citeboard.ops.undoing import find_entries_to_undo, undo_action
from citeboard.teams.accounts import create_token
from citeboard.teams.models import FirstOrganiserToken
from scoring.human.outcome import publish_ratings
from scoring.human.pairs import publish_pair_judgements, save_preference
from scoring.human.ratings import save_ratings
from scoring.human.sheets import get_or_add_named_annotator, remove_annotator
from scoring.models import Comparison, Judge, PhaseJudge, Sheet, SheetPair
from scoring.results.board.comparisons import save_comparisons
from scoring.worker.entailment_labels import import_labels
from scoring.worker.judge_jobs import _JudgeQuestionnaire
from scoring.worker.judging import dismiss, queue_judging_job, record_judge_consent
from scoring.worker.ledger import (
    append_judgements,
    create_judgement_import,
    withdraw_judgements,
)
from scoring.worker.recording import record_scores
from tasks.gold.gold_files import StoredGold, record_gold_version, seal_gold
from tasks.jobs import engine
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import Gold, Job, Phase, Registration
from tasks.registration.entries import take_back_entry
from tasks.seasons.organisers import create_first_organiser
from tasks.seasons.phase_acts import close_now
from tasks.submissions.run_acts import give_tries, select_run
from tasks.types.ledger import ENTAILS_KIND
from tests import factories
from tests.judges.stub import write_judges
from tests.scoring import boards
from tests.scoring.test_ledger_rows import HEADER, row as ledger_row

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.both_databases,
    pytest.mark.skipif(
        connection.vendor == "sqlite", reason="SQLite locks the whole database"
    ),
]

#: The row that somebody else is changing, and an act that has to wait for them.
Contended = tuple[Model, Callable[[], object]]


@contextmanager
def changed_elsewhere(row: Model) -> Iterator[None]:
    """Another connection changes the row, and its transaction has not ended."""
    table, elsewhere = row._meta.db_table, connection.copy()
    try:
        elsewhere.set_autocommit(False)
        with elsewhere.cursor() as cursor:
            # An UPDATE takes this lock. Foreign keys to the row do not wait for it.
            cursor.execute(
                f"SELECT 1 FROM {table} WHERE id = %s FOR NO KEY UPDATE",  # noqa: S608  (a name of our own)
                [row.pk],
            )
        yield
    finally:
        elsewhere.close()


@contextmanager
def short_patience() -> Iterator[None]:
    """A statement that waits for a lock fails after 25 milliseconds."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '25ms'")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")


def make_sheet() -> Sheet:
    return Sheet.objects.create(phase=factories.make_phase(with_gold=False), seed=1)


def make_judge_of_phase() -> PhaseJudge:
    task = factories.make_task(
        type="positional-citations", options={"entailment": "store:model"}
    )
    return PhaseJudge.objects.create(
        phase=factories.make_phase(task=task, with_gold=False),
        name="model",
        kind=ENTAILS_KIND,
        instrument="chat",
        agreed_at=timezone.now(),
    )


def recording_scores_of_a_run() -> Contended:
    phase = boards.make_phase()
    run = boards.make_run(phase, boards.make_team(phase, "Night Shift"))
    job = factories.make_job(
        Job.Kind.SCORE, submission=run, gold=Gold.objects.get(), rules="corrected"
    )
    facts = {"job": job, "statistics": "", "seconds": 0.1}
    result = {"metrics": {}, "breakdowns": {}}
    return run, transaction.atomic(lambda: record_scores(result=result, **facts))


def saving_comparisons() -> Contended:
    phase = boards.make_phase(rules=["corrected"])
    first, second = (
        boards.scored_run(phase, boards.make_team(phase, name), 0.5)
        for name in ("Owl", "Elk")
    )
    one, other = first.evaluations.get(), second.evaluations.get()
    facts = {"metric": "overlap_f1_micro", "test": "exact", "trials": 1, "units": 10}
    row = Comparison(first=one, second=other, p=0.1, difference=0.1, **facts)
    return other, transaction.atomic(lambda: save_comparisons([row]))


def queueing_missing_scorings() -> Contended:
    phase = boards.make_phase()
    boards.make_team(phase, "Night Shift")
    return Registration.objects.get(), lambda: queue_missing_scorings(phase)


def recording_a_version_of_gold() -> Contended:
    task = factories.make_task()
    kept = StoredGold(digests={}, instances=0, columns={}, contents=())
    facts = {"split": "test", "kept": kept, "reason": "first release"}
    return task, lambda: record_gold_version(task=task, **facts)


def sealing_gold() -> Contended:
    boards.make_phase()
    gold, person = Gold.objects.get(), factories.make_user()
    return gold.task, lambda: seal_gold(gold=gold, reason="leaked", by=person)


def adding_an_annotator() -> Contended:
    sheet = make_sheet()
    return sheet, lambda: get_or_add_named_annotator(sheet=sheet, name="Ada")


def removing_an_annotator() -> Contended:
    sheet, person = make_sheet(), factories.make_user()
    ada = sheet.annotators.create(name="Ada")
    return sheet, lambda: remove_annotator(annotator=ada, by=person)


def saving_ratings() -> Contended:
    sheet = make_sheet()
    ada = sheet.annotators.create(name="Ada")
    return sheet, lambda: save_ratings(annotator=ada, ratings=[])


def saving_a_preference() -> Contended:
    sheet = make_sheet()
    ada = sheet.annotators.create(name="Ada")
    facts = {"pair": SheetPair(), "label": "tie"}
    return sheet, lambda: save_preference(annotator=ada, **facts)


def publishing_ratings() -> Contended:
    sheet, person = make_sheet(), factories.make_user()
    return sheet, lambda: publish_ratings(sheet=sheet, by=person)


def publishing_pairs() -> Contended:
    sheet, person = make_sheet(), factories.make_user()
    return sheet, lambda: publish_pair_judgements(sheet=sheet, by=person)


def importing_judgements() -> Contended:
    judge = Judge.objects.create(
        kind=HEADER["kind"], name=HEADER["judge"], digest=HEADER["digest"]
    )
    lines = factories.run_bytes([HEADER, ledger_row("Rain.")])
    path = factories.make_upload(lines).path
    return judge, lambda: import_labels(path=path, filename="rows.jsonl", by=None)


def appending_judgements() -> Contended:
    judge = Judge.objects.create(kind=ENTAILS_KIND, name="model")
    source = create_judgement_import(judge, "rows.jsonl", "", None)
    return judge, transaction.atomic(lambda: append_judgements(source, []))


def withdrawing_judgements() -> Contended:
    judge = Judge.objects.create(kind=ENTAILS_KIND, name="model")
    source = create_judgement_import(judge, "rows.jsonl", "", None)
    return judge, lambda: withdraw_judgements(source=source, reason="wrong", by=None)


def agreeing_to_a_judge_again() -> Contended:
    row = make_judge_of_phase()
    folder = Path(tempfile.mkdtemp(dir=settings.DATA_DIR))
    offered = write_judges(folder, "http://127.0.0.1:9", name='"model"')
    agree = override_settings(JUDGES_FILE=offered)(record_judge_consent)
    return row, lambda: agree(phase=row.phase, prompt=None, budget=None, by=None)


def dismissing_a_judge() -> Contended:
    row, person = make_judge_of_phase(), factories.make_user()
    return row, lambda: dismiss(phase=row.phase, by=person)


def charging_the_answers_of_a_judge() -> Contended:
    row = make_judge_of_phase()
    queued = queue_judging_job(row)
    queued.job = engine.claim_job(queued.job_id, "worker")
    asking = _JudgeQuestionnaire(queued, row)
    return row, lambda: asking._store_answers_and_reserve_costs([], [])


def undoing_an_act() -> Contended:
    phase, person = boards.make_phase(runs_per_day=1), factories.make_user()
    season, team = phase.task.season, boards.make_team(phase, "Night Shift")
    give_tries(phase=phase, team=team, tries=1, reason="our fault", by=person)
    [entry] = find_entries_to_undo(season)
    return season, lambda: undo_action(season=season, entry=entry, by=person)


def deleting_a_season() -> Contended:
    season, person = factories.make_season(is_public=False), factories.make_user()
    return season, lambda: delete_season(season=season, by=person)


def deleting_a_row_of_a_season() -> Contended:
    phase, person = factories.make_phase(with_gold=False), factories.make_user()
    season = phase.task.season
    return phase, lambda: delete_row_and_record(row=phase, place=season, by=person)


def closing_a_phase() -> Contended:
    phase, person = factories.make_phase(with_gold=False), factories.make_user()
    return phase, lambda: close_now(phase=phase, by=person)


def taking_an_entry_back() -> Contended:
    factories.make_team(season=factories.make_season())
    entry, person = Registration.objects.get(), factories.make_user()
    return entry, lambda: take_back_entry(registration=entry, by=person)


def choosing_the_run_that_counts() -> Contended:
    phase = boards.make_phase(counting=Phase.CountedRunsRule.SELECTED)
    team, person = boards.make_team(phase, "Night Shift"), factories.make_user()
    run, other = boards.make_run(phase, team), boards.make_run(phase, team)
    return other, lambda: select_run(run, person)


def creating_a_token() -> Contended:
    person = factories.make_user()
    return person, lambda: create_token(user=person, name="program")


def creating_the_first_organiser() -> Contended:
    token = FirstOrganiserToken.objects.create(digest="0" * 64)
    given = {"email": "olga@example.org", "name": "Olga", "password": "correct horse"}
    return token, lambda: create_first_organiser(secret="guessed", **given)


@pytest.mark.parametrize(
    "contend",
    [
        recording_scores_of_a_run,
        saving_comparisons,
        queueing_missing_scorings,
        recording_a_version_of_gold,
        sealing_gold,
        adding_an_annotator,
        removing_an_annotator,
        saving_ratings,
        saving_a_preference,
        publishing_ratings,
        publishing_pairs,
        importing_judgements,
        appending_judgements,
        withdrawing_judgements,
        agreeing_to_a_judge_again,
        dismissing_a_judge,
        charging_the_answers_of_a_judge,
        undoing_an_act,
        deleting_a_season,
        deleting_a_row_of_a_season,
        closing_a_phase,
        taking_an_entry_back,
        choosing_the_run_that_counts,
        creating_a_token,
        creating_the_first_organiser,
    ],
    ids=lambda contend: contend.__name__,
)
def test_an_act_waits_for_whoever_changes_the_row_that_it_decides_by(contend):
    row, act = contend()
    with (
        changed_elsewhere(row),
        short_patience(),
        pytest.raises(OperationalError) as refusal,
    ):
        act()
    # An UPDATE would wait too, but after the act has decided by the row as it was.
    waited = refusal.value.__cause__.diag.context
    table = row._meta.db_table
    assert re.match(rf'while locking tuple \S+ in relation "{table}"', waited)
