"""Built-in baselines in the worker: asked for once, computed behind limits, scored and shown like any run."""

import importlib
import io
import json
import shutil
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from citeboard.core import storage
from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from citeboard.demo.prepare import EXAMPLES_FOLDER, SAFE_TAR_EXTRACTION_OPTIONS
from scoring.results.board.standings import compute_board
from scoring.tools.baselines import find_baselines_of_task_type
from scoring.tools.baselines.clsumm_supervised import (
    SUPERVISED_OPTIONS,
    describe_used_features,
)
from scoring.worker.baseline_runs import list_baseline_names, request_baselines
from scoring.worker.rescoring import rescore_run
from scoring.worker.score import score
from tasks.gold.gold_files import load_gold
from tasks.jobs import engine
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import Gold, Job, Organiser, Phase, Submission
from tasks.seasons.file.load import load_season
from tasks.types import task_type, task_types
from tasks.types.base import validate_option_values
from tests import factories
from tests.mass import mass
from tests.scoring import offline
from tests.scoring.scorers import put_in_place
from tests.tasks.types.corpus import CITANCES, write_topic

pytestmark = pytest.mark.django_db

ONE = "clsumm-tfidf-top1"
SUPERVISED = "clsumm-umich-supervised"


@pytest.fixture
def phase() -> Phase:
    return factories.make_phase(
        task=factories.make_task(rules=["corrected", "official-2017"])
    )


def asked_for(phase, *names) -> Submission:
    return request_baselines(phase=phase, names=names, by=None)[0].submission


def worked_off(phase) -> None:
    """Whatever the queue holds, also what follows from it."""
    while job := Job.objects.filter(submission__phase=phase, state="queued").first():
        score(job.pk)


def computed(phase, *names) -> Submission:
    run = asked_for(phase, *names)
    worked_off(phase)
    run.refresh_from_db()
    return run


def command(*arguments) -> list[str]:
    out = io.StringIO()
    call_command("run_baselines", *map(str, arguments), stdout=out)
    return out.getvalue().splitlines()


def test_a_baseline_is_computed_scored_under_every_rule_set_and_stands_on_the_board_without_a_rank(
    phase,
):
    run = computed(phase, ONE)
    assert (run.status, run.reason, run.team, run.kind, run.system) == (
        "scored",
        "",
        None,
        "baseline",
        ONE,
    )
    assert set(run.evaluations.values_list("rules", flat=True)) == {
        "corrected",
        "official-2017",
    }
    rows = compute_board(phase, None).rows
    assert [(row.system, row.kind, row.rank, row.team) for row in rows] == [
        (ONE, "baseline", None, None)
    ]
    assert "public inputs alone" in run.description


def test_a_computed_run_that_is_too_large_to_be_checked_at_once_is_scored_all_the_same(
    phase, settings
):
    settings.CHECK_MAX_MB = 0
    run = computed(phase, ONE)
    assert (run.status, run.evaluations.count()) == ("scored", 2)
    assert [row.system for row in compute_board(phase, None).rows] == [ONE]


def test_the_run_is_the_one_that_the_offline_command_writes(phase, tmp_path):
    run = computed(phase, ONE)
    gold = factories.write_corpus(tmp_path / "corpus")
    offline.main(
        ["baseline", ONE, "--gold", str(gold), "--out", str(tmp_path / "run.jsonl")]
    )
    with storage.run_file_storage.open(run.file) as kept:
        assert kept.read() == (tmp_path / "run.jsonl").read_bytes()


def test_the_tasks_annotation_is_the_one_that_a_baseline_learns_from(tmp_path):
    """The two versions cite different sentences, so that a model of the one answers otherwise."""
    corpus = tmp_path / "corpus"
    for version, cited in (("annv2", ["2"]), ("annv3", ["1"])):
        for topic in factories.TOPICS:
            citances = [
                (citing, marker, cited, facet) for citing, marker, _, facet in CITANCES
            ]
            written = write_topic(tmp_path / version, topic, citances, version)
            shutil.copytree(written, corpus / topic, dirs_exist_ok=True)
    task = factories.make_task(options={"annotation": "annv2"})
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=[corpus], reason="first release")
    run = computed(phase, SUPERVISED)
    offline_runs = {}
    for version in ("annv2", "annv3"):
        out = tmp_path / f"{version}.jsonl"
        command = ["baseline", SUPERVISED, "--gold", str(corpus), "--out", str(out)]
        assert offline.main([*command, "--option", f"annotation={version}"]) == 0
        offline_runs[version] = out.read_bytes()
    with storage.run_file_storage.open(run.file) as kept:
        assert kept.read() == offline_runs["annv2"] != offline_runs["annv3"]


def test_what_a_run_rests_on_here_stands_in_its_description(phase):
    run = asked_for(phase, SUPERVISED)
    assert "Its features" not in run.description
    worked_off(phase)
    run.refresh_from_db()
    assert run.description.endswith(
        describe_used_features(
            validate_option_values(SUPERVISED, SUPERVISED_OPTIONS, {})
        )
    )


def test_a_baseline_is_given_the_public_inputs_unless_it_says_that_it_learns_from_gold(
    phase, monkeypatch, tmp_path
):
    told = tmp_path / "note"
    put_in_place(
        monkeypatch,
        tmp_path,
        "print(__import__('json').dumps(arguments), file=note, flush=True)\nreturn real(arguments)",
    )
    plain, learns = asked_for(phase, ONE), asked_for(phase, SUPERVISED)
    gold = Gold.objects.get()
    for run in (plain, learns):
        score(run.jobs.get().pk)
    given = [json.loads(line) for line in told.read_text().splitlines()]
    given_to = {}
    for arguments in given:
        path = next(
            argument for argument in arguments if argument.startswith("--gold=")
        ).removeprefix("--gold=")
        given_to[arguments[1]] = Path(path).read_bytes()
    for name, stored in ((ONE, gold.public), (SUPERVISED, gold.file)):
        with storage.gold_file_storage.open(stored) as kept:
            assert given_to[name] == kept.read()
    learns.refresh_from_db()
    assert "from what other parts hold" in learns.description


@pytest.mark.both_databases
def test_asked_twice_it_is_computed_once(phase):
    first = computed(phase, ONE)
    assert [
        (each.submission.pk, each.is_new)
        for each in request_baselines(phase=phase, names=[ONE], by=None)
    ] == [(first.pk, False)]
    assert Submission.objects.count() == 1


@pytest.mark.both_databases
def test_another_gold_makes_it_anew_and_the_former_run_gives_way(phase):
    first = computed(phase, ONE)
    factories.make_gold(
        phase=phase,
        citances=(("D05-0001", "3", ["4"], "Aim_Citation"),),
        reason="A fix.",
    )
    second = computed(phase, ONE)
    first.refresh_from_db()
    assert (second.number, second.status) == (first.number + 1, "scored")
    assert (first.status, first.reason) == (
        "withdrawn",
        f"Replaced by run {second.number}.",
    )
    assert [row.submission for row in compute_board(phase, None).rows] == [second.pk]


def test_other_options_make_it_anew(phase):
    first = computed(phase, ONE)
    phase.task.options = {"over_limit": "refuse"}
    phase.task.save()
    assert asked_for(phase, ONE).pk != first.pk


def test_a_run_that_is_still_being_computed_is_not_scored_by_a_rescore(phase):
    run = asked_for(phase, ONE)
    assert queue_missing_scorings(phase) == []
    assert [job.kind for job in run.jobs.all()] == ["write"]


#: The sample of task 2 asks for summaries alone.
BY_CITANCES = {"clsumm-mq-summary-ranks", "clsumm-mq-summary-mmr"}
NO_CITANCES = "The baseline could not be computed: topic W01-0101 has no citances, which this system goes by."

#: From the few words of a sample these write nothing at all.
WITHOUT_WORDS = {"clsumm-mq-summary-tfidf-literal", "citation-text-textrank"}


def chosen_names(slug: str) -> list[str]:
    """The ends of the list and one that learns from gold, which are written differently; in full, all."""
    offered = [*find_baselines_of_task_type(task_type(slug)).values()]
    few = [
        offered[0],
        offered[-1],
        *[baseline for baseline in offered if baseline.learns_from_gold][:1],
    ]
    return list(dict.fromkeys(baseline.name for baseline in mass(few, offered)))


@pytest.mark.mass
@pytest.mark.parametrize(
    "slug",
    [
        slug
        for slug in task_types()
        if [*find_baselines_of_task_type(task_type(slug)).values()]
    ],
)
def test_the_baselines_of_every_type_are_computed_from_its_public_inputs_and_scored(
    slug,
):
    task = factories.make_task(type=slug, rules=[task_types()[slug].default_rule_set])
    phase = factories.make_phase(task=task, with_gold=False)
    module = importlib.import_module(f"tasks.types.{slug.replace('-', '_')}")
    sample = Path(module.__file__).parent / "sample" / "gold"
    paths = [sample] if sample.is_dir() else sorted(sample.parent.glob("gold.*"))
    load_gold(task=task, split=phase.split, paths=paths, reason="first release")
    request_baselines(phase=phase, names=chosen_names(slug), by=None)
    worked_off(phase)
    found = {run.system: (run.status, run.reason) for run in Submission.objects.all()}
    for name in BY_CITANCES & found.keys():
        assert found.pop(name) == ("failed", NO_CITANCES)
    for name in WITHOUT_WORDS & found.keys():
        state, reason = found.pop(name)
        assert (state, "the run answers no instance of the split" in reason) == (
            "failed",
            True,
        )
    if task.task_type.is_judged:
        # People or models have to judge these runs before they can be scored.
        assert {state for state, _ in found.values()} == {"waiting"}
    else:
        assert found == dict.fromkeys(found, ("scored", ""))
    assert found
    assert all(
        run.file for run in Submission.objects.filter(status__in=("scored", "waiting"))
    )


class TestFailing:
    def test_a_baseline_that_fails_says_why_and_can_be_asked_for_again(
        self, phase, monkeypatch, tmp_path
    ):
        with monkeypatch.context() as patched:
            put_in_place(patched, tmp_path, "raise KeyError('the answer')")
            run = computed(phase, ONE)
        assert run.status == "failed"
        assert (
            run.reason
            == "The baseline failed by a fault of its own; the log says what happened."
        )
        assert compute_board(phase, None).rows == []
        again = request_baselines(phase=phase, names=[ONE], by=None)
        assert [(each.submission.pk, each.is_new) for each in again] == [(run.pk, True)]
        worked_off(phase)
        run.refresh_from_db()
        assert run.status == "scored"

    def test_a_baseline_that_failed_can_be_begun_anew_from_its_page(
        self, phase, monkeypatch, tmp_path
    ):
        with monkeypatch.context() as patched:
            put_in_place(patched, tmp_path, "raise KeyError('the answer')")
            run = computed(phase, ONE)
        assert rescore_run(submission=run, by=None) == 1
        assert [job.kind for job in run.jobs.all()] == ["write"]
        worked_off(phase)
        run.refresh_from_db()
        assert run.status == "scored"

    def test_a_baseline_is_held_to_the_limits_of_a_scorer(
        self, phase, monkeypatch, tmp_path, settings
    ):
        settings.SCORING_TIMEOUT = 3
        put_in_place(monkeypatch, tmp_path, "time.sleep(600)")
        run = computed(phase, ONE)
        assert (run.status, run.reason) == (
            "failed",
            "Computing the baseline took more than 6 s.",
        )

    def test_a_run_that_cannot_be_scored_is_refused_with_its_first_problem(
        self, phase, monkeypatch, tmp_path
    ):
        put_in_place(
            monkeypatch,
            tmp_path,
            "out = next(each for each in arguments if each.startswith('--out='))[6:]\n"
            "open(out, 'w').write('no json' + chr(10))\n"
            "print('{}')\nreturn 0",
        )
        run = computed(phase, ONE)
        assert run.status == "failed"
        assert run.reason.startswith("The run that it computed cannot be scored: ")
        assert run.file == ""

    @pytest.mark.both_databases
    def test_a_worker_that_is_gone_is_followed_by_another(self, phase):
        run = asked_for(phase, ONE)
        job = engine.claim_job(run.jobs.get().pk, "a worker that is gone")
        assert engine.retry_or_fail_crashed(job, "gone")
        worked_off(phase)
        run.refresh_from_db()
        assert run.status == "scored"


class TestWhatCanBeAskedFor:
    def test_every_type_offers_the_baselines_whose_answers_are_runs_for_it(self, phase):
        assert ONE in list_baseline_names(phase)
        assert "clsumm-lead" not in list_baseline_names(phase)
        assert list_baseline_names(phase)[-1] == "human-line"

    def test_a_baseline_of_another_type_is_refused_by_name(self, phase):
        with pytest.raises(
            ActionRefused, match="“clsumm-lead” is no baseline of clsumm-1a, which has "
        ):
            request_baselines(phase=phase, names=["clsumm-lead"], by=None)
        with pytest.raises(ActionRefused, match="there is no baseline “tfidf”"):
            request_baselines(phase=phase, names=["tfidf"], by=None)
        assert not Submission.objects.exists()

    def test_without_gold_there_is_nothing_to_compute_from(self):
        phase = factories.make_phase(with_gold=False)
        with pytest.raises(ActionRefused, match="has no gold yet"):
            request_baselines(phase=phase, by=None)

    def test_asking_is_noted(self, phase):
        request_baselines(phase=phase, names=[ONE], by=None)
        request_baselines(phase=phase, names=[ONE], by=None)
        assert [each.action for each in AuditEntry.objects.all()] == ["baselines-asked"]


class TestCommand:
    def test_it_asks_for_all_baselines_of_a_season_and_once_more_for_none(self, phase):
        season, where = phase.task.season.slug, f"{phase.task.slug}/{phase.slug}"
        told = command(season)
        names = [name for name in list_baseline_names(phase) if name != "human-line"]
        assert told == [f"{where}: {name} queued" for name in names]
        assert command(season) == [f"{where}: {name} queued" for name in names]
        assert Submission.objects.count() == len(names)

    def test_it_takes_one_task_and_one_baseline(self, phase):
        other = factories.make_phase(
            task=factories.make_task(season=phase.task.season, type="clsumm-1b")
        )
        told = command(
            phase.task.season.slug, "--task", phase.task.slug, "--baseline", ONE
        )
        assert told == [f"{phase.task.slug}/{phase.slug}: {ONE} queued"]
        assert not other.submissions.exists()

    def test_what_it_does_not_know_it_says_with_what_there_is(self, phase):
        with pytest.raises(
            CommandError,
            match=f"there is no season “none”; there are {phase.task.season.slug}",
        ):
            command("none")
        with pytest.raises(
            CommandError, match="no baseline “none” of these tasks; there are clsumm-"
        ):
            command(phase.task.season.slug, "--baseline", "none")
        with pytest.raises(CommandError, match="has no phase with runs that fits"):
            command(phase.task.season.slug, "--task", "none")


@pytest.mark.slow
@pytest.mark.both_databases
def test_a_season_file_that_is_loaded_again_leaves_what_the_worker_computed(tmp_path):
    """It lists baselines of its own; those that are built in are not missing from it."""
    folder = EXAMPLES_FOLDER / "demo-season"
    shutil.unpack_archive(
        EXAMPLES_FOLDER / "demo-files.tar.xz", tmp_path, **SAFE_TAR_EXTRACTION_OPTIONS
    )
    season = load_season(folder, data=tmp_path).season
    run = asked_for(
        Phase.objects.get(task__season=season, task__slug="1a", slug="practice"), ONE
    )
    assert load_season(folder, data=tmp_path).changes == []
    run.refresh_from_db()
    assert run.status == "queued"


class TestPages:
    @pytest.fixture
    def organiser(self, phase, client):
        user = factories.make_user()
        Organiser.objects.create(season=phase.task.season, user=user)
        client.force_login(user)
        return user

    def test_an_organiser_has_one_baseline_computed_and_sees_what_became_of_it(
        self, phase, client, organiser
    ):
        season = phase.task.season.slug
        listed = reverse("organise-baselines", args=[season])
        before = client.get(listed).content.decode()
        assert "not computed" in before
        assert "the public inputs alone" in before
        assert "each part is answered from what other parts hold" in before
        compute = reverse("organise-baselines-compute", args=[season, phase.pk])
        assert client.post(compute, {"name": ONE}).status_code == 302
        assert "1 baseline queued" in client.get(listed).content.decode()
        worked_off(phase)
        run = Submission.objects.get()
        page = client.get(listed).content.decode()
        assert f'<a href="/submissions/{run.pk}/">{ONE}</a>' in page
        assert client.get(f"/submissions/{run.pk}/").status_code == 200

    def test_a_run_that_is_not_computed_yet_has_a_page_that_says_so_and_no_file(
        self, phase, client, organiser
    ):
        run = asked_for(phase, ONE)
        assert (
            "Waiting for a worker to compute the run."
            in client.get(f"/submissions/{run.pk}/").content.decode()
        )
        assert client.get(f"/submissions/{run.pk}/run/").status_code == 404

    def test_what_is_no_baseline_of_the_task_is_refused_in_words(
        self, phase, client, organiser
    ):
        compute = reverse(
            "organise-baselines-compute", args=[phase.task.season.slug, phase.pk]
        )
        page = client.post(
            compute, {"name": "clsumm-lead"}, follow=True
        ).content.decode()
        assert "“clsumm-lead” is no baseline of clsumm-1a" in page

    def test_a_phase_of_another_season_is_not_there(self, phase, client, organiser):
        other = factories.make_phase()
        compute = reverse(
            "organise-baselines-compute", args=[phase.task.season.slug, other.pk]
        )
        assert client.post(compute, {"name": ONE}).status_code == 404
        assert not Submission.objects.exists()

    def test_the_thresholds_of_one_system_are_a_chart_with_its_table(
        self, phase, client
    ):
        page = reverse(
            "thresholds", args=[phase.task.season.slug, phase.task.slug, phase.slug]
        )
        assert "will stand here once" in client.get(page).content.decode()
        for threshold in ("0.1", "0.01"):
            computed(phase, f"clsumm-umich-{threshold}")
        answer = client.get(page)
        sweeps = [sweep for sweep, _ in answer.context["sweeps"]]
        number, sweep = next(
            (place, own)
            for place, own in enumerate(sweeps, start=1)
            if own.name == "clair_umich's TF-IDF"
        )
        assert [at for at, _row in sweep.points] == [0.01, 0.1]
        assert sweep.missing == [0.05, 0.2, 0.3, 0.4, 0.5]
        drawn = answer.context["figures"][f"sweep-chart-{number}"].series[0]
        board = {row.system: row for row in compute_board(phase, None).rows}
        assert [point.y.value for point in drawn.points] == [
            board[f"clsumm-umich-{name}"].scores["overlap_f1_micro"].value
            for name in ("0.01", "0.1")
        ]
        assert "Not computed: 0.05" in answer.content.decode()

    def test_thresholds_are_hidden_where_the_board_is(self, phase, client):
        Phase.objects.filter(pk=phase.pk).update(board=Phase.Audience.RANKS)
        page = reverse(
            "thresholds", args=[phase.task.season.slug, phase.task.slug, phase.slug]
        )
        assert client.get(page).status_code == 404

    def test_a_task_without_a_threshold_has_no_such_page(self, client):
        phase = factories.make_phase(
            task=factories.make_task(type="clsumm-2"), with_gold=False
        )
        page = reverse(
            "thresholds", args=[phase.task.season.slug, phase.task.slug, phase.slug]
        )
        assert client.get(page).status_code == 404
