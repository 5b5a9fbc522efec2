"""Pairs to which a judge gave no label: shown to organisers, labelled by people, or left out."""

import json

import pytest
from django.db import transaction
from django.urls import reverse

from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import Token
from scoring.__main__ import main as offline
from scoring.models import Judge, Judgement, JudgementImport, PendingPair
from scoring.worker.entailment_labels import (
    import_labels,
    iterate_label_file_lines,
    iterate_label_file_lines_with_withdrawn,
)
from scoring.worker.judging import (
    find_pairs_without_usable_reply,
    iterate_open_questions,
    leave_pairs_out,
    record_judge_consent,
)
from scoring.worker.ledger import (
    append_judgements,
    close_judgement_import,
    create_judgement_import,
    share_judge_with_all_seasons,
)
from scoring.worker.local_copies import UploadedFileRefused
from scoring.worker.withdrawal import withdraw_import
from tasks.models import Job
from tasks.types.ledger import ORGANISERS_PSEUDONYM, Judgement as Row
from tests import factories
from tests.declared import small_reports
from tests.declared.small_reports import RIGHT
from tests.judges.stub import write_judges
from tests.judges.test_labels_of_reports import (
    JUDGE,
    ROWS,
    labelled,
    precision,
    report_run,
    reports_phase,
)
from tests.scoring.citing import (
    PAIRS,
    citing_phase,
    citing_run,
    score_queued,
    write_lines,
)
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def organiser(db):
    return factories.make_user()


@pytest.fixture
def phase(tmp_path, organiser):
    return reports_phase(tmp_path, organiser=organiser)


@pytest.fixture
def bring(tmp_path, phase):
    def bring(*rows, season=phase.task.season, kind="supports"):
        head = {"kind": kind, "judge": JUDGE, "digest": "d1"}
        path = write_lines(tmp_path / "rows.jsonl", [head, *rows])
        return import_labels(path=path, filename=path.name, by=None, season=season)

    return bring


@pytest.fixture
def waiting(phase, bring):
    """Return a run that waits for the label of one of its two citations."""
    run = report_run(phase)
    bring(labelled(RIGHT, "no label"), ROWS[1])
    score_queued()
    assert run.jobs.get().state == Job.State.WAITING
    return run


def judges_page(client, phase) -> str:
    page = reverse("organise-judges", args=[phase.task.season.slug])
    return text_of(client.get(page))


def test_organisers_read_how_many_pairs_have_no_label_and_leave_them_out(
    phase, waiting, organiser, client
):
    client.force_login(organiser)
    words = "Runs wait for 1 pair to which the judge gave no label"
    assert words in judges_page(client, phase)
    slug = phase.task.season.slug
    there = reverse("organise-judges-leave-out", args=[slug, phase.pk])
    told = text_of(client.post(there, follow=True))
    assert "The pairs without a label are left out" in told
    score_queued()
    assert precision(waiting) == 0.5, "the pair counts neither way"
    assert words not in judges_page(client, phase)
    row = Judgement.objects.get(by=ORGANISERS_PSEUDONYM)
    assert (row.label, row.judge.digest) == ("no label", "d1")
    assert row.source.imported_by == organiser
    assert AuditEntry.objects.filter(action="pairs-left-out").count() == 1


def test_a_pair_left_out_counts_offline_as_on_the_site(
    phase, waiting, organiser, tmp_path, capsys
):
    leave_pairs_out(phase=phase, by=organiser)
    score_queued()
    kept = tmp_path / "kept.jsonl"
    kept.write_text("".join(iterate_label_file_lines([Judge.objects.get()])))
    path = tmp_path / "run.jsonl"
    path.write_bytes(small_reports.run(4))
    words = ["score", "cited-reports", f"--gold={tmp_path / 'gold'}", f"--run={path}"]
    assert offline([*words, f"--option=supports={kept}", "--json"]) == 0
    own = json.loads(capsys.readouterr().out)["metrics"]["citation_precision"]
    stored = waiting.evaluations.get().scores.get(shared__metric="citation_precision")
    assert own["value"] == stored.value == 0.5


def test_a_label_that_comes_later_marks_the_number_and_a_withdrawal_lets_the_run_wait(
    phase, waiting, organiser, bring
):
    leave_pairs_out(phase=phase, by=organiser)
    score_queued()
    bring(labelled(RIGHT, "full", repeat=1))
    used = waiting.evaluations.get().used_judgements.get()
    assert used.outdated_at is not None
    assert precision(waiting) == 0.5, "a later row changes no number"
    source = JudgementImport.objects.get(judgements__by=ORGANISERS_PSEUDONYM)
    withdraw_import(source=source, reason="A test.", by=None)
    score_queued()
    assert precision(waiting) == 0.75


def test_judgements_that_all_seasons_share_stay_as_they_are(phase, organiser, bring):
    bring(labelled(RIGHT, "no label"), ROWS[1], season=None)
    run = report_run(phase)
    score_queued()
    assert list(find_pairs_without_usable_reply(phase)) != []
    assert leave_pairs_out(phase=phase, by=organiser) == 1
    score_queued()
    assert precision(run) == 0.5
    own = Judgement.objects.get(by=ORGANISERS_PSEUDONYM)
    assert own.judge.season == phase.task.season
    assert not Judgement.objects.filter(
        judge__season=None, by=ORGANISERS_PSEUDONYM
    ).exists()


def test_an_empty_line_of_a_person_leaves_no_pair_out(phase, waiting, bring):
    bring(labelled(RIGHT, "", by="assessor 1"))
    score_queued()
    assert waiting.jobs.get().state == Job.State.WAITING


def test_without_a_pair_that_lacks_a_label_nothing_is_left_out(phase, organiser, bring):
    report_run(phase)
    score_queued()
    assert find_pairs_without_usable_reply(phase).count() == 0, (
        "nobody has judged the pairs"
    )
    with pytest.raises(ActionRefused, match="no run waits for a pair"):
        leave_pairs_out(phase=phase, by=organiser)
    assert not Judgement.objects.exists()


def test_claims_without_a_label_wait_for_people_and_the_page_offers_no_way_out(
    tmp_path, organiser, client, bring
):
    claims = citing_phase(
        tmp_path / "claims", organiser=organiser, entailment=f"store:{JUDGE}"
    )
    premise, claim = PAIRS[0]
    row = {"texts": [premise, claim], "label": "no label"}
    bring(row, season=claims.task.season, kind="entails")
    citing_run(claims)
    score_queued()
    assert find_pairs_without_usable_reply(claims).count() == 1
    with pytest.raises(ActionRefused, match="a claim has no score without a label"):
        leave_pairs_out(phase=claims, by=organiser)
    client.force_login(organiser)
    told = judges_page(client, claims)
    assert "Runs wait for 1 pair to which the judge gave no label" in told
    assert "count neither way" not in told


def test_programs_leave_pairs_out_too(phase, waiting, organiser, client):
    token = Token.objects.create_token(user=organiser, name="judges")[1]
    there = reverse("api:leave-pairs-out", args=[phase.pk])
    headers = {"Authorization": f"Token {token}"}
    answer = client.post(there, headers=headers)
    assert (answer.status_code, answer.json()) == (200, {"pairs": 1})
    assert client.post(there, headers=headers).status_code == 409


def test_the_pages_list_pairs_left_out_beside_imported_labels(
    phase, waiting, organiser, client
):
    leave_pairs_out(phase=phase, by=organiser)
    client.force_login(organiser)
    for name in ("models", "ledger"):
        page = reverse(f"organise-{name}", args=[phase.task.season.slug])
        told = text_of(client.get(page))
        assert f": 1 pair left out in {phase.slug}, without a label of {JUDGE}" in told
        assert f" of {JUDGE} from rows.jsonl" in told.replace(", supports,", "")
        assert told.count("left out in") == 1


def test_the_note_of_the_run_counts_citations_without_a_label(
    phase, waiting, organiser
):
    leave_pairs_out(phase=phase, by=organiser)
    score_queued()
    notes = waiting.evaluations.get().notes
    assert notes["citations_without_label"] == small_reports.run(4).count(
        RIGHT.encode()
    )


def test_a_label_that_a_shared_judge_gives_later_counts_instead_of_the_decision(
    phase, organiser, bring
):
    bring(labelled(RIGHT, "no label"), ROWS[1], season=None)
    run = report_run(phase)
    score_queued()
    leave_pairs_out(phase=phase, by=organiser)
    score_queued()
    bring(labelled(RIGHT, "full", repeat=1), season=None)
    assert run.evaluations.get().used_judgements.get().outdated_at is not None
    later = report_run(phase)
    score_queued()
    assert precision(later) == 0.75


def test_sharing_labels_shares_no_decision_to_leave_pairs_out(
    phase, waiting, organiser
):
    leave_pairs_out(phase=phase, by=organiser)
    season = phase.task.season
    share_judge_with_all_seasons(
        season=season, name=JUDGE, kind="supports", by=organiser
    )
    shared = Judgement.objects.filter(judge__season=None)
    assert set(shared.values_list("by", flat=True)) == {""}


def test_a_label_by_the_name_of_the_decision_is_refused(phase, bring):
    with pytest.raises(UploadedFileRefused) as refused:
        bring(labelled(RIGHT, "full", by=ORGANISERS_PSEUDONYM))
    assert "“by” is “left out by organisers”" in str(refused.value)
    assert not Judgement.objects.exists()


def test_a_pair_is_left_out_once(phase, waiting, organiser):
    leave_pairs_out(phase=phase, by=organiser)
    with pytest.raises(ActionRefused, match="no run waits for a pair"):
        leave_pairs_out(phase=phase, by=organiser)
    assert AuditEntry.objects.filter(action="pairs-left-out").count() == 1


def test_a_pair_is_open_to_the_judge_until_its_second_reply(
    phase, organiser, tmp_path, settings
):
    settings.JUDGES_FILE = write_judges(
        tmp_path, "http://127.0.0.1:9/v1", name=f'"{JUDGE}"'
    )
    row = record_judge_consent(phase=phase, prompt=None, budget=None, by=organiser)
    judge = Judge.objects.create(
        kind="supports", name=JUDGE, digest=row.digest, season=phase.task.season
    )
    report_run(phase)
    score_queued()
    [items, _other] = PendingPair.objects.order_by("pk").values_list("items", flat=True)

    def reply(repeat: int) -> None:
        source = create_judgement_import(judge, "replies", "", organiser)
        row = Row("supports", JUDGE, judge.digest, items, "", repeat, "no label")
        with transaction.atomic():
            append_judgements(source, [row])
        close_judgement_import(source)

    reply(0)
    assert not find_pairs_without_usable_reply(phase).exists()
    assert items in {question.items for question in iterate_open_questions(row)}
    reply(1)
    assert list(find_pairs_without_usable_reply(phase)) == [items]


def test_archives_have_a_withdrawn_label_beside_a_reply_without_a_label(phase, bring):
    bring(labelled(RIGHT, "no label"))
    person = bring(labelled(RIGHT, "full", by="assessor 1"))
    withdraw_import(source=person.source, reason="A test.", by=None)
    [_head, line] = iterate_label_file_lines_with_withdrawn(list(Judge.objects.all()))
    assert json.loads(line)["label"] == "full"
