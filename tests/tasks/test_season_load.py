"""Loading a season: what is written, what a second load changes, and what is never taken away."""

from io import StringIO

import pytest
from django.core.management import call_command

from scoring.__main__ import main
from scoring.metrics.discourse import SentenceTagger
from scoring.models import Score
from scoring.worker.baseline_runs import request_baselines
from scoring.worker.score import score
from tasks.models import (
    Gold,
    Job,
    Organiser,
    Phase,
    Season,
    SeasonFile,
    Submission,
    Task,
)
from tasks.seasons.file.licences import validate_licence
from tests.factories import (
    make_phase,
    make_submission,
    make_team,
    make_user,
    other_run,
    write_corpus,
)
from tests.scoring.discourse import intents, write_gold, write_lines
from tests.tasks.seasons import edit, load, refusals, write_season

pytestmark = pytest.mark.django_db
NOTHING = ["season small: nothing to change"]
EARLY = """\
[[tasks.phases]]
slug = "early"
title = "Early"
opens = 2019-01-01T00:00:00Z
closes = 2090-01-01T00:00:00Z
board = "organisers"
"""
OTHER = (("D05-0001", "3", ["4"], "Aim_Citation"),)


@pytest.fixture
def folder(tmp_path):
    make_user(email="Ada@example.org")
    return write_season(tmp_path / "season")


@pytest.mark.both_databases
def test_a_season_is_written_as_its_file_says(folder):
    assert load(folder) == [
        "season small: created",
        "organiser ada@example.org: added",
        "task 1a: created",
        "phase 1a/practice: created",
        "phase 1a/final: created",
        "gold 1a/test: version 1, 4 instances",
        "baseline 1a/practice “Lead”: queued as run 1",
        "baseline 1a/final “Lead”: queued as run 1",
    ]
    season = Season.objects.get()
    assert (season.slug, season.title, season.is_public) == (
        "small",
        "A small season",
        True,
    )
    task = season.tasks.get()
    assert (task.type, task.rules, task.options) == (
        "clsumm-1a",
        ["corrected", "official-2017"],
        {},
    )
    practice, final = task.phases.all()
    assert (practice.runs_per_day, practice.runs_in_total, practice.board) == (
        3,
        None,
        "organisers",
    )
    assert (final.runs_per_day, final.runs_in_total, final.board) == (None, 5, "nobody")
    assert (final.time_zone, final.counting, final.split) == (
        "Europe/Rome",
        "last",
        "test",
    )
    assert Gold.objects.get().reason == "First release."
    assert {job.rules for job in Job.objects.all()} == {"corrected", "official-2017"}
    assert Job.objects.count() == 4


def everything():
    """Each row of a season with all that stands in it."""
    models = (Season, Task, Phase, Gold, Organiser, Submission, Job)
    return [list(model.objects.order_by("pk").values()) for model in models]


@pytest.mark.both_databases
def test_a_second_load_changes_nothing_and_says_so(folder):
    load(folder)
    before = everything()
    assert load(folder) == NOTHING
    assert load(folder, reason="None is needed.") == NOTHING
    assert everything() == before


@pytest.mark.both_databases
def test_what_is_different_in_the_file_is_changed_and_boards_know(folder):
    load(folder)
    version = Phase.objects.get(slug="practice").version
    edit(
        folder,
        (
            'title = "A small season"',
            'title = "A season"\nsummary = "Words."',
        ),
        ("public = true", "public = false"),
        ('title = "Practice"', 'title = "Training"'),
        ("runs_per_day = 3\n", ""),
    )
    assert load(folder) == [
        "season small: title, summary, public changed",
        "phase 1a/practice: title, runs_per_day changed",
    ]
    assert not Season.objects.get().is_public
    practice = Phase.objects.get(slug="practice")
    assert (practice.title, practice.runs_per_day, practice.version) == (
        "Training",
        None,
        version + 1,
    )
    assert load(folder) == NOTHING


@pytest.mark.both_databases
def test_tasks_and_phases_are_shown_in_the_order_of_the_file(folder):
    edit(folder, ("[[tasks.baselines]]", f"{EARLY}\n[[tasks.baselines]]"))
    load(folder)
    assert [phase.slug for phase in Phase.objects.all()] == [
        "practice",
        "final",
        "early",
    ]


def test_the_old_names_of_rule_sets_change_nothing_and_are_stored_as_the_new_ones(
    folder,
):
    load(folder)
    edit(
        folder,
        ('rules = ["corrected", "official-2017"]', 'rules = ["fair", "official-2017"]'),
    )
    assert load(folder) == NOTHING
    assert Season.objects.get().tasks.get().rules == ["corrected", "official-2017"]


@pytest.mark.both_databases
def test_new_rules_score_every_run_again(folder):
    edit(folder, ('rules = ["corrected", "official-2017"]', 'rules = ["corrected"]'))
    load(folder)
    team = make_team(season=Season.objects.get())
    run = make_submission(
        phase=Phase.objects.get(slug="practice"), team=team, status="scored"
    )
    edit(folder, ('rules = ["corrected"]', 'rules = ["official-2017", "corrected"]'))
    assert load(folder) == [
        "task 1a: rules changed",
        "task 1a: 3 scorings queued for the runs it has",
    ]
    assert sorted(run.jobs.values_list("rules", flat=True)) == [
        "corrected",
        "official-2017",
    ]
    assert load(folder) == NOTHING


def test_other_gold_needs_a_reason_and_becomes_a_version(folder):
    load(folder)
    for topic in (folder / "corpus").iterdir():
        for path in sorted(topic.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        topic.rmdir()
    write_corpus(folder / "corpus", citances=OTHER)
    (line,) = refusals(folder)
    assert line.startswith(
        "season.toml:13: the gold of split test is not that of version 1; expected a new"
    )
    assert Gold.objects.count() == 1
    edit(
        folder, ('paths = ["corpus"]', 'paths = ["corpus"]\nreason = "First release."')
    )
    assert refusals(folder)[0].startswith("season.toml:14: the gold of split test")
    edit(folder, ('"First release."', '"Citance 1 pointed to a heading."'))
    assert load(folder) == [
        "gold 1a/test: version 2, 2 instances",
        "task 1a: 4 scorings queued for the runs it has",
    ]
    assert Gold.objects.get(number=2).reason == "Citance 1 pointed to a heading."
    assert load(folder) == NOTHING


def test_a_reason_on_the_command_line_serves_as_well(folder):
    load(folder)
    write_corpus(folder / "more", topics=("D01-0003",))
    edit(folder, ('paths = ["corpus"]', 'paths = ["corpus", "more"]'))
    assert refusals(folder)
    load(folder, reason=" A third topic. ")
    assert Gold.objects.get(number=2).reason == "A third topic."


@pytest.mark.parametrize(
    ("begins", "ends", "said"),
    [
        (
            "[[tasks]]",
            None,
            "season.toml:2: task “1a” is on the site and not in the file",
        ),
        (
            '[[tasks.phases]]\nslug = "practice"',
            '[[tasks.phases]]\nslug = "final"',
            "season.toml:7: phase “practice” of task 1a is on the site and not in the file",
        ),
        (
            "[[tasks.gold]]",
            "[[tasks.phases]]",
            "season.toml:7: gold “test” of task 1a is on the site and not in the file",
        ),
        (
            "[[tasks.baselines]]",
            None,
            "season.toml:7: baseline “Lead” of task 1a is on the site and not in the file",
        ),
    ],
)
def test_nothing_is_taken_away_by_leaving_it_out(folder, begins, ends, said):
    load(folder)
    before = everything()
    text = (folder / "season.toml").read_text()
    start = text.index(begins)
    stop = text.index(ends) if ends else len(text)
    (folder / "season.toml").write_text(text[:start] + text[stop:])
    assert refusals(folder) == [
        f"{said}; expected the same in the file, or it deleted in the admin by someone who knows what is lost"
    ]
    assert everything() == before


def test_a_task_keeps_its_type_and_a_phase_its_split_once_there_are_runs(folder):
    load(folder)
    team = make_team(season=Season.objects.get())
    make_submission(phase=Phase.objects.get(slug="practice"), team=team)
    edit(
        folder,
        ('"clsumm-1a"', '"clsumm-1b"'),
        ('slug = "practice"', 'slug = "practice"\nsplit = "other"'),
    )
    assert refusals(folder) == [
        "season.toml:9: the task has runs of the type clsumm-1a; expected a new task for the new type",
        "season.toml:17: the phase has runs on split test; expected a new phase for the new split",
    ]


def test_runs_of_another_season_leave_the_split_of_a_phase_open(folder):
    edit(folder, ('[[tasks.baselines]]\nsystem = "Lead"\nrun = "lead.jsonl"\n', ""))
    load(folder)
    make_submission(phase=make_phase(slug="final"))
    edit(folder, ('slug = "final"', 'slug = "final"\nsplit = "later"'))
    load(folder)
    final = Phase.objects.get(task__season__slug="small", slug="final")
    assert final.split == "later"


def test_another_file_for_a_baseline_replaces_its_run(folder):
    load(folder)
    (folder / "lead.jsonl").write_bytes(other_run(1))
    edit(
        folder,
        (
            'run = "lead.jsonl"',
            'run = "lead.jsonl"\ndescription = "The first sentence."',
        ),
    )
    assert load(folder) == [
        "baseline 1a/practice “Lead”: queued as run 2",
        "baseline 1a/final “Lead”: queued as run 2",
    ]
    runs = Submission.objects.filter(phase__slug="practice").order_by("number")
    assert [(run.status, run.reason) for run in runs] == [
        ("withdrawn", "Replaced by run 2."),
        ("queued", ""),
    ]
    assert load(folder) == NOTHING
    edit(folder, ("The first sentence.", "The first sentence of the abstract."))
    assert load(folder) == [
        "baseline 1a/practice “Lead”: description changed",
        "baseline 1a/final “Lead”: description changed",
    ]


def test_a_baseline_stands_in_the_phases_that_it_names(folder):
    edit(folder, ('run = "lead.jsonl"', 'run = "lead.jsonl"\nphases = ["final"]'))
    load(folder)
    assert [run.phase.slug for run in Submission.objects.all()] == ["final"]


def test_what_is_perhaps_not_meant_is_noted(folder):
    edit(
        folder,
        ('["ada@example.org"]', '["ada@example.org", "bob@example.org"]'),
        ("closes = 2090-01-01T00:00:00Z", "closes = 2020-02-01T00:00:00Z"),
        ('slug = "final"', 'slug = "final"\nsplit = "tset"'),
        (
            "[[tasks.gold]]",
            '[[tasks.gold]]\nsplit = "dev"\npaths = ["corpus"]\n\n[[tasks.gold]]',
        ),
    )
    assert [line for line in load(folder) if line.startswith("note: ")] == [
        "note: organiser bob@example.org has no account yet; load the season again when there is one",
        "note: phase 1a/practice is over: it closed 1 Feb 2020, 00:00 UTC",
        "note: phase 1a/final: split tset has no gold yet, so that no run is accepted",
        "note: gold 1a/dev: no phase is scored on it",
    ]
    make_user(email="bob@example.org")
    assert load(folder)[0] == "organiser bob@example.org: added"
    assert Organiser.objects.count() == 2


def test_gold_is_found_in_the_data_root_and_nowhere_above_it(folder, tmp_path):
    (tmp_path / "data").mkdir()
    (folder / "corpus").rename(tmp_path / "data" / "corpus")
    (line,) = refusals(folder)
    assert line.endswith("; --data names another folder to look in")
    assert load(folder, data=tmp_path / "data")[0] == "season small: created"
    edit(folder, ('paths = ["corpus"]', 'paths = ["../season/../data/../corpus"]'))
    assert "leads out of the folder" in refusals(folder, data=tmp_path / "data")[0]


def test_the_text_of_a_task_may_stand_in_a_file_of_its_own(folder):
    (folder / "card.md").write_text("# What is asked\n\nÉté.\n", encoding="utf-8")
    edit(folder, ('type = "clsumm-1a"', 'type = "clsumm-1a"\ncard = "card.md"'))
    load(folder)
    assert Task.objects.get().summary == "# What is asked\n\nÉté."


def test_a_task_that_is_reported_only_has_no_gold_and_is_not_missed(folder):
    text = (folder / "season.toml").read_text()
    start, stop = (
        text.index("[[tasks.gold]]"),
        text.index('[[tasks.phases]]\nslug = "practice"'),
    )
    text = text[:start] + text[stop:]
    text = text[: text.index("[[tasks.baselines]]")].replace(
        '"clsumm-1a"', '"clsumm-1a"\nreported_only = true'
    )
    (folder / "season.toml").write_text(text)
    assert not [line for line in load(folder) if line.startswith("note: ")]
    assert Task.objects.get().is_reported_only


@pytest.mark.both_databases
def test_a_failure_while_it_is_written_leaves_nothing_of_the_season(
    folder, monkeypatch
):
    monkeypatch.setattr(
        "tasks.seasons.file.load.record_gold_version", lambda **given: 1 / 0
    )
    with pytest.raises(ZeroDivisionError):
        load(folder)
    assert not Season.objects.exists()


def test_whether_single_instances_are_shown_is_said_for_each_phase(folder):
    edit(folder, ('counting = "last"', 'counting = "last"\nshows_instances = true'))
    load(folder)
    assert list(
        Phase.objects.order_by("position").values_list("slug", "shows_instances")
    ) == [
        ("practice", False),
        ("final", True),
    ]


def test_the_folder_can_be_named_by_its_file(folder):
    call_command("load_season", str(folder / "season.toml"), stdout=(out := StringIO()))
    assert out.getvalue().startswith("season small: created")


CITATION_TEXTS = """
[season]
slug = "mice"
title = "Mice"
public = true

[[tasks]]
slug = "texts"
title = "Texts"
type = "citation-text"

[[tasks.gold]]
paths = ["lu.jsonl"]

[[tasks.phases]]
slug = "open"
title = "Open"
opens = 2020-01-01T00:00:00Z
closes = 2090-01-01T00:00:00Z
"""


def test_a_new_task_of_citation_texts_counts_the_taggers_labels_and_one_that_is_there_keeps_its_own(
    tmp_path,
):
    write_gold(tmp_path, {"lu": [intents("Uses")]})
    (tmp_path / "season.toml").write_text(CITATION_TEXTS)
    load(tmp_path)
    task = Task.objects.get(slug="texts")
    assert task.options == {
        "bertscore": "absent",
        "discourse_labels": "tagger",
        "intent_tagger": "acl-arc",
    }
    assert load(tmp_path) == ["season mice: nothing to change"]
    Task.objects.filter(pk=task.pk).update(options={})
    SeasonFile.objects.all().delete()
    assert "discourse_labels" not in " ".join(load(tmp_path))
    assert Task.objects.get(slug="texts").options == {}


def test_a_new_task_has_the_models_of_the_site_where_they_are_there(tmp_path, settings):
    """One that is there already has none of them, and a new one no more than have files."""
    settings.MODELS_DIR = tmp_path / "models"
    write_gold(tmp_path, {"lu": [intents("Uses")]})
    (tmp_path / "season.toml").write_text(CITATION_TEXTS)
    load(tmp_path)
    for name in ("taggers/intent", "taggers/corwa", "distilbert-base-uncased"):
        (settings.MODELS_DIR / name).mkdir(parents=True)
        if name != "taggers/corwa":
            (settings.MODELS_DIR / name / "weights").touch()
    assert load(tmp_path) == ["season mice: nothing to change"]
    (tmp_path / "season.toml").write_text(CITATION_TEXTS.replace("mice", "rats"))
    load(tmp_path)
    own = {
        "bertscore": "absent",
        "discourse_labels": "tagger",
        "intent_tagger": f"{settings.MODELS_DIR}/taggers/intent",
        "bertscore_model": f"{settings.MODELS_DIR}/distilbert-base-uncased",
        "bertscore_layer": "5",
    }
    assert Task.objects.get(season__slug="rats").options == own
    assert load(tmp_path) == ["season rats: nothing to change"]


def test_the_sites_own_tagger_is_a_column_that_names_its_digest(tmp_path, settings):
    """And of the scheme that the site has no tagger of there is no column."""
    settings.MODELS_DIR = tmp_path / "models"
    labelled = [
        {"text": f"We use the {noun} of {number} towns.", "label": "Uses"}
        if number % 2
        else {
            "text": f"Unlike others our {noun} needs no {number} rules.",
            "label": "CompareOrContrast",
        }
        for noun in ("parser", "tagger", "corpus")
        for number in range(10)
    ]
    write_lines(tmp_path / "labelled.jsonl", labelled)
    folder = settings.MODELS_DIR / "taggers" / "intent"
    assert (
        main(["train-tagger", str(tmp_path / "labelled.jsonl"), "--out", str(folder)])
        == 0
    )
    write_gold(tmp_path, {"lu": [intents("Uses")]})
    (tmp_path / "season.toml").write_text(CITATION_TEXTS)
    load(tmp_path)
    request_baselines(phase=Phase.objects.get(), names=["citation-text-lead"], by=None)
    # The run is computed first, and scored then.
    while job := Job.objects.filter(state="queued").first():
        score(job.pk)
    signatures = {
        one.metric: one.signature
        for one in Score.objects.filter(evaluation__rules="corrected")
    }
    assert SentenceTagger.load(folder).digest[:12] in signatures["kl_intent"]
    assert {"kl_intent", "kl_intent_supplied", "kl_corwa_supplied"} <= signatures.keys()
    assert "kl_corwa" not in signatures


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("cc-by-4.0", "CC-BY-4.0"),
        ("CC BY 4.0", "CC-BY-4.0"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("For research only.", "For research only."),
        ("LicenseRef-Ours", "LicenseRef-Ours"),
    ],
)
def test_a_licence_is_kept_as_spdx_writes_it_or_in_its_words(written, kept):
    assert validate_licence(written) == kept


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("cc-by-4", "“cc-by-4” is no identifier of SPDX (did you mean “CC-BY-4.0”?)"),
        ("MIT OR Mine", "“Mine”"),
    ],
)
def test_a_word_that_is_no_identifier_of_spdx_is_refused_with_the_nearest(
    folder, written, named
):
    edit(folder, ('slug = "small"', f'slug = "small"\nlicence = "{written}"'))
    [refusal] = refusals(folder)
    assert named in refusal
