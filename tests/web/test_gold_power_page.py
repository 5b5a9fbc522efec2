"""The organisers' page of the gold says how small a difference it can show."""

import re

import pytest
from django.urls import reverse

from citeboard.core import storage
from scoring.metrics import build_metrics
from scoring.models import Evaluation
from scoring.offline.compare import align_two_runs
from scoring.results.board.comparisons import (
    estimate_power_on_gold,
    read_statistics_of_run,
)
from scoring.results.board.formatting import display_name_of_metric
from scoring.stats.significance import (
    compute_detectable_difference,
    compute_difference_error,
    compute_needed_units,
    power,
)
from tasks.models import Organiser, Phase
from tests import factories
from tests.scoring.compared import TOPICS, make_phase, scored
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

LABEL = display_name_of_metric("overlap_f1_micro")
UNKNOWN = "is known once two runs, such as baselines, have been scored on it"


def page(client, phase) -> str:
    organiser = factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=organiser)
    client.force_login(organiser)
    return text_of(client.get(reverse("organise-gold", args=[phase.task.season.slug])))


def test_it_is_not_known_before_two_runs_were_scored(client):
    phase = make_phase()
    assert UNKNOWN in page(client, phase)
    scored(phase, 7)
    assert UNKNOWN in page(client, phase)


def test_the_difference_is_that_of_the_error_between_the_runs(client):
    phase = make_phase()
    runs = [scored(phase, right) for right in (3, 8)]
    a, b = (read_statistics_of_run(run.evaluations.get()) for run in runs)
    task = phase.task
    metric = build_metrics(
        task.task_type, task.ranking_rules, task.task_type.validate_options({})
    )[0]
    smallest = compute_detectable_difference(
        compute_difference_error(align_two_runs(metric, a, b)), 10
    )
    told = page(client, phase)
    assert UNKNOWN not in told
    assert (
        f"With a chance of 80 %, 10 topics show a difference in {LABEL} of {smallest:.4f}"
        in told
    )
    assert "(from the differences between 2 runs)" in told
    assert re.search(r"20 one of 0\.\d{4} and 40 one of 0\.\d{4}", told)


def test_with_four_topics_it_says_that_none_can_be_shown_and_what_more_would(client):
    phase = make_phase(topics=TOPICS[:4])
    for right in (1, 3):
        scored(phase, right, topics=TOPICS[:4])
    told = page(client, phase)
    assert "4 topics cannot show that two systems differ at 5 %." in told
    assert f"With a chance of 80 %, 8 topics show a difference in {LABEL} of 0." in told


def test_matrices_that_are_gone_leave_it_unknown(client):
    phase = make_phase()
    for right in (3, 8):
        scored(phase, right)
    for evaluation in Evaluation.objects.all():
        storage.statistics_file_storage.delete(evaluation.statistics)
    assert estimate_power_on_gold(phase.task.gold.get()) is None
    assert UNKNOWN in page(client, phase)


def planned(client, season, **asked) -> str:
    organiser = factories.make_user()
    Organiser.objects.create(season=season, user=organiser)
    client.force_login(organiser)
    return text_of(client.get(reverse("organise-power", args=[season.slug]), asked))


def test_organisers_choose_differences_and_see_the_chance_of_each_by_the_size_of_the_test_set(
    client,
):
    phase = make_phase()
    a, b = (
        read_statistics_of_run(scored(phase, right).evaluations.get())
        for right in (3, 8)
    )
    task = phase.task
    metric = build_metrics(
        task.task_type, task.ranking_rules, task.task_type.validate_options({})
    )[0]
    error = compute_difference_error(align_two_runs(metric, a, b))
    source = f"gold-{task.gold.get().pk}"
    told = planned(client, task.season, source=source, effects="0.2 0.1", systems="3")
    chances = [
        power(effect, error, 10, at_units=20, comparisons=2) for effect in (0.1, 0.2)
    ]
    assert "20 topics {:.0f} % {:.0f} %".format(*(100 * own for own in chances)) in told
    needed = [
        compute_needed_units(effect, error, 10, comparisons=2) for effect in (0.1, 0.2)
    ]
    assert "Units for a chance of 80 % {} {}".format(*needed) in told
    assert "Chance that a difference is found, by the size of the test set" in told
    assert "These are no numbers" in planned(
        client, task.season, source=source, effects="0.1, 0.2"
    )
    assert "each above 0" in planned(client, task.season, source=source, effects="-1")


def test_a_new_season_learns_from_public_boards_and_from_no_others(client):
    phase = make_phase()
    for right in (3, 8):
        scored(phase, right)
    new, source = factories.make_season(), f"board-{phase.pk}"
    assert "From the differences between 2 runs over 10 topics" in planned(
        client, new, source=source
    )
    Phase.objects.update(board="organisers")
    assert "is not one of the available choices" in planned(client, new, source=source)
