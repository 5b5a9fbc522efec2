"""Sheets of texts made by hand, and ratings of them."""

from collections.abc import Mapping, Sequence

from citeboard.teams.models import User
from scoring.models import Annotator, Rating, Sheet, SheetInstance, SheetText
from tasks.models import Phase, Submission


def make_sheet(
    phase: Phase,
    texts: Mapping[str, Mapping[Submission, str]],
    *,
    annotators: Sequence[User | str] = (),
) -> Sheet:
    """By instance the text of each run; annotators are people who sign in, or names."""
    sheet = Sheet.objects.create(phase=phase, seed=0)
    for position, (name, own) in enumerate(texts.items(), start=1):
        instance = SheetInstance.objects.create(
            sheet=sheet,
            position=position,
            name=name,
            sources=[["Cited paper [0]", "An abstract."]],
        )
        for place, (run, text) in enumerate(own.items(), start=1):
            code = f"code{'abcdefghij'[position]}{'abcdefghij'[place]}{sheet.pk}"
            SheetText.objects.create(
                instance=instance, position=place, code=code, submission=run, text=text
            )
    for annotator in annotators:
        is_name = isinstance(annotator, str)
        Annotator.objects.create(
            sheet=sheet, name=str(annotator), user=None if is_name else annotator
        )
    return sheet


def rate(
    sheet: Sheet, name: str, values: Mapping[tuple[str, Submission], tuple[int, int]]
) -> None:
    """Readability and consistency by instance and run."""
    annotator, _ = Annotator.objects.get_or_create(sheet=sheet, name=name)
    for (instance, run), (readability, consistency) in values.items():
        text = SheetText.objects.get(
            instance__sheet=sheet, instance__name=instance, submission=run
        )
        Rating.objects.create(
            annotator=annotator,
            text=text,
            readability=readability,
            consistency=consistency,
        )
