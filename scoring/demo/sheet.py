"""A human evaluation in the demo: two annotators who rate texts as good as their systems are."""

from __future__ import annotations

from citeboard.teams.models import User
from scoring.human.annotators import add_name
from scoring.human.outcome import publish
from scoring.human.ratings import Given, save_ratings, texts_of
from scoring.human.sheets import make_sheet
from scoring.models import HIGHEST, LOWEST, SheetText
from scoring.tools.demo.papers import chance
from scoring.tools.demo.systems import SYSTEMS
from tasks.models import Phase, Season, Submission

TASK, PHASE = "citation-texts", "practice"
INSTANCES = 12
#: By annotator how far above or below the others they rate.
ANNOTATORS = {"Annotator A": 0.2, "Annotator B": -0.3}


def publish_ratings(season: Season, organiser: User) -> None:
    phase = Phase.objects.select_related("task__season").get(task__season=season, task__slug=TASK, slug=PHASE)
    runs = list(phase.submissions.filter(kind=Submission.Kind.PRIMARY).order_by("pk"))
    sheet = make_sheet(phase=phase, runs=runs, instances=INSTANCES, seed=0, by=organiser)
    qualities = {system.name: system.quality for system in SYSTEMS[TASK]}
    texts = list(texts_of(sheet).select_related("submission", "instance"))
    for name, bias in ANNOTATORS.items():
        given = [
            Given(text.code, _values(text, name, qualities[text.submission.system], bias)) for text in texts
        ]
        save_ratings(annotator=add_name(sheet=sheet, name=name), given=given)
    publish(sheet=sheet, by=organiser)


def _values(text: SheetText, annotator: str, quality: float, bias: float) -> dict[str, int]:
    drawn = chance(annotator, text.submission.system, text.instance.name)
    return {
        "readability": _rating(3.4 + quality + bias + drawn.gauss(0, 0.6)),
        "consistency": _rating(1.6 + 3 * quality + bias + drawn.gauss(0, 0.7)),
    }


def _rating(value: float) -> int:
    return min(HIGHEST, max(LOWEST, round(value)))
