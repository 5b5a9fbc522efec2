"""Creating is shown first, and what was created in a draft goes again."""

import datetime as dt

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from citeboard.core.instants import format_parsable_time
from scoring.models import LogEntry
from tasks.models import Gold, Phase, Season, Submission, Task
from tests import factories
from tests.api.conftest import API
from tests.tasks.seasons import SEASON, edit, load, write_season
from tests.web.reading import text_of
from tests.web.test_declaring import (
    begun,
    filled,
    lines,
    place,
    saved,
    sentences,
    worked_off,
)

pytestmark = pytest.mark.django_db
DRAFT = SEASON.replace("public = true\n", "")
NEW = "/new-season/"
PRESET = {
    "title": "Ours",
    "slug": "one",
    "time_zone": "UTC",
    "opens": "2090-05-01 00:00",
    "evaluation": "2090-06-01 00:00",
    "closes": "2090-06-08 23:59",
}


@pytest.fixture
def olga(client):
    olga = factories.make_user(name="Olga", is_staff=True)
    client.force_login(olga)
    return olga


def uploaded(client, text: str, **more):
    file = SimpleUploadedFile("season.toml", text.encode())
    return client.post(NEW, {"file": file, **more})


def without_files(text: str) -> str:
    """Return the season file without gold and baselines, which a file alone cannot bring."""
    return text.partition("[[tasks.gold]]")[0] + "".join(
        f"[[tasks.phases]]{part}"
        for part in text.partition("[[tasks.baselines]]")[0].split("[[tasks.phases]]")[
            1:
        ]
    )


def test_a_new_season_without_the_line_is_a_draft_and_the_page_says_so(client, olga):
    shown = text_of(uploaded(client, without_files(DRAFT)))
    assert "Nobody but its organisers sees the draft" in shown
    assert not Season.objects.exists()
    uploaded(client, without_files(DRAFT), load="yes")
    assert not Season.objects.get().is_public


def test_before_a_public_season_is_made_the_page_shows_who_gets_what(client, olga):
    shown = text_of(uploaded(client, without_files(SEASON)))
    assert "Everybody: that there is A small season, with its pages" in shown
    assert "Create the season and show it to everybody" in shown
    assert "Cited text spans, Practice" in shown
    assert not Season.objects.exists()


def test_a_program_reads_who_gets_what_before_it_makes_a_public_season(client, olga):
    file = SimpleUploadedFile("season.toml", without_files(SEASON).encode())
    answer = client.post(f"{API}/new-season/", {"file": file, "dry_run": "true"})
    assert answer.json()["rehearsal"]["seen"] == [
        "Everybody: that there is A small season, with its pages"
    ]


@pytest.mark.parametrize("is_public", [True, False])
def test_a_season_keeps_its_state_when_its_file_is_loaded_without_the_line(
    tmp_path, is_public
):
    factories.make_user(email="ada@example.org")
    folder = write_season(tmp_path / "season")
    load(folder)
    Season.objects.update(is_public=is_public)
    edit(folder, ("public = true\n", ""))
    assert load(folder) == ["season small: nothing to change"]
    assert Season.objects.get().is_public is is_public


def test_a_task_from_its_gold_gets_the_phases_of_a_preset_without_types(client, olga):
    made = client.post(f"{NEW}semeval/", PRESET)
    assert made.status_code == 302, made.context["form"].errors
    answer = begun(client, lines(sentences()))
    form = answer.context["form"]
    assert (form.phases, form["split"].value()) == (
        "Practice, Evaluation, Post-evaluation",
        None,
    )
    assert "opens" not in form.fields
    assert saved(client, answer, split="test").status_code == 302
    task = Task.objects.get()
    assert [(phase.slug, phase.split, phase.board) for phase in task.phases.all()] == [
        ("practice", "dev", "everyone"),
        ("evaluation", "test", "organisers"),
        ("post-evaluation", "test", "everyone"),
    ]
    assert task.phases.get(slug="evaluation").opens == dt.datetime(
        2090, 6, 1, tzinfo=dt.UTC
    )
    assert Gold.objects.get().split == "test"
    assert set(Submission.objects.values_list("phase__slug", flat=True)) == {
        "evaluation",
        "post-evaluation",
    }


def test_next_year_s_season_moves_the_planned_phases_too(client, olga):
    dates = {"opens": "2090-05-01 00:00"}
    named = {name: PRESET[name] for name in ("title", "time_zone")}
    client.post(f"{NEW}open/", {**named, **dates, "slug": "first"})
    where = reverse("organise-clone", args=["first"])
    client.post(where, {"title": "Next", "slug": "next", "days": 364})
    [planned] = Season.objects.get(slug="next").planned_phases
    assert planned["opens"] == "2091-04-30T00:00:00Z"


def public_season(olga) -> Season:
    season = factories.make_season(organiser=olga, slug="one", title="One")
    factories.make_phase(
        task=factories.make_task(season=season), slug="running", title="Running"
    )
    return season


def test_a_task_of_a_public_season_is_shown_first_and_stays_closed(client, olga):
    public_season(olga)
    answer = begun(client, lines(sentences()))
    assert answer.context["form"]["opens"].value() is None
    unsaid = saved(client, answer)
    assert list(unsaid.context["form"].errors) == ["opens"]
    past = format_parsable_time(timezone.now() - dt.timedelta(days=1), dt.UTC)
    assert "a later time" in text_of(saved(client, answer, opens=past))
    later = filled(answer, opens="2090-01-01 00:00")
    Phase.objects.update(closes=dt.datetime(2095, 1, 1, tzinfo=dt.UTC))
    asked = client.post(place(), {**later, "save": "", "rehearsed": "other"})
    assert asked.status_code == 409
    assert "Everybody: that there is Why cite, with its pages" in text_of(asked)
    assert not Task.objects.filter(slug="why-cite").exists()
    digest = asked.context["rehearsal"].digest
    done = client.post(place(), {**later, "save": "", "rehearsed": digest})
    assert done.status_code == 302
    phase = Phase.objects.get(task__slug="why-cite")
    assert (phase.slug, phase.is_open(), phase.inputs_released_at.year) == (
        "running",
        False,
        2090,
    )


def test_in_a_draft_a_task_goes_with_its_gold_and_baselines_and_their_receipts_stay(
    client, olga
):
    factories.make_season(organiser=olga, slug="one", is_public=False)
    saved(client, begun(client, lines(sentences())))
    worked_off()
    entries = LogEntry.objects.count()
    assert entries
    task = Task.objects.get()
    phase = reverse(
        "organise-settings-delete-phase", args=["one", task.phases.get().pk]
    )
    client.post(phase)
    assert not Phase.objects.exists()
    assert Gold.objects.exists()
    answer = client.post(
        reverse("organise-settings-delete-task", args=["one", task.pk]), follow=True
    )
    assert "with what the site computed in it" in text_of(answer)
    assert not Task.objects.exists()
    assert not Gold.objects.exists()
    assert LogEntry.objects.count() == entries


@pytest.mark.parametrize("kept_by", ["a run of a team", "that the season was public"])
def test_what_others_have_sent_or_seen_is_not_deleted(client, olga, kept_by):
    season = factories.make_season(organiser=olga, slug="one", is_public=False)
    phase = factories.make_phase(task=factories.make_task(season=season))
    if kept_by == "a run of a team":
        factories.make_submission(phase=phase)
    else:
        Season.objects.update(was_public=True)
    where = reverse("organise-settings-delete-task", args=["one", phase.task.pk])
    assert "has gold, which stays" in text_of(client.post(where, follow=True))
    assert Gold.objects.exists()


def test_labels_that_differ_in_case_alone_and_a_short_card_are_told_by_the_page(
    client, olga
):
    factories.make_season(organiser=olga, slug="one", is_public=False)
    named = {"background": "SPSS", "method": "spss", "result": "R"}
    rows = [row | {"label": named[row["label"]]} for row in sentences()]
    answer = begun(client, lines(rows))
    measures = answer.context["form"]["measures"].value()
    assert {"f1_spss", "f1_spss_2"} <= set(measures)
    refused = saved(client, answer, card="# Why cite\n\nNo more.")
    [*_, last] = refused.context["problems"]
    assert (last.file, last.line) == ("What participants read", None)
    assert "card.md" not in text_of(refused)
