"""Run the commands of the offline scorer that do not score runs, such as `pairs`,
`battles`, `decide`, `agreement`, `power`, `verify`, `task new` and `task check`.
"""

import argparse
import json
import sys
import tomllib
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.offline.arguments import print_output
from scoring.offline.estimate_commands import (  # noqa: F401  (by name in commands.toml)
    ESTIMATED,
    estimate_scores,
    write_estimates_sheet,
)
from scoring.offline.gold_key import build_gold_key
from scoring.offline.scoring import format_json, read_split
from scoring.offline.terminal import (
    GREEN_CODE,
    RED_CODE,
    colour_text,
    is_terminal,
    replace_control_characters,
    show_progress_bar,
)
from tasks.types import InputRefused, OptionRefused, TaskType, task_type
from tasks.types.declared.own_measures import make_missing_carriers_warnings
from tasks.types.files import open_files_of_all_inputs, open_input_files
from tasks.types.problems import select_fatal_problems
from tasks.types.registry import load_task_type_of_inputs
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scoring.metrics.entailed import CitationMetric
    from tasks.types import Pairs
    from tasks.types.declared.recognised import SettingGuess

ARCHIVE_DIFFERS_EXIT_CODE, NOTHING_CHECKED_EXIT_CODE = 1, 3
#: An official score on the command line has at most MAX_OFFICIAL_SCORE_CHARS characters.
MAX_OFFICIAL_SCORE_CHARS = 40
#: NEW contains templates of a new task folder's files, and texts for each task form.
NEW_TASK_TEMPLATES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("new_task.toml").read_text(encoding="utf-8")
)
FORMS: dict[str, dict[str, Any]] = NEW_TASK_TEMPLATES["forms"]


def export_pairs(args: argparse.Namespace) -> int:
    """Print each entailment pair that needs a label as a line of JSON."""
    from scoring.offline.entailment_exchange import (
        build_pair_record,
        find_pending_pairs,
    )

    metrics, runs = _read_citation_pairs(args)
    pending = {
        pair: None
        for run in runs
        for pair in find_pending_pairs(metrics, run, is_next_only=args.next)
    }
    lines = [build_pair_record(pair) for pair in pending]
    for line in [lines] if args.json else lines:
        print(json.dumps(line, ensure_ascii=False))
    print(f"{len(pending)} pairs are pending", file=sys.stderr)
    return 0


def show_battles(args: argparse.Namespace) -> int:
    """Print the board of battles that is computed from a file of pairwise judgements."""
    from scoring.offline.battles import (
        convert_battle_results_to_json,
        format_battle_results,
        read_battles,
    )
    from scoring.stats.battles import compute_battle_results

    board = compute_battle_results(read_battles(args.file))
    return print_output(
        args,
        format_json(convert_battle_results_to_json(board)),
        *format_battle_results(board),
    )


def decide_pairs(args: argparse.Namespace) -> int:
    from scoring.metrics.entailment import ModelJudge
    from scoring.offline.entailment_exchange import decide, read_distinct_pairs

    if args.batch < 1:
        raise OptionRefused(f"--batch {args.batch}: expected at least 1")
    judge = ModelJudge(args.model, batch=args.batch, device=args.device)
    pairs = read_distinct_pairs(args.pairs)
    with show_progress_bar("deciding", len(pairs), "pairs") as at:

        def print_progress(done: int, total: int) -> None:
            if is_terminal(sys.stderr):
                # The progress bar counts pairs with existing labels as done.
                at(len(pairs) - total + done)
            else:
                print(
                    json.dumps({"step": "deciding", "done": done / total}),
                    file=sys.stderr,
                    flush=True,
                )

        now, before = decide(pairs, judge, args.labels, print_progress)
    facts = {"decided": now, "before": before, "model": judge.name}
    return print_output(
        args,
        facts,
        f"{now} pairs decided by {judge.name}; {before} were decided before",
    )


def run_judge(args: argparse.Namespace) -> int:
    """Run a declared judge, or only estimate the judge's cost with `--dry-run`."""
    from scoring.judges import command

    judge = command.find_declared_judge(args.judges, args.name)
    questions = command.read_questions(args.pairs)
    if args.dry_run:
        cost = command.estimate_judging_cost(judge, questions)
        facts = {
            "questions": cost.questions,
            "cost": float(cost.cost),
            "most": float(cost.most),
            "currency": cost.currency,
        }
        words = f"{cost.questions} items"
        if cost.currency:
            words += (
                f", about {cost.cost:.4f} and at most {cost.most:.4f} {cost.currency}"
            )
        return print_output(args, facts, words)
    done = command.run_judge(judge, questions, args.out, _parse_budget(args.budget))
    facts = {
        "judge": done.judge,
        "labels": done.labels,
        "unlabelled": done.unlabelled,
        "failed": done.failed,
        "before": done.before,
        "cost": float(done.cost),
    }
    return print_output(
        args,
        facts,
        f"{done.labels} items labelled by {done.judge}, {done.unlabelled} without a single answer, "
        f"{done.failed} without a reply; {done.before} were labelled before",
    )


def _parse_budget(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        budget = Decimal(text[:MAX_OFFICIAL_SCORE_CHARS])
    except InvalidOperation:
        budget = Decimal(-1)
    if not budget.is_finite() or budget < 0:
        raise OptionRefused(
            f"--budget {text[:MAX_OFFICIAL_SCORE_CHARS]}: expected an amount"
        )
    return budget


def show_agreement(args: argparse.Namespace) -> int:
    from scoring.offline.evaluate import collect_details
    from scoring.stats.people_and_labels import (
        agreement,
        collect_automatic_labels,
        collect_judgeable_items,
        read_judgements,
    )

    metrics, runs = _read_citation_pairs(args)
    if len(runs) != 1:
        raise OptionRefused(f"judgements are of one run, {len(runs)} given")
    details = collect_details(metrics, runs[0].answers)
    judgements = read_judgements(
        args.judgements, collect_judgeable_items(details).__contains__
    )
    found = agreement(judgements, collect_automatic_labels(details))
    lines = []
    for name, facts in found.items():
        lines += [
            name,
            *(f"  {key:<12} {json.dumps(value)}" for key, value in facts.items()),
        ]
    return print_output(args, found, *lines)


def _read_citation_pairs(
    args: argparse.Namespace,
) -> "tuple[list[CitationMetric], list[Pairs]]":
    from scoring.metrics import build_metrics
    from scoring.metrics.entailed import CitationMetric

    chosen = task_type(args.type)
    rules, options = (
        chosen.validate_rule_set_name(args.rules),
        args.options_of(chosen, args.option),
    )
    metrics = [
        metric
        for metric in build_metrics(chosen, rules, options)
        if isinstance(metric, CitationMetric)
    ]
    if not metrics:
        raise OptionRefused(f"no metric of {chosen.slug} asks what entails what")
    key = build_gold_key(args)
    split = read_split(chosen, args.gold, options, key)
    read = [
        read_run(
            chosen, open_input_files(run, reading=key.reading), split.index, options
        )
        for run in args.run
    ]
    if problems := select_fatal_problems(
        [problem for _, of_run in read for problem in of_run]
    ):
        raise InputRefused(problems)
    return metrics, [
        chosen.pairs_of(split, answers, rules, options) for answers, _ in read
    ]


def show_power(args: argparse.Namespace) -> int:
    from scoring.offline.compare import power, read_runs

    if len(args.run) < 2:
        raise OptionRefused(
            "differences are between runs: give two or more, such as baselines, with --run"
        )
    chosen = task_type(args.type)
    rules, options = (
        chosen.validate_rule_set_name(args.rules),
        args.options_of(chosen, args.option),
    )
    key = build_gold_key(args)
    read = read_runs(chosen, args.gold, args.run, rules=rules, options=options, key=key)
    result = power(read, unit=chosen.get_resampling_unit_name(options))
    lines = [
        f"{result['units']} {result['unit']}s; the smallest p of two runs is {result['smallest_p']:.3g}",
        "the smallest difference that is found with a chance of 80 %, at 1, 2 and 4 times the units:",
    ]
    for name, metric in result["metrics"].items():
        differences = (
            "none" if value is None else f"{value:z.6f}"
            for value in metric["detectable"].values()
        )
        lines.append(f"{name:<40} {'  '.join(f'{words:>9}' for words in differences)}")
    return print_output(args, format_json(result), *lines)


def verify_archive(args: argparse.Namespace) -> int:
    from scoring.offline.receipts import parse_public_keys
    from scoring.offline.verify import verify

    try:
        keys = (
            parse_public_keys(args.key.read_text(encoding="utf-8")) if args.key else ()
        )
    except ValueError as fault:
        expected = "64 hexadecimal digits on a line"
        raise OptionRefused(
            f"{args.key} holds no public key; expected {expected}"
        ) from fault
    with show_progress_bar("verifying", 1.0) as at:
        verified = verify(args.archive, at, keys)
    *details, last = verified.summary()
    last = colour_text(last, RED_CODE if verified.differing else GREEN_CODE, sys.stdout)
    print_output(
        args,
        format_json(verified.as_dict()),
        *map(replace_control_characters, details),
        last,
    )
    return (
        ARCHIVE_DIFFERS_EXIT_CODE
        if verified.differing
        else 0
        if verified.checked
        else NOTHING_CHECKED_EXIT_CODE
    )


def new_folder(args: argparse.Namespace) -> int:
    from tasks.types.declared.folder import SLUG_PATTERN

    folder: Path = args.folder
    if args.form not in FORMS:
        raise OptionRefused(
            f"there is no form “{args.form}”; there are {', '.join(FORMS)}"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionRefused(
            f"{folder} is there already; name a folder that is not, or an empty one"
        )
    slug = folder.resolve().name.lower().replace("_", "-")
    slug = slug if SLUG_PATTERN.fullmatch(slug) else "my-task"
    if args.gold:
        # Import numpy here, because other commands do not need numpy.
        from scoring.offline.proposing import propose_folder

        proposed = propose_folder(args.form, slug, args.gold)
        files, guesses = proposed.files, proposed.guesses
    else:
        files, guesses = build_task_folder_files(args.form, slug), ()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    message = f"{folder}: {', '.join(files)}; now edit them, and run `python -m scoring task check {folder}`"
    return _print_declaration(args, task_type(str(folder)), message, guesses)


def build_task_folder_files(form: str, slug: str) -> dict[str, str]:
    """Return the files of a new task folder, keyed by name, including the computed
    scores of the sample run.
    """
    # Import numpy here, because other functions do not need numpy.
    from scoring.offline.sample import format_sample_scores
    from tasks.types.declared.folder import read_declaration

    template = FORMS[form]
    title = slug.replace("-", " ").capitalize()
    answer, baseline, further = (
        template["answer"],
        template["baseline"],
        template.get("files", {}),
    )
    toml = NEW_TASK_TEMPLATES["task"].format(
        slug=slug,
        title=title,
        form=form,
        field=template["field"],
        shown=template["shown"],
        answer=f"[task.answer]\n{answer}\n\n" if answer else "",
        measures=template["measures"],
        baseline=f'\n[[task.baselines]]\nname = "{baseline}"\n' if baseline else "",
    )
    measures = template["measures"].strip("[]").replace('"', "")
    example = template["run"].partition("\n")[0]
    files = {
        "task.toml": toml,
        "card.md": NEW_TASK_TEMPLATES["card"].format(
            title=title, example=example, measures=measures
        ),
        "sample/gold/gold.jsonl" if further else "sample/gold.jsonl": template["gold"],
        **{f"sample/gold/{name}": lines for name, lines in further.items()},
        "sample/run.jsonl": template["run"],
    }
    return {
        **files,
        "sample/scores.json": format_sample_scores(read_declaration(files), files),
    }


def check_folder(args: argparse.Namespace) -> int:
    """Check a task folder. Raises InputRefused with all problems of the task folder."""
    chosen = task_type(str(args.folder))
    return _print_declaration(
        args, chosen, f"{args.folder} is sound; its sample has the scores that it says"
    )


def compare_official(args: argparse.Namespace) -> int:
    """Print the run's score under each rule set next to the official score, with the
    decimals of the official score.
    """
    from scoring.offline.official_run import compare_by_rules, score_run_by_rules

    measure, official = _parse_official_score(args.number)
    # `load_task_type_of_inputs` also accepts a task folder without a sample.
    chosen = load_task_type_of_inputs(args.folder)
    split = chosen.gold_of(open_files_of_all_inputs(args.gold), {})
    run, problems = read_run(chosen, open_input_files(args.run), split.index, {})
    if wrong := select_fatal_problems(problems):
        raise InputRefused(wrong)
    found = compare_by_rules(score_run_by_rules(chosen, split, run), measure, official)
    if not found:
        known = ", ".join(chosen.metrics)
        raise OptionRefused(
            f"the run has no number for “{measure}”; the measures are {known}"
        )
    facts = {
        rules: {
            "official": str(one.official),
            "here": str(one.here),
            "difference": str(one.difference),
        }
        for rules, one in found.items()
    }
    lines = [
        f"{rules}: {measure} official {one.official}, here {one.here}, difference {one.difference}"
        for rules, one in found.items()
    ]
    print_output(args, {"measure": measure, "rules": facts}, *lines)
    return (
        0 if any(one.is_equal for one in found.values()) else ARCHIVE_DIFFERS_EXIT_CODE
    )


def _parse_official_score(text: str) -> tuple[str, Decimal]:
    """Return the measure and the official score in the command-line argument
    `MEASURE=NUMBER`. Raises OptionRefused.
    """
    measure, _equals, number = text.rpartition("=")
    try:
        official = Decimal(number)
    except InvalidOperation:
        official = Decimal("nan")
    if (
        not measure
        or not official.is_finite()
        or len(number) > MAX_OFFICIAL_SCORE_CHARS
    ):
        raise OptionRefused(
            f"--number {text}: expected MEASURE=NUMBER, such as accuracy=91.7"
        )
    return measure, official


def report_on_gold(args: argparse.Namespace) -> int:
    from scoring.offline import trivial
    from tasks.types.trivial_runs import CONSTANT_RUN

    # Organisers check gold before the sample of the task folder has right scores.
    is_folder = Path(args.type).is_dir()
    chosen = (
        load_task_type_of_inputs(Path(args.type)) if is_folder else task_type(args.type)
    )
    report = trivial.report_on_gold(
        chosen, args.gold, args.options_of(chosen, args.option)
    )
    rows = "" if report.rows is None else f" from {report.rows} rows"
    lines = [f"{report.instances} instances{rows}"]
    for finding in report.findings:
        where = (
            f" (lines {', '.join(map(str, finding.lines))})" if finding.lines else ""
        )
        lines.append(f"{finding.kind}: {finding.message}{where}")
    if not report.findings:
        lines.append("no problems found in the gold")
    for name, shares in report.trivial.items():
        values = ", ".join(
            f"{metric} {'undefined' if share is None else f'{share:.4f}'}"
            for metric, share in shares.items()
        )
        answer = (
            f" (“{replace_control_characters(report.best_constant)}”)"
            if name == CONSTANT_RUN
            else ""
        )
        lines.append(f"{name + answer:<14} {values}")
    return print_output(args, report.as_dict(), *lines)


def _print_declaration(
    args: argparse.Namespace,
    chosen: TaskType,
    words: str,
    guesses: "Sequence[SettingGuess]" = (),
) -> int:
    if (declared := chosen.declared) is None:
        raise OptionRefused(
            f"{args.folder} is a built-in type; name a folder with a task.toml"
        )
    facts: dict[str, Any] = {
        "slug": declared.name,
        "task_type": chosen.slug,
        "form": declared.form,
        "digest": declared.digest,
        "rules": {
            name: [metric.name for metric in metrics]
            for name, metrics in chosen.rules.items()
        },
        "dimensions": list(chosen.dimensions),
        "baselines": [baseline.name for baseline in declared.baselines],
    }
    by_default = ", ".join(
        metric.name for metric in chosen.rules[chosen.default_rule_set]
    )
    warnings = make_missing_carriers_warnings(declared.own_measures)
    facts["warnings"] = warnings
    if guesses:
        facts["guesses"] = [vars(guess) for guess in guesses]
    told = [
        replace_control_characters(
            f"{guess.part}: {guess.value} ({guess.confidence}: {guess.reason})"
        )
        for guess in guesses
    ]
    return print_output(
        args, facts, *told, words, f"{chosen.slug}: {by_default}", *warnings
    )
