"""A task for judges of systems, in which metrics compare each judge's leaderboard of
systems with the true leaderboard.
"""

from types import SimpleNamespace

from tasks.types.base import CORRECTED, LINES_VIEW, Option, TaskType
from tasks.types.files import IGNORED_FILE_NAMES, NONCE_FILE_NAME
from tasks.types.references import make_lazy_function, make_metric_ref
from tasks.types.run_forms import (
    RunFormatSignature,
    begins_like_json,
    split_nonempty_first_lines,
)

TRIVIAL_RUNS_MODULE = "tasks.types.judge_leaderboards.trivial"
LEADERBOARDS_MODULE = "tasks.types.judge_leaderboards.leaderboards"
SYSTEM_CORRELATION_CLASS = "leaderboards:LeaderboardCorrelation"
TOPIC_CORRELATION_CLASS = "leaderboards:TopicCorrelation"
CORRELATION_COEFFICIENTS = ("kendall", "pearson", "spearman", "tauap_b", "tau_gap")
#: `COEFFICIENTS_OF_BEST_SYSTEMS` lists correlation coefficients that also exist for the ten best systems.
#: The ten best systems are those with the highest scores on the true leaderboard.
NUMBER_OF_BEST_SYSTEMS = 10
COEFFICIENTS_OF_BEST_SYSTEMS = ("kendall", "tauap_b", "tau_gap")

LEADERBOARD_METRICS = (
    *(
        make_metric_ref(name, SYSTEM_CORRELATION_CLASS, coefficient=name)
        for name in CORRELATION_COEFFICIENTS
    ),
    *(
        make_metric_ref(
            f"{name}@{NUMBER_OF_BEST_SYSTEMS}",
            SYSTEM_CORRELATION_CLASS,
            coefficient=name,
            best=NUMBER_OF_BEST_SYSTEMS,
        )
        for name in COEFFICIENTS_OF_BEST_SYSTEMS
    ),
    *(
        make_metric_ref(f"{name}_by_topic", TOPIC_CORRELATION_CLASS, coefficient=name)
        for name in CORRELATION_COEFFICIENTS
    ),
    make_metric_ref("rank_distance", "leaderboards:RankDistance"),
)

#: `SYSTEMS_FILE_NAME` and `TOPICS_FILE_NAME` are the files of public inputs that participants receive.
SYSTEMS_FILE_NAME, TOPICS_FILE_NAME = "systems.jsonl", "topics.jsonl"

#: `SCORE_COLUMN_BY_COLUMN_COUNT` maps the number of columns in a file to the index of the score.
#: The numbers of columns are those of trec_eval, ir_measures and TREC run files.
SCORE_COLUMN_BY_COLUMN_COUNT = {3: 2, 4: 3, 6: 4}
#: Files with an extension in `IGNORED_RUN_SUFFIXES` may be part of a run but are ignored.
IGNORED_RUN_SUFFIXES = (".md", ".toml", ".pdf")

LEADERBOARD_ROW_EXAMPLE = (
    '{"run_id": "a1", "topic_id": "all", "measure": "f1", "value": 0.5}'
)
LEADERBOARD_FORM_DESCRIPTION = (
    f"JSON lines such as {LEADERBOARD_ROW_EXAMPLE}, or the columns of trec_eval, of ir_measures or of "
    "a TREC run file that ranks systems"
)
MEASURE_OPTION = Option(
    name="measure",
    default="",
    summary="The measure of the truth; the only one of its files where nothing is named.",
    is_of_gold=True,
)
JUDGE_MEASURE_OPTION = Option(
    name="judge_measure",
    default="",
    summary="The measure of the judge; the only one of its files where nothing is named.",
)

TASK_TYPE_FUNCTIONS = SimpleNamespace(
    **{
        name: make_lazy_function(LEADERBOARDS_MODULE, name)
        for name in (
            "read_gold",
            "read_inputs",
            "read_run",
            "pair",
            "public_files",
            "filled",
            "show_instances",
            "contents",
            "instance_names",
        )
    }
)


class LeaderboardForm(RunFormatSignature):
    """Recognises run files that are leaderboards, which map systems to scores. A file
    with JSON rows that have the keys of a leaderboard is recognised. A text file is not
    recognised as a leaderboard, because files of other tasks, such as rankings, have
    the same columns.
    """

    def is_own(self, beginning: bytes) -> bool:
        is_text = not begins_like_json(beginning)
        return self.fits(beginning) or (
            is_text
            and any(map(has_score_column, split_nonempty_first_lines(beginning)))
        )


def has_score_column(line: bytes) -> bool:
    """Return True if the line has as many columns as a leaderboard, and the score
    column contains a digit.
    """
    cells = line.split()
    place = SCORE_COLUMN_BY_COLUMN_COUNT.get(len(cells))
    return place is not None and any(digit in cells[place] for digit in b"0123456789")


def is_gold_file(name: str) -> bool:
    """Return True if a gold file of this name may contain the true leaderboard."""
    parts = name.split("/")
    is_text = parts[-1].lower().endswith(IGNORED_RUN_SUFFIXES)
    return not (
        IGNORED_FILE_NAMES.intersection(parts)
        or is_text
        or parts[-1] == NONCE_FILE_NAME
    )


TASK_TYPE = TaskType.of(
    TASK_TYPE_FUNCTIONS,
    slug="judge-leaderboards",
    title="Judges: leaderboards against the truth",
    unit="system",
    rules={CORRECTED: LEADERBOARD_METRICS},
    dimensions=(),
    options=(MEASURE_OPTION, JUDGE_MEASURE_OPTION),
    is_gold_file=is_gold_file,
    trivial_runs=make_lazy_function(TRIVIAL_RUNS_MODULE, "trivial_runs"),
    run_form=LeaderboardForm(
        LEADERBOARD_FORM_DESCRIPTION, (frozenset({"run_id", "measure", "value"}),)
    ),
    drawn_as=LINES_VIEW,
    main_metrics=(
        "kendall",
        "kendall_by_topic",
        "tauap_b",
        "tau_gap",
        "spearman",
        "pearson",
        *(f"{name}@{NUMBER_OF_BEST_SYSTEMS}" for name in COEFFICIENTS_OF_BEST_SYSTEMS),
    ),
    display_names={
        "kendall": "Kendall’s τ-b",
        "pearson": "Pearson’s r",
        "spearman": "Spearman’s ρ",
        "tauap_b": "τ-AP-b",
        "tau_gap": "τ-GAP",
        "kendall@10": "Kendall’s τ-b, ten best",
        "tauap_b@10": "τ-AP-b, ten best",
        "tau_gap@10": "τ-GAP, ten best",
        "kendall_by_topic": "Kendall’s τ-b, mean of topics",
        "pearson_by_topic": "Pearson’s r, mean of topics",
        "spearman_by_topic": "Spearman’s ρ, mean of topics",
        "tauap_b_by_topic": "τ-AP-b, mean of topics",
        "tau_gap_by_topic": "τ-GAP, mean of topics",
    },
)
