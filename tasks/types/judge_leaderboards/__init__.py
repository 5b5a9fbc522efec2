"""A task for judges of systems, in which metrics compare each judge's leaderboard of
systems with the true leaderboard.
"""

from types import SimpleNamespace

from tasks.types.base import CORRECTED, LINES, Option, TaskType
from tasks.types.files import CLUTTER, NONCE_FILE
from tasks.types.references import lazy, metric_ref
from tasks.types.run_forms import RunForm, first_lines, is_json

TRIVIAL = "tasks.types.judge_leaderboards.trivial"
LEADERBOARDS = "tasks.types.judge_leaderboards.leaderboards"
BY_SYSTEM = "leaderboards:LeaderboardCorrelation"
BY_TOPIC = "leaderboards:TopicCorrelation"
COEFFICIENTS = ("kendall", "pearson", "spearman", "tauap_b", "tau_gap")
#: `OF_BEST` lists correlation coefficients that also exist for the ten best systems.
#: The ten best systems are those with the highest scores on the true leaderboard.
BEST = 10
OF_BEST = ("kendall", "tauap_b", "tau_gap")

METRICS = (
    *(metric_ref(name, BY_SYSTEM, coefficient=name) for name in COEFFICIENTS),
    *(
        metric_ref(f"{name}@{BEST}", BY_SYSTEM, coefficient=name, best=BEST)
        for name in OF_BEST
    ),
    *(
        metric_ref(f"{name}_by_topic", BY_TOPIC, coefficient=name)
        for name in COEFFICIENTS
    ),
    metric_ref("rank_distance", "leaderboards:RankDistance"),
)

#: `SYSTEMS` and `TOPICS` are the files of public inputs that participants receive.
SYSTEMS, TOPICS = "systems.jsonl", "topics.jsonl"

#: `VALUE_PLACES` maps the number of columns in a file to the index of the score.
#: The numbers of columns are those of trec_eval, ir_measures and TREC run files.
VALUE_PLACES = {3: 2, 4: 3, 6: 4}
#: Files with an extension in `NO_LEADERBOARDS` may be part of a run but are ignored.
NO_LEADERBOARDS = (".md", ".toml", ".pdf")

EXAMPLE = '{"run_id": "a1", "topic_id": "all", "measure": "f1", "value": 0.5}'
DESCRIBED = (
    f"JSON lines such as {EXAMPLE}, or the columns of trec_eval, of ir_measures or of "
    "a TREC run file that ranks systems"
)
MEASURE = Option(
    name="measure",
    default="",
    summary="The measure of the truth; the only one of its files where nothing is named.",
    is_of_gold=True,
)
JUDGE_MEASURE = Option(
    name="judge_measure",
    default="",
    summary="The measure of the judge; the only one of its files where nothing is named.",
)

PARTS = SimpleNamespace(
    **{
        name: lazy(LEADERBOARDS, name)
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


class LeaderboardForm(RunForm):
    """Recognises run files that are leaderboards, which map systems to scores. A file
    with JSON rows that have the keys of a leaderboard is recognised. A text file is not
    recognised as a leaderboard, because files of other tasks, such as rankings, have
    the same columns.
    """

    def is_own(self, beginning: bytes) -> bool:
        is_text = not is_json(beginning)
        return self.fits(beginning) or (
            is_text and any(map(has_value, first_lines(beginning)))
        )


def has_value(line: bytes) -> bool:
    """Return True if the line has as many columns as a leaderboard, and the score
    column contains a digit.
    """
    cells = line.split()
    place = VALUE_PLACES.get(len(cells))
    return place is not None and any(digit in cells[place] for digit in b"0123456789")


def is_gold_file(name: str) -> bool:
    """Return True if a gold file of this name may contain the true leaderboard."""
    parts = name.split("/")
    is_text = parts[-1].lower().endswith(NO_LEADERBOARDS)
    return not (CLUTTER.intersection(parts) or is_text or parts[-1] == NONCE_FILE)


TASK_TYPE = TaskType.of(
    PARTS,
    slug="judge-leaderboards",
    title="Judges: leaderboards against the truth",
    unit="system",
    rules={CORRECTED: METRICS},
    dimensions=(),
    options=(MEASURE, JUDGE_MEASURE),
    is_gold_file=is_gold_file,
    trivial_runs=lazy(TRIVIAL, "trivial_runs"),
    run_form=LeaderboardForm(DESCRIBED, (frozenset({"run_id", "measure", "value"}),)),
    drawn_as=LINES,
    main_metrics=(
        "kendall",
        "kendall_by_topic",
        "tauap_b",
        "tau_gap",
        "spearman",
        "pearson",
        *(f"{name}@{BEST}" for name in OF_BEST),
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
