"""Sheets of texts made by hand, and ratings of them."""

from collections.abc import Mapping, Sequence

from django.core.files.base import ContentFile

from citeboard.core import storage
from citeboard.teams.models import User
from scoring.models import (
    Annotator,
    EstimateSheet,
    Rating,
    Sheet,
    SheetInstance,
    SheetPair,
    SheetText,
)
from tasks.models import Gold, Phase, Submission


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


def make_pairs(
    phase: Phase,
    pairs: Sequence[tuple[str, Submission, Submission]],
    *,
    judges: Sequence[User | str] = (),
) -> Sheet:
    """Create a sheet of pairs from triples: instance, run on the left, run on the right."""
    sheet = Sheet.objects.create(phase=phase, kind=Sheet.Kind.PAIRS, seed=0)
    for position, (name, left, right) in enumerate(pairs, start=1):
        instance, _ = SheetInstance.objects.get_or_create(
            sheet=sheet,
            name=name,
            defaults={"position": position, "sources": [["Topic", f"About {name}."]]},
        )
        texts = [_text(instance, run) for run in (left, right)]
        SheetPair.objects.create(
            instance=instance, position=position, left=texts[0], right=texts[1]
        )
    for judge in judges:
        is_name = isinstance(judge, str)
        Annotator.objects.create(
            sheet=sheet, name=str(judge), user=None if is_name else judge
        )
    return sheet


def _text(instance: SheetInstance, run: Submission) -> SheetText:
    place = instance.texts.count() + 1
    facts = {
        "position": place,
        "code": f"pair{instance.pk}x{place}",
        "text": f"Text {place} of {instance.name}.",
    }
    text, _ = SheetText.objects.get_or_create(
        instance=instance, submission=run, defaults=facts
    )
    return text


def make_estimates(phase: Phase, runs: Sequence[Submission]) -> EstimateSheet:
    """Create a sheet of samples without labels, whatever the phase's scores rest on."""
    gold = Gold.objects.current(phase)
    assert gold is not None
    return EstimateSheet.objects.create(
        phase=phase,
        of=EstimateSheet.UnitKind.CITATIONS,
        labels=20,
        seed="0",
        gold=gold,
        rules=phase.task.rules[0],
        runs=[run.pk for run in runs],
        judgements=1,
        file=storage.statistics_file_storage.save("sheet.jsonl", ContentFile(b"{}\n")),
    )
