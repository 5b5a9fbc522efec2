"""A run under several rule sets in one process: read once, and each with an end of its own."""

import json
import textwrap

import pytest

from scoring import __main__ as program
from scoring.models import Evaluation
from tasks.jobs.work import take_jobs
from tasks.types import task_types
from tasks.types.problems import SoftwareUnavailable
from tests.factories import make_phase, make_submission, make_task
from tests.scoring.scorers import put_in_place
from tests.tasks.test_every_type import sample, sample_options

TYPES = list(task_types().values())
RULES = ("corrected", "official-2017")
ONE_A = next(kind for kind in TYPES if kind.slug == "clsumm-1a")
LACKING = """
from tasks.types.problems import SoftwareUnavailable
score_read = offline.scorer.score_parsed_run
def lacking(scoring, *given):
    if scoring.rules == {rules!r}:
        raise SoftwareUnavailable("no such model")
    return score_read(scoring, *given)
offline.scorer.score_parsed_run = lacking
return real(arguments)
"""


def scored(capsys, kind, *more: str, code: int = 0) -> list:
    gold, run, _ = sample(kind)
    words = [
        "score",
        kind.slug,
        "--gold",
        *map(str, gold),
        "--run",
        str(run),
        *sample_options(kind),
    ]
    assert program.main([*words, *more, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("kind", TYPES, ids=[kind.slug for kind in TYPES])
def test_a_list_has_what_is_printed_under_each(capsys, kind, tmp_path):
    several = [word for rules in kind.rules for word in ("--rules", rules)]
    kept = [
        word
        for rules in kind.rules
        for word in ("--statistics", f"{tmp_path}/{rules}.npz")
    ]
    alone = [scored(capsys, kind, "--rules", rules) for rules in kind.rules]
    assert scored(capsys, kind, *several, *kept) == (
        alone if len(alone) > 1 else alone[0]
    )
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(kind.rules)


def test_one_that_lacks_a_model_is_told_and_holds_nothing_back(capsys, monkeypatch):
    score_read = program.scorer.score_parsed_run

    def lacking(scoring, *given):
        if scoring.rules == "corrected":
            raise SoftwareUnavailable("no such model")
        return score_read(scoring, *given)

    monkeypatch.setattr(program.scorer, "score_parsed_run", lacking)
    given = [word for rules in RULES for word in ("--rules", rules)]
    gold, run, _ = sample(ONE_A)
    words = [
        "score",
        "clsumm-1a",
        "--gold",
        *map(str, gold),
        "--run",
        str(run),
        *given,
        "--json",
    ]
    assert program.main(words) == program.UNAVAILABLE_EXIT_CODE
    told = capsys.readouterr()
    assert [scores["rules"] for scores in json.loads(told.out)] == ["official-2017"]
    assert "corrected: no such model" in told.err


def test_a_file_for_each_rule_set_or_none(capsys):
    gold, run, _ = sample(ONE_A)
    words = ["score", "clsumm-1a", "--gold", *map(str, gold), "--run", str(run)]
    assert (
        program.main(
            [
                *words,
                "--rules",
                "corrected",
                "--rules",
                "official-2017",
                "--pending",
                "a",
            ]
        )
        == 2
    )
    assert "--pending is given 1 times and --rules 2 times" in capsys.readouterr().err


@pytest.mark.django_db
class TestOnTheSite:
    @pytest.fixture
    def run(self):
        return make_submission(phase=make_phase(task=make_task(rules=list(RULES))))

    @pytest.fixture
    def states(self, run):
        def read() -> dict[str, tuple[str, int]]:
            return {job.rules: (job.state, job.attempt) for job in run.jobs.all()}

        return read

    def test_one_process_scores_a_run_under_all_and_keeps_each_ones_statistics(
        self, run, states, monkeypatch, tmp_path
    ):
        put_in_place(
            monkeypatch,
            tmp_path,
            "print(os.getpid(), file=note)\nreturn real(arguments)",
        )
        take_jobs()
        assert states() == dict.fromkeys(RULES, ("done", 1))
        assert len((tmp_path / "note").read_text().split()) == 1
        evaluations = Evaluation.objects.filter(submission=run)
        assert len({evaluation.statistics for evaluation in evaluations}) == 2
        names = {
            name
            for row in evaluations
            for name in row.scores.values_list("shared__text", flat=True)
        }
        assert all(
            "|rules:corrected|" in name or "|rules:official-2017|" in name
            for name in names
        )

    def test_one_that_lacks_a_model_waits_alone(
        self, run, states, monkeypatch, tmp_path
    ):
        put_in_place(monkeypatch, tmp_path, LACKING.format(rules="corrected"))
        take_jobs()
        assert states() == {"corrected": ("waiting", 0), "official-2017": ("done", 1)}

    def test_one_that_takes_its_process_down_fails_alone(
        self, run, states, monkeypatch, tmp_path
    ):
        body = "if '--rules=corrected' in arguments: signal.raise_signal(signal.SIGKILL)\nreturn real(arguments)"  # noqa: E501
        put_in_place(monkeypatch, tmp_path, body)
        take_jobs()
        assert states() == {"corrected": ("failed", 3), "official-2017": ("done", 1)}

    def test_what_was_scored_before_the_process_ended_is_published(
        self, run, states, monkeypatch, tmp_path
    ):
        put_in_place(
            monkeypatch,
            tmp_path,
            "return scored(arguments, next_step=lambda: os.killpg(0, 9))",
        )
        take_jobs()
        assert states() == {"corrected": ("done", 1), "official-2017": ("done", 2)}
        assert run.evaluations.count() == 2

    def test_each_has_the_computing_time_that_a_scoring_may_take(
        self, run, states, monkeypatch, tmp_path, settings
    ):
        settings.SCORING_TIMEOUT = 20
        body = """
        import resource
        def limit(): print(*resource.getrlimit(resource.RLIMIT_CPU), file=note)
        def next_step():
            limit()
            how["next_step"]()
            limit()
        limit()
        return scored(arguments, next_step=next_step)
        """
        put_in_place(monkeypatch, tmp_path, textwrap.dedent(body))
        take_jobs()
        assert states() == dict.fromkeys(RULES, ("done", 1))
        lines = [
            tuple(map(int, line.split()))
            for line in (tmp_path / "note").read_text().splitlines()
        ]
        assert lines[:2] == [(20, 45), (20, 45)]
        assert 20 < lines[2][0] <= 45
