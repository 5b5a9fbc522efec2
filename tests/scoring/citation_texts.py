"""Phases of citation text generation and runs that were really scored, as small as they can be."""

from pathlib import Path

from tasks.gold.gold_files import load_gold
from tasks.models import Phase, Submission
from tests import factories
from tests.api.sending import score
from tests.scoring.discourse import intents, write_gold, write_run

#: The gold of two data sets: of four sentences three, of two one are of the intent Uses.
GOLD = {
    "lu": [intents("Uses", "Uses", "Uses", "Background")],
    "xing": [intents("Background", "Uses")],
}
RUN = {"lu": [intents("Uses", "Background")], "xing": [intents("Background")]}


def make_phase(
    folder: Path,
    *,
    organiser=None,
    gold=GOLD,
    rules="corrected",
    options=None,
    **fields,
) -> Phase:
    """A phase of the task type with gold whose sentences bring their labels along."""
    task = factories.make_task(
        season=factories.make_season(organiser=organiser),
        type="citation-text",
        rules=[rules],
        options=options or {},
    )
    phase = factories.make_phase(task=task, with_gold=False, **fields)
    load_gold(
        task=task,
        split=phase.split,
        paths=write_gold(folder / "gold", gold),
        reason="for tests",
    )
    return phase


def make_run(
    phase: Phase,
    folder: Path,
    labels=RUN,
    text: str = "We use the parser of [0] here.",
    **fields,
) -> Submission:
    """A scored run with labels of its own."""
    content = write_run(folder / "run.jsonl", labels, text).read_bytes()
    run = factories.make_submission(phase=phase, content=content, **fields)
    score(run)
    run.refresh_from_db()
    return run
