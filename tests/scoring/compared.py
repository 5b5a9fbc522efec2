"""Boards of runs that were really scored, on so many topics that differences can be significant."""

from scoring.models import BoardOrder
from scoring.results.board import comparison_state
from tasks.jobs.work import claim_and_do_job_by_id
from tasks.models import Phase, Submission
from tests import factories
from tests.api.sending import score

TOPICS = tuple(f"D01-{number:04d}" for number in range(1, 11))


def make_phase(**fields) -> Phase:
    task = fields.pop("task", None) or factories.make_task(rules=["corrected"])
    topics = fields.pop("topics", TOPICS)
    phase = factories.make_phase(task=task, with_gold=False, **fields)
    factories.make_gold(phase=phase, topics=topics)
    return phase


def run_content(right: int, wrong: str = "4", topics=TOPICS) -> bytes:
    """Every citance of so many topics answered as the gold has it; elsewhere the sentence ``wrong``."""
    lines = []
    for place, topic in enumerate(topics):
        for citing, marker, sentences, _ in factories.CITANCES:
            given = sentences if place < right else [wrong]
            lines.append(
                {
                    "topic": topic,
                    "citing": citing,
                    "marker": marker,
                    "sentences": list(given),
                }
            )
    return factories.run_bytes(lines)


def scored(
    phase: Phase, right: int, *, team=None, wrong: str = "4", topics=TOPICS, **fields
) -> Submission:
    team = team or factories.make_team(season=phase.task.season)
    run = factories.make_submission(
        phase=phase, team=team, content=run_content(right, wrong, topics), **fields
    )
    score(run)
    return run


def make_pair() -> tuple[Phase, tuple[Submission, ...]]:
    phase = make_phase()
    return phase, (scored(phase, 9, system="Better"), scored(phase, 3, system="Worse"))


def compare(phase: Phase, rules: str = "corrected") -> None:
    """What the queue does for a board once it is asked, and again where the machine is slow."""
    comparison_state.queue_board_comparison(phase.pk, rules)
    job = BoardOrder.objects.get(phase=phase, rules=rules).job
    while job.state == "queued":
        claim_and_do_job_by_id(job.pk)
        job.refresh_from_db()
    phase.refresh_from_db()
