"""A season is exported as a season file, which makes the same season; and it is cloned for the next year."""

import datetime as dt
import filecmp
import io
import tomllib

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from tasks.models import Gold, Organiser, Phase, Season, SeasonFile, Submission, Task
from tasks.registration.entries import get_newest_terms, publish_terms
from tasks.seasons.file.entries import make_phase_key_prefix
from tasks.seasons.file.load import change_settings
from tasks.seasons.phase_acts import close_now, reveal_now
from tasks.seasons.presets import clone_season
from tasks.types import InputRefused
from tests.factories import make_user
from tests.tasks.seasons import conflicts, edit, load, refusals, write_season

pytestmark = pytest.mark.django_db
RICH = (
    'title = "A small season"',
    (
        'overall = true\ntitle = "A \\"small\\" season"\n'
        'summary = """\nTwo lines,\n\\ta tab: \\\\ “é”.\n"""\nlicence = "CC0-1.0"'
    ),
)


@pytest.fixture
def folder(tmp_path):
    make_user(email="ada@example.org")
    folder = write_season(tmp_path / "season")
    edit(
        folder,
        RICH,
        (
            'type = "clsumm-1a"',
            (
                'type = "clsumm-1a"\noptions = { annotation = "annv3" }\nmin_class_size = 2\n'
                'rank_by = "overlap_f1_macro"\nshown_measures = ["overlap_f1_macro", "overlap_f1_micro"]\n'
                'hub_dataset = "our-lab/clsumm"\nseeds = "needed"\n'
                'sentence = "Which sentences does a citation mean?"'
            ),
        ),
        (
            "runs_in_total = 5",
            (
                "runs_in_total = 5\nshows_contrastive = true\nconfirms_results = true\n"
                "shows_instances = true\ngold_public = true\ngold_from = 2031-01-02T12:00:00Z\n"
                'card_required = ["method", "code", "costs"]\n'
                'board_from = 2030-05-10T12:00:00Z\nboard_then = "everyone"'
            ),
        ),
    )
    return folder


def export(slug, folder) -> None:
    call_command("export_season", slug, "--out", str(folder), stdout=io.StringIO())


def forget() -> None:
    """Everything of the season, as another site has nothing of it."""
    Submission.objects.all().delete()
    Gold.objects.all().delete()
    Season.objects.all().delete()


def same(first, second) -> bool:
    """Byte for byte, in all folders."""
    found = filecmp.dircmp(first, second)
    equal = not filecmp.cmpfiles(first, second, found.common_files, shallow=False)[1]
    inner = all(same(first / name, second / name) for name in found.common_dirs)
    return equal and inner and not found.left_only and not found.right_only


def settings_of(model, *without) -> list[dict]:
    leave = {
        "id",
        "season_id",
        "task_id",
        "created_at",
        "updated_at",
        "version",
        "changed",
        *without,
    }
    return [
        {name: value for name, value in row.items() if name not in leave}
        for row in model.objects.order_by("pk").values()
    ]


@pytest.mark.both_databases
def test_export_and_import_are_inverse_to_the_byte(folder, tmp_path):
    load(folder)
    before = [settings_of(model) for model in (Season, Task, Phase)]
    digests = set(Gold.objects.values_list("split", "digest"))
    export("small", tmp_path / "first")
    forget()
    assert "season small: created" in load(tmp_path / "first")
    assert [settings_of(model) for model in (Season, Task, Phase)] == before
    assert set(Gold.objects.values_list("split", "digest")) == digests
    export("small", tmp_path / "second")
    assert same(tmp_path / "first", tmp_path / "second")
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == [
        "baselines",
        "gold",
        "season.toml",
    ]


@pytest.mark.parametrize(
    ("model", "heading"),
    [(Season, "season"), (Task, "[tasks]"), (Phase, "[tasks.phases]")],
)
def test_every_declared_setting_is_in_the_guide_and_keeps_its_field(
    settings, model, heading
):
    guide = (settings.BASE_DIR / "docs" / "season-file.md").read_text()
    rows = guide.partition(f"## `[{heading}]`\n")[2].partition("\n## ")[0]
    for name in model.SETTINGS:
        assert f"`{model.key(name)}`" in rows.replace("`slug`, ", ""), name
        assert model.field(name).editable


def test_what_was_exported_changes_nothing_where_it_came_from(folder, tmp_path):
    load(folder)
    export("small", tmp_path / "out")
    assert load(tmp_path / "out") == ["season small: nothing to change"]


def test_only_what_is_not_the_default_is_written(folder, tmp_path):
    load(folder)
    export("small", tmp_path / "out")
    season = tomllib.loads((tmp_path / "out" / "season.toml").read_text())
    assert season["season"]["summary"] == "Two lines,\n\ta tab: \\ “é”."
    practice, _ = season["tasks"][0]["phases"]
    assert set(practice) == {
        "slug",
        "title",
        "opens",
        "closes",
        "runs_per_day",
        "board",
    }


def test_a_folder_that_is_there_is_not_written_into(folder, tmp_path):
    load(folder)
    with pytest.raises(CommandError, match="is there already"):
        export("small", tmp_path)


@pytest.mark.both_databases
def test_a_clone_has_the_structure_and_nobody(folder):
    load(folder)
    organiser = make_user(name="Olga")
    season = Season.objects.get()
    made = clone_season(season=season, slug="small-2", title="Next year", by=organiser)
    assert (made.slug, made.title, made.is_public, made.licence) == (
        "small-2",
        "Next year",
        False,
        "CC0-1.0",
    )
    assert [organiser.user for organiser in Organiser.objects.filter(season=made)] == [
        organiser
    ]
    (task,) = made.tasks.all()
    assert (task.rules, task.options) == (
        ["corrected", "official-2017"],
        {"annotation": "annv3"},
    )
    final, before = (
        Phase.objects.get(slug="final", task__season=own) for own in (made, season)
    )
    assert (final.opens - before.opens).days == 364
    assert (final.board, final.counting, final.runs_in_total) == ("nobody", "last", 5)
    assert (final.closes - before.closes).days == 364
    assert not task.gold.exists()
    assert not Submission.objects.filter(phase__task=task).exists()
    assert not SeasonFile.objects.filter(season=made).exists()
    assert find_history_of_place(season)[0].words == f"cloned {season} as Next year"


def test_a_board_that_was_frozen_is_not_in_the_next_year(folder):
    load(folder)
    phase = Phase.objects.order_by("pk").first()
    now = timezone.now()
    Phase.objects.filter(pk=phase.pk).update(
        frozen_from=now, frozen_until=now + dt.timedelta(days=1)
    )
    made = clone_season(
        season=phase.task.season, slug="small-2", title="Next year", by=None
    )
    assert (
        not Phase.objects.filter(task__season=made).exclude(frozen_from=None).exists()
    )


def test_a_clone_begins_as_the_season_began_and_not_as_it_ended(folder):
    """A board that was revealed, gold that was given out and a phase that was closed by hand last year."""
    load(folder)
    organiser = make_user()
    season = Season.objects.get()
    phase = Phase.objects.get(slug="final")
    Phase.objects.exclude(pk=phase.pk).update(split="another")
    opens, closes = (
        timezone.now() - dt.timedelta(days=9),
        timezone.now() + dt.timedelta(days=9),
    )
    Phase.objects.filter(pk=phase.pk).update(
        opens=opens,
        closes=closes,
        board="organisers",
        gold_is_public=False,
        gold_from=None,
        own_scores="nothing",
    )
    phase.refresh_from_db()
    close_now(phase=phase, by=organiser)
    reveal_now(phase=phase, by=organiser)
    key = make_phase_key_prefix(phase.task.slug, "final")
    change_settings(
        season=season,
        values={f"{key}.gold_public": True, f"{key}.own_scores": "scores"},
        by=organiser,
    )
    phase.refresh_from_db()
    assert (phase.board, phase.gold_is_public, phase.own_scores) == (
        "everyone",
        True,
        "scores",
    )
    made = clone_season(season=season, slug="small-2", title="Next year", by=organiser)
    cloned = Phase.objects.get(slug="final", task__season=made)
    assert (cloned.board, cloned.gold_is_public, cloned.own_scores) == (
        "organisers",
        False,
        "nothing",
    )
    assert cloned.closes == closes + dt.timedelta(days=364)


def test_a_clone_is_refused_in_the_words_of_a_season_file(folder):
    load(folder)
    with pytest.raises(InputRefused) as refused:
        clone_season(season=Season.objects.get(), slug="small", title="Again", by=None)
    assert "there is a season “small” already" in str(refused.value.problems[0])
    with pytest.raises(InputRefused) as refused:
        clone_season(
            season=Season.objects.get(), slug="Next Year", title="Again", by=None
        )
    assert "cannot stand in an address" in str(refused.value.problems[0])
    assert Season.objects.count() == 1


def test_the_command_clones_too(folder):
    load(folder)
    out = io.StringIO()
    call_command(
        "clone_season",
        "small",
        "small-2",
        "--title",
        "Next year",
        "--days",
        "10",
        stdout=out,
    )
    assert out.getvalue() == "season small-2: a draft with 1 task\n"


RULES = (
    'title = "A small season"',
    (
        'title = "A small season"\nregistration = "list"\nentry_list = ["Ada@example.org", "@uni.example"]\n'
        "max_team_size = 3\nmembers_until = 2026-05-01T12:00:00Z\n"
        "merge_until = 2026-04-20T12:00:00Z\nanonymous_until = 2026-06-01T12:00:00Z\n"
        'terms = """\nFor research.\n\nAlone.\n"""'
    ),
)


def with_rules(tmp_path):
    make_user(email="ada@example.org")
    folder = write_season(tmp_path / "season")
    edit(folder, RULES)
    return folder


def test_the_rules_for_teams_and_the_terms_go_along(tmp_path):
    folder = with_rules(tmp_path)
    load(folder)
    season = Season.objects.get()
    assert (season.entry_list, season.max_team_size) == (
        "ada@example.org\n@uni.example",
        3,
    )
    assert get_newest_terms(season).text == "For research.\n\nAlone."
    export("small", tmp_path / "first")
    assert load(tmp_path / "first") == ["season small: nothing to change"]
    forget()
    load(tmp_path / "first")
    export("small", tmp_path / "second")
    assert same(tmp_path / "first", tmp_path / "second")
    said = tomllib.loads((tmp_path / "second" / "season.toml").read_text())["season"]
    assert said["entry_list"] == ["ada@example.org", "@uni.example"]
    assert f"{said['anonymous_until']:%Y-%m-%d %H:%M}" == "2026-06-01 12:00"
    assert said["terms"] == "For research.\n\nAlone."


def test_other_terms_in_the_file_are_a_new_version_and_those_of_the_site_are_asked_about(
    tmp_path,
):
    folder = with_rules(tmp_path)
    load(folder)
    edit(folder, ("For research.", "For research and teaching."))
    assert "terms: version 2" in load(folder)
    publish_terms(season=Season.objects.get(), text="For nobody.", by=None)
    assert conflicts(folder)[0].startswith("season.terms:")
    assert load(folder, keep=["season.terms"]) == ["season small: nothing to change"]
    assert "terms: version 4" in load(folder, apply=["season.terms"])


def test_who_may_enter_is_judged_as_in_the_site(tmp_path):
    folder = write_season(tmp_path / "season")
    edit(folder, (RULES[0], f'{RULES[0]}\nentry_list = ["nobody"]\nmax_team_size = 0'))
    lines = refusals(folder)
    assert any(
        "“nobody” is neither an address nor @ and a domain" in line for line in lines
    )
    assert any("“max_team_size” is 0" in line for line in lines)


def test_a_clone_takes_rules_and_terms_along_and_nobody_s_address(tmp_path):
    folder = with_rules(tmp_path)
    load(folder)
    made = clone_season(
        season=Season.objects.get(), slug="small-2", title="Next year", by=None
    )
    assert (made.entry_list, made.max_team_size) == ("", 3)
    assert f"{made.members_until:%Y-%m-%d}" == "2027-04-30"
    assert get_newest_terms(made).text == "For research.\n\nAlone."
