"""When what is known of gold is free: the table of the presets and the demo, and content in two places."""

import datetime as dt
import json
import tomllib

import pytest
from django.conf import settings
from django.utils import timezone

from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.instants import ENDLESS_PHASE_END
from tasks.gold.content import compute_missing_gold_digests
from tasks.gold.early import EmbargoBreach, confirm_disclosure
from tasks.gold.gold_files import load_gold
from tasks.gold.secrecy import (
    NEVER_ENDING_EMBARGO,
    ContentKind,
    are_own_scores_visible_to_teams,
    get_embargoes_of_phase,
)
from tasks.models import Gold, GoldContent, GoldOverlap, Phase, Season
from tasks.seasons.presets import PRESETS_BY_SLUG, create_season_from_preset
from tests import factories

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)
#: By preset and phase: from which of its dates on the inputs, a team's own scores, scores by class, the
#: scores of all, single instances and the gold are free.
TABLE = {
    ("semeval", "practice"): ("opens", "opens", "opens", "opens", "opens", "never"),
    ("semeval", "evaluation"): (
        "evaluation",
        "closes",
        "closes",
        "closes",
        "never",
        "never",
    ),
    ("semeval", "post-evaluation"): (
        "evaluation",
        "closes",
        "closes",
        "closes",
        "never",
        "never",
    ),
    ("trec", "runs"): ("inputs", "closes", "closes", "closes", "never", "never"),
    ("open", "leaderboard"): ("opens", "opens", "opens", "opens", "never", "never"),
}


def free_from(phase: Phase) -> dict[ContentKind, dt.datetime | None]:
    return {
        kind: get_embargoes_of_phase(Phase.objects.get(pk=phase.pk)).free_from(kind)
        for kind in ContentKind
    }


def made(slug: str) -> tuple[list[Phase], dict[str, dt.datetime]]:
    preset = PRESETS_BY_SLUG[slug]
    dates = {
        name: f"{2090 + place}-01-01 00:00" for place, name in enumerate(preset.dates)
    }
    season = create_season_from_preset(
        preset=preset, title="Ours", slug="ours", task_type="clsumm-1a", time_zone="UTC", dates=dates,
        by=factories.make_user(is_staff=True),
    )  # fmt: skip
    instants = {
        name: dt.datetime(2090 + place, 1, 1, tzinfo=dt.UTC)
        for place, name in enumerate(dates)
    }
    return list(season.tasks.get().phases.all()), {
        **instants,
        "never": NEVER_ENDING_EMBARGO,
    }


def test_every_phase_of_every_preset_is_in_the_table():
    assert set(TABLE) == {
        (slug, plan.slug)
        for slug, preset in PRESETS_BY_SLUG.items()
        for plan in preset.phases
    }


@pytest.mark.parametrize("slug", PRESETS_BY_SLUG)
def test_each_kind_is_free_when_the_table_says(slug):
    phases, dates = made(slug)
    for phase in phases:
        expected = dict(
            zip(
                ContentKind,
                (dates[name] for name in TABLE[slug, phase.slug]),
                strict=True,
            )
        )
        assert free_from(phase) == expected, phase.slug


def test_own_scores_of_an_evaluation_are_free_in_it_where_its_setting_says_so():
    phases, dates = made("semeval")
    Phase.objects.filter(slug="evaluation").update(own_scores="scores")
    free = free_from(phases[1])
    assert (free[ContentKind.OWN], free[ContentKind.OTHERS]) == (
        dates["evaluation"],
        dates["closes"],
    )


def test_nothing_of_the_demo_is_kept_back_but_what_its_evaluations_ask():
    values = tomllib.loads(
        (settings.BASE_DIR / "examples/demo-season/season.toml").read_text()
    )
    for task in values["tasks"]:
        row = factories.make_task(type=task["type"])
        for phase in task["phases"]:
            names = ("board", "shows_instances")
            facts = {name: phase[name] for name in names if name in phase}
            zone = {
                "opens": phase["opens"],
                "closes": phase.get("closes", ENDLESS_PHASE_END),
            }
            moments = {
                name: at if at.tzinfo else at.replace(tzinfo=dt.UTC)
                for name, at in zone.items()
            }
            is_public = phase.get("gold_public", False)
            has_gold = row.type in ("clsumm-1a", "clsumm-1b")
            at = {
                "split": phase["split"],
                "title": phase["title"],
                "gold_is_public": is_public,
            }
            made = factories.make_phase(
                task=row, with_gold=False, **at, **facts, **moments
            )
            if has_gold:
                factories.make_gold(phase=made, topics=[f"D01-{made.pk:04}"])
    for phase in Phase.objects.all():
        free = free_from(phase)
        kept_back = (
            {ContentKind.GOLD, ContentKind.INSTANCES}
            if phase.title == "Evaluation"
            else set()
        )
        assert {kind for kind, at in free.items() if at} == kept_back, phase.task.type


@pytest.mark.both_databases
class TestContentInSeveralPlaces:
    @pytest.fixture
    def hidden(self) -> Phase:
        return factories.make_phase(board="organisers", title="Test")

    def elsewhere(self, **fields) -> Phase:
        return factories.make_phase(split="practice", shows_instances=True, **fields)

    def test_a_single_instance_in_common_is_enough(self, hidden):
        practice = self.elsewhere(with_gold=False)
        factories.make_gold(phase=practice, topics=["D01-0001", "X00-0001"])
        overlap = GoldOverlap.objects.get(gold__task=practice.task)
        assert (overlap.same, overlap.held, overlap.alike) == (2, 2, 0)
        assert free_from(practice)[ContentKind.OTHERS] == hidden.closes
        assert not are_own_scores_visible_to_teams(Phase.objects.get(pk=practice.pk))
        Phase.objects.filter(pk=hidden.pk).update(closes=timezone.now() - HOUR)
        assert free_from(practice)[ContentKind.OTHERS] is None

    def test_the_same_text_with_another_label_is_told_and_not_equated(self, hidden):
        practice = self.elsewhere(with_gold=False)
        other = [
            ["D05-0001", "3", ["4"], "Aim_Citation"],
            ["D05-0002", "7", ["4"], "Aim_Citation"],
        ]
        factories.make_gold(phase=practice, citances=other)
        overlap = GoldOverlap.objects.get(gold__task=practice.task)
        assert (overlap.same, overlap.alike) == (0, 4)
        assert free_from(practice)[ContentKind.OTHERS] is None

    def test_case_spaces_and_names_of_instances_make_no_other_content(self, tmp_path):
        golds = []
        for number, (name, text) in enumerate(
            (("s1", "We follow Smith ."), ("x", "we  FOLLOW\tSmith ."))
        ):
            file = tmp_path / f"{number}.json"
            question = {"question_id": name, "question": text, "docs": [{"title": "T", "text": "A text."}],
                        "answer": "Yes."}  # fmt: skip
            file.write_text(json.dumps([question]))
            phase = factories.make_phase(
                task=factories.make_task(type="positional-citations"), with_gold=False
            )
            golds += [
                load_gold(task=phase.task, split="test", paths=[file], reason="new")[0]
            ]
        assert GoldOverlap.objects.get(gold=golds[0], other=golds[1]).same == 1

    def test_what_a_file_holds_beside_what_is_scored_keeps_its_gold_back_and_no_number(
        self, hidden, tmp_path
    ):
        corpus = factories.write_corpus(tmp_path / "corpus")
        for topic in factories.TOPICS:
            (corpus / topic / "summary").mkdir()
            (corpus / topic / "summary" / f"{topic}.abstract.txt").write_text(
                "We count words."
            )
        task = factories.make_task(type="clsumm-2", rules=["corrected"])
        summaries = factories.make_phase(
            task=task, with_gold=False, shows_instances=True, gold_is_public=True
        )
        with pytest.raises(EmbargoBreach, match="which another season withholds"):
            load_gold(task=task, split="test", paths=[corpus], reason="new")
        with confirm_disclosure(task.title, "Its gold stays back all the same."):
            load_gold(task=task, split="test", paths=[corpus], reason="new")
        Phase.objects.filter(pk=summaries.pk).update(let_out=[])
        free = free_from(summaries)
        assert (
            free[ContentKind.OTHERS],
            free[ContentKind.INSTANCES],
            free[ContentKind.GOLD],
        ) == (
            None,
            None,
            hidden.closes,
        )

    def test_gold_of_an_earlier_release_is_read_by_a_sweep(self, hidden):
        practice = self.elsewhere()
        GoldContent.objects.all().delete()
        GoldOverlap.objects.all().delete()
        assert free_from(practice)[ContentKind.OTHERS] is None
        assert (compute_missing_gold_digests(), compute_missing_gold_digests()) == (
            2,
            0,
        )
        assert free_from(practice)[ContentKind.OTHERS] == hidden.closes

    def test_gold_whose_first_reading_exceeds_a_limit_is_read_again(
        self, hidden, monkeypatch
    ):
        before = bytes(GoldContent.objects.get().digests)
        GoldContent.objects.all().delete()
        refusals = [UploadUnreadable("it took more than 1 s")]

        def read_when_quiet(*values, **options):
            if refusals:
                raise refusals.pop()
            return read_upload(*values, **options)

        monkeypatch.setattr("tasks.gold.content.read_upload", read_when_quiet)
        assert compute_missing_gold_digests() == 1
        assert bytes(GoldContent.objects.get().digests) == before

    def test_a_busy_machine_has_ten_times_the_computing_time_to_read_gold(
        self, hidden, monkeypatch
    ):
        GoldContent.objects.all().delete()
        given = []

        def read_within(*values, limits, **options):
            given.append(limits.wall_seconds / limits.cpu_seconds)
            return read_upload(*values, limits=limits, **options)

        monkeypatch.setattr("tasks.gold.content.read_upload", read_within)
        assert compute_missing_gold_digests() == 1
        assert given == [10]

    def test_digests_that_the_database_keeps_follow_from_a_key_that_it_has_not(
        self, hidden, settings
    ):
        before = bytes(GoldContent.objects.get().digests)
        settings.SECRET_KEY = "another key " * 6
        assert compute_missing_gold_digests() == 1
        assert bytes(GoldContent.objects.get().digests) != before

    def test_while_gold_is_read_anew_under_another_key_what_was_known_of_it_holds(
        self, hidden, settings
    ):
        practice = self.elsewhere()
        settings.SECRET_KEY = "another key " * 6
        for _ in range(2):
            assert compute_missing_gold_digests(most=1) == 1
            assert free_from(practice)[ContentKind.OTHERS] == hidden.closes

    def test_the_largest_smallest_class_holds_wherever_the_content_is(self, hidden):
        practice = self.elsewhere()
        assert get_embargoes_of_phase(practice).min_class_size == 1
        hidden.task.min_class_size = 9
        hidden.task.save()
        assert (
            get_embargoes_of_phase(Phase.objects.get(pk=practice.pk)).min_class_size
            == 9
        )

    def test_inputs_are_released_when_the_last_split_that_holds_them_releases_them(
        self, hidden
    ):
        practice = self.elsewhere()
        opens = timezone.now() + 3 * HOUR
        Phase.objects.filter(pk=hidden.pk).update(opens=opens, inputs_from=None)
        assert free_from(practice)[ContentKind.INPUTS] == opens


def test_a_season_in_a_draft_keeps_its_content_back_too():
    hidden = factories.make_phase(board="organisers")
    Season.objects.update(is_public=False)
    practice = factories.make_phase(split="practice")
    assert Gold.objects.count() == 2
    assert free_from(practice)[ContentKind.OTHERS] == hidden.closes
