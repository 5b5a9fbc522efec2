"""A run's own page: where it is on its way, what came out, and what its team can do."""

import datetime as dt
import json
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core import audit
from citeboard.teams.models import User
from citeboard.web.organise.attention import find_season_concerns
from tasks.models import Phase, Submission
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.api.sending import score
from tests.scoring import boards

pytestmark = pytest.mark.django_db


def text_of(response) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def show(client, submission, name="submission", **headers) -> str:
    response = client.get(reverse(name, args=[submission.pk]), headers=headers)
    assert response.status_code == 200
    return text_of(response)


@pytest.fixture
def waiting(client) -> Submission:
    """A run of the team whose member is signed in, sent through the site's own door."""
    person = factories.make_user()
    phase = factories.make_phase(
        task=factories.make_task(rules=["corrected", "official-2017"])
    )
    team = factories.make_team(season=phase.task.season, lead=person, name="The team")
    client.force_login(person)
    return factories.make_submission(phase=phase, team=team, system="My system")


@pytest.fixture
def scored(waiting) -> Submission:
    gold = waiting.phase.task.gold.get()
    boards.score(waiting, 0.25, gold=gold, overlap_recall_micro=0.4)
    boards.score(
        waiting, 0.5, gold=gold, rules="official-2017", overlap_recall_micro=0.4
    )
    boards.by_class(waiting, "topic", {"C90-2039": 0.2, "E03-1020": None})
    waiting.jobs.update(
        state="done", started_at=timezone.now(), finished_at=timezone.now()
    )
    Submission.objects.filter(pk=waiting.pk).update(
        status="scored", status_since=timezone.now()
    )
    waiting.refresh_from_db()
    return waiting


def test_a_waiting_run_says_what_happens_and_asks_for_news(client, waiting):
    page = show(client, waiting)
    assert "Waiting to be scored. It is next." in page
    assert f'hx-get="{reverse("submission-status", args=[waiting.pk])}?seen=' in page
    assert waiting.sha256[:12] in page
    assert "Cancel this run" in page


def test_what_the_task_does_not_give_is_no_oddity_of_a_run(client, scored):
    scored.evaluations.filter(rules="official-2017").update(
        notes={"stopwords_not_given": 1}
    )
    page = show(client, scored)
    assert (
        "which is for the organisers to give and has nothing to do with this run"
        in page
    )
    assert "Notes on this run" not in page


@pytest.mark.both_databases
def test_a_team_is_told_of_the_same_answers_in_another_file_once_they_are_scored_and_organisers_of_others(
    client, waiting, django_capture_on_commit_callbacks
):
    score(waiting)
    lines = [json.dumps(dict(reversed(line.items()))) for line in factories.answers()]
    content = "\r\n".join(lines).encode()
    again = factories.make_submission(
        phase=waiting.phase, team=waiting.team, content=content
    )
    theirs = factories.make_submission(phase=waiting.phase, content=content + b" ")
    told = f"the same answers were sent before in another file, as run {waiting.number}"
    assert told not in show(client, again)
    with django_capture_on_commit_callbacks(execute=True):
        for run in (again, theirs, again):
            score(run)
    assert show(client, again).count(told) == 1
    assert theirs.warnings == []
    [concern] = [
        each
        for each in find_season_concerns(waiting.phase.task.season)
        if each.name == "same-files"
    ]
    assert concern.total == 3


def test_where_teams_choose_none_chosen_is_said(client, scored):
    """On the board, where runs were scored, and on the page of the run."""
    Phase.objects.update(counting="selected", board="everyone")
    scored.phase.refresh_from_db()
    assert "Nothing is on the board for a team until it chooses a run." in show(
        client, scored
    )
    assert "No team has chosen a run." in text_of(
        client.get(boards.address("board", scored.phase))
    )
    Submission.objects.filter(pk=scored.pk).update(is_selected=True)
    increment_board_version(scored.phase.pk)
    assert "until it chooses a run" not in show(client, scored)
    assert "No team has chosen a run." not in text_of(
        client.get(boards.address("board", scored.phase))
    )


@pytest.mark.both_databases
def test_a_run_that_waits_behind_others_says_behind_how_many(client, waiting):
    others = [factories.make_submission(phase=waiting.phase) for _ in range(3)]
    others[0].jobs.update(state="done", finished_at=timezone.now())
    last = factories.make_submission(phase=waiting.phase, team=waiting.team)
    assert "3 runs before it" in show(client, last)


@pytest.mark.both_databases
def test_the_wait_is_told_by_what_others_took(client, waiting):
    other = boards.make_run(
        waiting.phase, factories.make_team(season=waiting.phase.task.season)
    )
    boards.score(other, 0.5, gold=waiting.phase.task.gold.get())
    assert "Scored in about a second." in show(client, waiting)


def test_nothing_new_is_answered_with_nothing(client, waiting):
    page = show(client, waiting)
    poll = re.search(r'hx-get="([^"]+)"', page)[1].replace("&amp;", "&")
    assert client.get(poll).status_code == 204
    Submission.objects.filter(pk=waiting.pk).update(
        status="scoring", status_since=timezone.now()
    )
    changed = client.get(poll)
    assert "Being scored now." in text_of(changed)
    assert "hx-get" in text_of(changed)


def test_the_page_asks_often_at_first_and_more_seldom_the_longer_nothing_changes(
    client, waiting
):
    page = show(client, waiting)
    for seconds, pause in ((0, "400ms"), (60, "1s"), (3600, "5s")):
        since = timezone.now() - dt.timedelta(seconds=seconds)
        Submission.objects.filter(pk=waiting.pk).update(status_since=since)
        poll = re.search(r'hx-get="([^"]+)"', page)[1].replace("&amp;", "&")
        page = client.get(poll).content.decode()
        assert f'hx-trigger="every {pause}"' in page


def test_a_run_that_is_being_scored_says_how_far_it_is(client, waiting):
    now = timezone.now()
    waiting.jobs.filter(sets_status=True).update(
        state="running", progress=0.4, started_at=now, lease_expires_at=now
    )
    Submission.objects.filter(pk=waiting.pk).update(status="scoring")
    assert '<progress max="100" value="40"' in show(client, waiting)


def test_the_news_of_a_scored_run_bring_its_scores_and_end(client, scored):
    part = show(client, scored, "submission-status")
    assert "hx-get" not in part
    assert 'id="run-result" hx-swap-oob="true"' in part
    assert "0.2500" in part
    assert "<html" not in part


def test_a_scored_run_shows_its_numbers_its_place_and_where_the_rules_differ(
    client, scored
):
    page = show(client, scored)
    assert "rank 1 of 1" in page
    assert "0.2000 to 0.3000" in page
    assert "Where the rules differ" in page
    assert "1 metric comes out otherwise" in page
    assert page.count('class="differs"') == 1
    assert "a topic that the run does not mention is left out" in page


def test_a_scored_run_names_its_signature_and_the_command_that_repeats_it(
    client, scored
):
    page = show(client, scored)
    assert "overlap_f1_micro|rules:corrected|gold:1|v:1|n:10" in page
    assert (
        "python -m scoring score clsumm-1a --gold GOLD --run run.jsonl --rules corrected"
        in page
    )


def test_a_scored_run_is_broken_down_by_class_with_a_table_behind_the_chart(
    client, scored
):
    page = show(client, scored)
    figure = json.loads(
        re.search(
            r'<script id="chart-topic-data" type="application/json">(.*?)</script>',
            page,
        )[1]
    )
    assert figure["data"][0]["x"] == ["C90-2039", "E03-1020"]
    assert figure["data"][0]["y"] == [0.2, None]
    assert re.search(
        r"E03-1020</th> <td class=\"n\">6</td> <td class=\"n\">\u2013</td>", page
    )


def test_what_the_scorer_found_odd_is_said_in_words(client, scored):
    scored.evaluations.filter(rules="corrected").update(
        notes={"missing_citances": 2, "missing_topics": 0}
    )
    page = show(client, scored)
    assert "2 missing citances" in page
    assert "missing topics" not in page


def test_warnings_of_the_check_stand_on_the_page(client, waiting):
    warning = {
        "file": "run.jsonl",
        "line": 3,
        "message": "4 <b>spans</b>",
        "expected": "at most 3",
    }
    Submission.objects.filter(pk=waiting.pk).update(
        warnings=[warning | {"quote": "", "fatal": False}]
    )
    page = show(client, waiting)
    assert "1 warning from the check" in page
    assert "4 &lt;b&gt;spans&lt;/b&gt;" in page
    assert "at most 3" in page


def test_a_failed_run_says_what_failed_and_what_to_do(client, waiting):
    Submission.objects.filter(pk=waiting.pk).update(
        status="failed",
        reason="The scorer used more memory than 4096 MB.",
        status_since=timezone.now(),
    )
    page = show(client, waiting)
    assert "This run could not be scored." in page
    assert "The scorer used more memory" in page
    assert "does not count against your team" in page
    assert "hx-get" not in page


def test_a_second_run_says_which_one_stands_on_the_board(client, scored):
    gold = scored.phase.task.gold.get()
    worse = boards.make_run(scored.phase, scored.team, system="worse")
    boards.score(worse, 0.1, gold=gold)
    assert "Run 1, My system, is on the board for your team." in show(client, worse)
    contrastive = boards.make_run(scored.phase, scored.team, kind="contrastive")
    boards.score(contrastive, 0.9, gold=gold)
    assert "is not on the board" in show(client, contrastive)


def test_where_ranks_alone_are_shown_a_team_sees_its_own_numbers_if_the_phase_says_so(
    client, scored
):
    Phase.objects.filter(pk=scored.phase_id).update(board="ranks", own_scores="scores")
    assert "0.2500" in show(client, scored)


def test_where_nobody_sees_scores_neither_page_nor_news_show_any(client, scored):
    Phase.objects.filter(pk=scored.phase_id).update(board="nobody")
    for page in (show(client, scored), show(client, scored, "submission-status")):
        assert "0.2500" not in page
        assert "overlap_f1_micro" not in page
        assert "do not see the scores of their runs yet" in page
    team_page = text_of(client.get(reverse("team", args=[scored.team.slug])))
    assert "0.2500" not in team_page


def test_the_file_of_a_run_comes_back_as_it_was_sent(client, waiting):
    response = client.get(reverse("submission-run", args=[waiting.pk]))
    assert response.getvalue().startswith(factories.run_bytes())
    assert response["Content-Disposition"] == 'attachment; filename="run.jsonl"'
    assert response["Content-Type"] == "application/octet-stream"


@pytest.mark.both_databases
def test_a_waiting_run_can_be_cancelled_by_its_team(client, waiting):
    response = client.post(reverse("submission-cancel", args=[waiting.pk]), follow=True)
    assert "The run is cancelled." in text_of(response)
    waiting.refresh_from_db()
    assert waiting.status == "cancelled"


def test_a_scored_run_can_be_withdrawn_and_not_cancelled(client, scored):
    refused = client.post(reverse("submission-cancel", args=[scored.pk]), follow=True)
    assert "cannot be cancelled" in text_of(refused)
    client.post(reverse("submission-withdraw", args=[scored.pk]))
    scored.refresh_from_db()
    assert scored.status == "withdrawn"
    assert "Withdrawn." in show(client, scored)


def test_nothing_is_taken_back_by_a_link(client, waiting):
    assert (
        client.get(reverse("submission-cancel", args=[waiting.pk])).status_code == 405
    )
    waiting.refresh_from_db()
    assert waiting.status == "queued"


@pytest.mark.both_databases
def test_a_team_chooses_the_run_that_counts_where_the_phase_lets_it(client, scored):
    Phase.objects.filter(pk=scored.phase_id).update(counting="selected")
    other = boards.make_run(scored.phase, scored.team, is_selected=True)
    assert "Let this run count" in show(client, scored)
    client.post(reverse("submission-select", args=[scored.pk]))
    scored.refresh_from_db()
    other.refresh_from_db()
    assert (scored.is_selected, other.is_selected) == (True, False)
    assert "Let this run count" not in show(client, scored)


def test_a_choice_that_the_phase_does_not_leave_is_refused_in_words(client, scored):
    response = client.post(reverse("submission-select", args=[scored.pk]), follow=True)
    assert "not chosen" in text_of(response)
    scored.refresh_from_db()
    assert not scored.is_selected


@pytest.fixture
def over(scored):
    """A scored run of a phase that is over, where teams chose what counts."""
    closes = timezone.now() - dt.timedelta(days=1)
    Phase.objects.filter(pk=scored.phase_id).update(
        opens=closes - dt.timedelta(days=9), closes=closes, counting="selected"
    )
    return Submission.objects.get(pk=scored.pk)


@pytest.mark.parametrize("how", ["withdraw", "select"])
def test_after_the_phase_a_team_changes_nothing(client, over, how):
    page = show(client, over)
    assert "Withdraw this run" not in page
    assert "Let this run count" not in page
    refused = client.post(reverse(f"submission-{how}", args=[over.pk]), follow=True)
    assert "from then on only organisers change anything" in text_of(refused)
    over.refresh_from_db()
    assert (over.status, over.is_selected) == ("scored", False)


@pytest.mark.both_databases
def test_an_organiser_changes_what_stands_with_a_reason_that_everybody_concerned_reads(
    client, over
):
    member = User.objects.get(memberships__team=over.team)
    organiser = factories.make_user(name="Olga", is_staff=True)
    client.force_login(organiser)
    silent = client.post(reverse("submission-withdraw", args=[over.pk]), follow=True)
    assert "Say why" in text_of(silent)
    client.post(
        reverse("submission-select", args=[over.pk]),
        {"reason": "The team asked in time"},
    )
    over.refresh_from_db()
    assert over.is_selected
    client.post(
        reverse("submission-withdraw", args=[over.pk]),
        {"reason": "Made with the test set"},
    )
    over.refresh_from_db()
    assert over.status == "withdrawn"
    season = over.phase.task.season
    assert [
        (entry.actor, entry.action) for entry in audit.find_history_of_place(season)[:2]
    ] == [
        (organiser, "run-withdrawn"),
        (organiser, "run-chosen"),
    ]
    client.force_login(member)
    assert "Withdrawn by the organiser Olga: Made with the test set" in show(
        client, over
    )
