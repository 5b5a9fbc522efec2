import datetime as dt
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import combinations
from statistics import fmean

import numpy as np
from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_noop

from citeboard.core import audit, refusals
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.human.ratings import (
    find_adjudicated_ratings,
    find_disputed_texts,
    iterate_final_ratings,
    load_texts_of_sheet,
)
from scoring.human.states import close_sheet
from scoring.metrics.base import Floats, finite_or_none
from scoring.models import (
    HIGHEST_RATING,
    LOWEST_RATING,
    RATING_CRITERIA,
    Evaluation,
    HumanScore,
    Rating,
    Sheet,
)
from scoring.results.board import human_columns
from scoring.results.board.comparisons import UnreadableStatistics
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.comparison.paired_scores import load_classes_by_instance
from scoring.results.runs.results import ExplainedScore, split_signature_into_parts
from scoring.stats import (
    interval_methods,
    jackknife,
    people_and_labels as people,
    resampling,
)
from tasks.models import Phase, Submission
from tasks.models.seasons import increment_board_version


def compute_agreement_by_criterion(sheet: Sheet) -> "dict[str, AnnotatorAgreement]":
    first = sheet.annotators.filter(is_adjudicator=False)
    rows = Rating.objects.filter(annotator__in=first).order_by("annotator", "text")
    found = {}
    for criterion in RATING_CRITERIA:
        ratings: dict[str, dict[people.JudgedItem, int]] = {
            str(annotator): {} for annotator in first
        }
        for name, *text, value in rows.values_list(
            "annotator__name", "text__instance", "text", criterion
        ):
            ratings[name][tuple(text)] = value
        found[criterion] = compute_annotator_agreement(ratings)
    return found


def describe_unfinished_annotators(sheet: Sheet) -> list[str]:
    """Return the annotators whose ratings are incomplete, for example `Ada, who has
    rated 3 of 12`.
    """
    texts = load_texts_of_sheet(sheet).count()
    first = (
        sheet.annotators.filter(is_adjudicator=False)
        .annotate(rated=Count("ratings"))
        .order_by("pk")
    )
    words = _("%(name)s, who has rated %(rated)s of %(texts)s")
    waiting = [
        words % {"name": one, "rated": one.rated, "texts": texts}
        for one in first
        if one.rated < texts
    ]
    in_dispute = sum(
        len(find_disputed_texts(sheet, name))
        - len(find_adjudicated_ratings(sheet, name))
        for name in RATING_CRITERIA
    )
    if in_dispute:
        words = _("an adjudicator, who has %(ratings)s to decide")
        waiting.append(words % {"ratings": count_with_noun(in_dispute, "rating")})
    return waiting


def publish_ratings(*, sheet: Sheet, by: User, is_confirmed: bool = False) -> None:
    """Close a sheet of ratings and publish the sheet's results on the board. Raises
    Refused.

    If ``is_confirmed`` is True, the results are published although ratings are missing.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_published:
            raise refusals.ActionRefused(_("the sheet is published already"))
        if not Rating.objects.filter(
            annotator__sheet=locked, annotator__is_adjudicator=False
        ).exists():
            raise refusals.ActionRefused(
                _("nobody has rated anything on the sheet yet")
            )
        waiting = describe_unfinished_annotators(locked)
        if waiting and not is_confirmed:
            words = _(
                "the sheet waits for %(names)s; confirm that it is published without them"
            )
            raise refusals.ActionRefused(words % {"names": "; ".join(waiting)})
        locked.agreement = {
            name: {
                # Agreement is stored without the names of the annotators.
                "mean": finite_or_none(one.mean_kappa),
                "mean_interval": one.mean_interval,
                "alpha": finite_or_none(one.alpha),
                "alpha_interval": one.alpha_interval,
                "ac1": finite_or_none(one.ac1),
                "ac1_interval": one.ac1_interval,
                "pairs": [
                    {"texts": pair.texts, "kappa": finite_or_none(pair.kappa)}
                    for pair in one.pairs
                ],
                "adjudicated": len(find_adjudicated_ratings(locked, name)),
            }
            for name, one in compute_agreement_by_criterion(locked).items()
        }
        locked.published_at, locked.closed_at = timezone.now(), None
        locked.save(update_fields=["agreement", "published_at", "closed_at"])
        HumanScore.objects.bulk_create(_build_human_scores(locked))
        with audit.render_in_english():
            facts = (
                {"names": "; ".join(describe_unfinished_annotators(locked))}
                if waiting
                else {}
            )
        _record_in_history(
            locked,
            by,
            "sheet/published early" if waiting else "sheet/published",
            **facts,
        )


def unpublish_ratings(*, sheet: Sheet, by: User) -> None:
    """Remove the results of a sheet of ratings from the board. Annotators can rate
    texts again only after an organiser has reopened the sheet.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        close_sheet(locked)
        locked.scores.all().delete()
        locked.agreement = {}
        locked.save(update_fields=["agreement"])
        _record_in_history(locked, by, "sheet/removed")


def _record_in_history(sheet: Sheet, by: User, key: str, **facts: str) -> None:
    phase = sheet.phase
    increment_board_version(phase.pk)
    audit.record_action(
        key, actor=by, subject=phase, place=phase.task.season, facts=facts
    )


def _build_human_scores(sheet: Sheet) -> Iterator[HumanScore]:
    annotators = (
        sheet.annotators.filter(is_adjudicator=False, ratings__isnull=False)
        .distinct()
        .count()
    )
    for criterion in RATING_CRITERIA:
        facts = sheet.agreement[criterion]
        # Store the number of texts that the adjudicator decided with the results.
        distance = sheet.adjudicated_from
        adjudicated = (
            {"adjudicated_from": distance, "adjudicated": facts["adjudicated"]}
            if distance
            else {}
        )
        own = [
            (one.run, one.position - 1, one.value)
            for one in iterate_final_ratings(sheet, criterion)
        ]
        for run, mean in compute_mean_ratings_by_system(
            own, sheet.instances.count()
        ).items():
            parts = {
                **human_columns.build_rating_column_key_parts(sheet),
                "n": mean.n,
                "instances": sheet.instances.count(),
                "texts": load_texts_of_sheet(sheet).count(),
                "annotators": annotators,
                "kappa": human_columns.four_decimals_or_none(facts["mean"]),
                "alpha": human_columns.four_decimals_or_none(facts["alpha"]),
                **adjudicated,
                "seed": sheet.seed,
                "interval": interval_methods.WILSON_JACKKNIFE,
                "numpy": version("numpy"),
            }
            yield HumanScore(
                sheet=sheet,
                submission_id=run,
                criterion=criterion,
                value=mean.value,
                low=mean.interval[0] if mean.interval else None,
                high=mean.interval[1] if mean.interval else None,
                n=mean.n,
                signature=human_columns.join_column_key_parts(
                    f"human_{criterion}", parts
                ),
            )


RATING_LEVELS = range(LOWEST_RATING, HIGHEST_RATING + 1)
RATING_BOUNDS = (1.0, 5.0)
#: Smallest and largest possible difference between two ratings.
RATING_DIFFERENCE_RANGE = (-4.0, 4.0)

#: Ratings by annotator and then by text (an instance id and a text id).
RatingsByAnnotatorAndText = Mapping[str, Mapping[people.JudgedItem, int]]


@dataclass(frozen=True)
class AnnotatorPairAgreement:
    """The agreement of two annotators on the texts that both annotators have rated.

    ``kappa`` is NaN if the coefficient is undefined.
    """

    first: str
    second: str
    texts: int
    kappa: float
    interval: resampling.IntervalBounds | jackknife.NoIntervalReason


@dataclass(frozen=True)
class AnnotatorLeniency:
    """An annotator's mean deviation from the other annotators, over texts that the
    annotator and others have rated.
    """

    name: str
    texts: int
    value: float
    interval: resampling.IntervalBounds | jackknife.NoIntervalReason


@dataclass(frozen=True)
class AnnotatorAgreement:
    """The agreement of each pair of annotators, the mean kappa of the pairs, and the
    agreement of all annotators together.

    Undefined values are NaN. The confidence intervals use the jackknife over instances.
    """

    pairs: Sequence[AnnotatorPairAgreement]
    leniency: Sequence[AnnotatorLeniency]
    mean_kappa: float
    mean_interval: resampling.IntervalBounds | jackknife.NoIntervalReason
    alpha: float
    alpha_interval: resampling.IntervalBounds | jackknife.NoIntervalReason
    ac1: float
    ac1_interval: resampling.IntervalBounds | jackknife.NoIntervalReason


def compute_annotator_agreement(
    ratings: RatingsByAnnotatorAndText,
) -> AnnotatorAgreement:
    """Return the agreement of the annotators of a sheet on one criterion.

    Krippendorff's alpha treats ratings as ordinal, kappa with quadratic weights treats
    ratings as equally spaced, and Gwet's AC1 treats ratings as unordered labels.
    """
    by_text: defaultdict[people.JudgedItem, dict[str, int]] = defaultdict(dict)
    for name, rated in ratings.items():
        for text, rating in rated.items():
            by_text[text][name] = rating

    def compute_kappa_of_pair(
        pair: tuple[str, str], kept: Mapping[people.JudgedItem, Mapping[str, int]]
    ) -> float:
        first, second = pair
        both = [
            (one[first], one[second])
            for one in kept.values()
            if first in one and second in one
        ]
        return people.apply_kappa_to_pairs(people.compute_quadratic_kappa, both)

    def compute_mean_kappa(
        kept: Mapping[people.JudgedItem, Mapping[str, int]],
    ) -> float:
        return people.compute_mean_of_defined_values(
            compute_kappa_of_pair(pair, kept) for pair in combinations(ratings, 2)
        )

    def compute_krippendorff_alpha(
        kept: Mapping[people.JudgedItem, Mapping[str, int]],
    ) -> float:
        return people.compute_krippendorff_alpha(
            [list(one.values()) for one in kept.values()], "ordinal"
        )

    def compute_gwet_ac1(kept: Mapping[people.JudgedItem, Mapping[str, int]]) -> float:
        return people.compute_gwet_ac1(
            [list(one.values()) for one in kept.values()], RATING_LEVELS
        )

    def compute_mean_above_others(
        name: str, kept: Mapping[people.JudgedItem, Mapping[str, int]]
    ) -> float:
        others = (
            [value for other, value in one.items() if other != name]
            for one in kept.values()
        )
        return people.compute_mean_of_defined_values(
            one[name] - fmean(rest)
            for one, rest in zip(kept.values(), others, strict=True)
        )

    lenient = []
    for name in ratings:
        compared = {
            text: one for text, one in by_text.items() if name in one and len(one) > 1
        }
        own = partial(compute_mean_above_others, name)
        ends = people.compute_agreement_interval(compared, own, RATING_DIFFERENCE_RANGE)
        lenient.append(AnnotatorLeniency(name, len(compared), own(compared), ends))
    pairs = []
    for pair in combinations(ratings, 2):
        shared = {text: one for text, one in by_text.items() if one.keys() >= set(pair)}
        both = {text: [one[name] for name in pair] for text, one in shared.items()}
        has_levels = people.has_two_agreed_levels(both)
        ends = people.compute_agreement_interval(
            shared, partial(compute_kappa_of_pair, pair), is_carried=has_levels
        )
        pairs.append(
            AnnotatorPairAgreement(
                *pair, len(shared), compute_kappa_of_pair(pair, shared), ends
            )
        )
    has_levels = people.has_two_agreed_levels(
        {text: list(one.values()) for text, one in by_text.items()}
    )
    return AnnotatorAgreement(
        pairs=pairs,
        leniency=lenient,
        mean_kappa=compute_mean_kappa(by_text),
        mean_interval=people.compute_agreement_interval(
            by_text, compute_mean_kappa, is_carried=has_levels
        ),
        alpha=compute_krippendorff_alpha(by_text),
        alpha_interval=people.compute_agreement_interval(
            by_text, compute_krippendorff_alpha, is_carried=has_levels
        ),
        ac1=compute_gwet_ac1(by_text),
        ac1_interval=people.compute_agreement_interval(by_text, compute_gwet_ac1),
    )


@dataclass(frozen=True, kw_only=True)
class MeanRating:
    """The mean of the ``n`` ratings that a system received. ``interval`` is None if no
    confidence interval can be estimated.
    """

    value: float
    interval: resampling.IntervalBounds | None
    n: int


def compute_mean_ratings_by_system(
    rated: Sequence[tuple[int, int, int]], instances: int
) -> dict[int, MeanRating]:
    systems = list(dict.fromkeys(system for system, _, _ in rated))
    rows: Floats = np.zeros((instances, 2 * len(systems)))
    for system, instance, rating in rated:
        column = 2 * systems.index(system)
        rows[instance, column] += rating
        rows[instance, column + 1] += 1
    by_system = {}
    for place, system in enumerate(systems):
        # ``pair`` has two columns per instance, the sum and the number of the ratings.
        pair = rows[:, 2 * place : 2 * place + 2]
        total, count = pair.sum(axis=0)
        interval = jackknife.compute_ratio_interval(pair[pair[:, 1] > 0], RATING_BOUNDS)
        by_system[system] = MeanRating(
            value=float(total / count), interval=interval, n=int(count)
        )
    return by_system


def iterate_mean_ratings_by_class(
    sheet: Sheet, dimension: str
) -> Iterator[tuple[str, int, dict[str, dict[int, MeanRating]]]]:
    """For each class of instances, yield its name, its number of instances on the sheet
    of ratings, and the mean ratings by criterion and system.
    """
    classes: dict[str, tuple[str, ...]] = {}
    runs = Submission.objects.filter(sheet_texts__instance__sheet=sheet)
    for evaluation in Evaluation.objects.filter(submission__in=runs).order_by("-pk"):
        try:
            classes = load_classes_by_instance(evaluation, dimension)
            break
        except UnreadableStatistics:
            continue
    places: dict[str, dict[str, int]] = defaultdict(dict)
    for name in sheet.instances.order_by("position").values_list("name", flat=True):
        for label in classes.get(name, ()):
            places[label][name] = len(places[label])
    if len(places) < 2:
        return
    ratings = {
        criterion: list(iterate_final_ratings(sheet, criterion))
        for criterion in RATING_CRITERIA
    }
    for label, numbers in places.items():
        by_criterion = {}
        for criterion, group in ratings.items():
            rated = [
                (one.run, numbers[one.instance], one.value)
                for one in group
                if one.instance in numbers
            ]
            by_criterion[criterion] = compute_mean_ratings_by_system(
                rated, len(numbers)
            )
        yield label, len(numbers), by_criterion


#: Word that replaces the name of a rule set in column names of scores by people.
HUMAN_SCORES_SECTION = "human"
#: Descriptions of the criteria by which annotators rate whole responses.
RATING_DESCRIPTIONS_BY_CRITERION = {
    "utility": gettext_noop(
        "Annotators say how useful the response is to whoever asked."
    ),
    "citation_utility": gettext_noop(
        "Annotators say whether its citations are of use: 1 if they are, 0 if not."
    ),
}


def load_published_ratings_of_run(
    phase: Phase, run: Submission, at: dt.datetime | None = None
) -> list[tuple[str, tuple[ExplainedScore, ...]]]:
    """Return the published mean ratings of a run, as one section of a page.

    The list is empty if no sheet of ratings is published and no judgements of the run
    are published.
    """
    sheet = human_columns.find_newest_published_rating_sheet(phase, at)
    scores: dict[str, ExplainedScore] = {}
    for score in (
        HumanScore.objects.filter(sheet=sheet, submission=run) if sheet else ()
    ):
        assert sheet is not None
        facts = {
            "lowest": LOWEST_RATING,
            "highest": HIGHEST_RATING,
            "question": sheet.question(score.criterion),
        }
        definition = _(
            "People's judgement: the mean of %(ratings)s ratings from %(lowest)s to %(highest)s of sampled "
            "texts, which did not say whose they are. Asked was: %(question)s"
        ) % {**facts, "ratings": score.n}
        numbered = enumerate(sheet.levels(score.criterion), start=LOWEST_RATING)
        if levels := "; ".join(f"{level}: {words}" for level, words in numbered):
            definition += " " + _("The levels: %(levels)s.") % {"levels": levels}
        scores[score.criterion] = _explain_human_score(
            score, human_columns.RATING_COLUMN_SCALE, definition
        )
    judged = human_columns.find_published_judged_runs(phase, at).filter(submission=run)
    for score in (
        HumanScore.objects.filter(judged__in=judged)
        if phase.task.task_type.has_claims
        else ()
    ):
        lowest, *_others, highest = people.LEVELS_BY_RATING[score.criterion]
        facts = {
            "lowest": lowest,
            "highest": highest,
            "what": _(RATING_DESCRIPTIONS_BY_CRITERION[score.criterion]),
        }
        definition = _(
            "People's judgement: a response has the mean of its ratings, from %(lowest)s to %(highest)s, and "
            "this is the mean over %(responses)s. %(what)s"
        ) % {**facts, "responses": count_with_noun(score.n, "response")}
        scores[score.criterion] = _explain_human_score(
            score, float(highest), definition
        )
    numbers = tuple(
        scores[name]
        for name in (*RATING_CRITERIA, *people.LEVELS_BY_RATING)
        if name in scores
    )
    return [(HUMAN_SCORES_SECTION, numbers)] if numbers else []


def _explain_human_score(
    score: HumanScore, scale: float, definition: str
) -> ExplainedScore:
    metric = f"human_{score.criterion}"
    return ExplainedScore(
        id=-score.pk,
        metric=metric,
        label=display_name_of_metric(metric),
        value=format_score(score.value, scale),
        withheld="",
        interval=format_interval(score.low, score.high, scale),
        n=score.n,
        is_percentage=False,
        upward=_("higher is better"),
        definition=definition,
        citation="",
        signature=score.signature,
        parts=split_signature_into_parts(score.signature),
        command="",
    )
