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

from scoring.offline.arguments import say
from scoring.offline.estimate_commands import (  # noqa: F401  (by name in commands.toml)
    ESTIMATED,
    estimate_scores,
    write_estimates_sheet,
)
from scoring.offline.gold_key import gold_key_of
from scoring.offline.scoring import as_json, read_split
from scoring.offline.terminal import GREEN, RED, bar, is_terminal, painted, printable
from tasks.types import InputRefused, OptionRefused, TaskType, task_type
from tasks.types.declared.own_measures import measure_warnings
from tasks.types.files import open_input, open_inputs
from tasks.types.problems import fatal
from tasks.types.registry import inputs_type
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scoring.metrics.entailed import CitationMetric
    from tasks.types import Pairs
    from tasks.types.declared.recognised import Guess

DIFFERS, NOTHING = 1, 3
#: An official score on the command line has at most MAX_NUMBER characters.
MAX_NUMBER = 40
#: NEW contains templates of a new task folder's files, and texts for each task form.
NEW: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("new_task.toml").read_text(encoding="utf-8")
)
FORMS: dict[str, dict[str, Any]] = NEW["forms"]


def export_pairs(args: argparse.Namespace) -> int:
    """Print each entailment pair that needs a label as a line of JSON."""
    from scoring.offline.entailment_exchange import pair_line, pending_pairs

    metrics, runs = _read_citation_pairs(args)
    pending = {
        pair: None
        for run in runs
        for pair in pending_pairs(metrics, run, is_next_only=args.next)
    }
    lines = [pair_line(pair) for pair in pending]
    for line in [lines] if args.json else lines:
        print(json.dumps(line, ensure_ascii=False))
    print(f"{len(pending)} pairs are pending", file=sys.stderr)
    return 0


def show_battles(args: argparse.Namespace) -> int:
    """Print the board of battles that is computed from a file of pairwise judgements."""
    from scoring.offline.battles import as_facts, as_lines, read_battles
    from scoring.stats.battles import board_of

    board = board_of(read_battles(args.file))
    return say(args, as_json(as_facts(board)), *as_lines(board))


def decide_pairs(args: argparse.Namespace) -> int:
    from scoring.metrics.entailment import ModelJudge
    from scoring.offline.entailment_exchange import decide, read_pairs

    if args.batch < 1:
        raise OptionRefused(f"--batch {args.batch}: expected at least 1")
    judge = ModelJudge(args.model, batch=args.batch, device=args.device)
    pairs = read_pairs(args.pairs)
    with bar("deciding", len(pairs), "pairs") as at:

        def progress(done: int, total: int) -> None:
            if is_terminal(sys.stderr):
                # The progress bar counts pairs with existing labels as done.
                at(len(pairs) - total + done)
            else:
                print(
                    json.dumps({"step": "deciding", "done": done / total}),
                    file=sys.stderr,
                    flush=True,
                )

        now, before = decide(pairs, judge, args.labels, progress)
    facts = {"decided": now, "before": before, "model": judge.name}
    return say(
        args,
        facts,
        f"{now} pairs decided by {judge.name}; {before} were decided before",
    )


def run_judge(args: argparse.Namespace) -> int:
    """Run a declared judge, or only estimate the judge's cost with `--dry-run`."""
    from scoring.judges import command

    judge = command.declared_judge(args.judges, args.name)
    questions = command.read_questions(args.pairs)
    if args.dry_run:
        cost = command.estimate_run(judge, questions)
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
        return say(args, facts, words)
    done = command.run_judge(judge, questions, args.out, _parse_budget(args.budget))
    facts = {
        "judge": done.judge,
        "labels": done.labels,
        "unlabelled": done.unlabelled,
        "failed": done.failed,
        "before": done.before,
        "cost": float(done.cost),
    }
    return say(
        args,
        facts,
        f"{done.labels} items labelled by {done.judge}, {done.unlabelled} without a single answer, "
        f"{done.failed} without a reply; {done.before} were labelled before",
    )


def _parse_budget(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        budget = Decimal(text[:MAX_NUMBER])
    except InvalidOperation:
        budget = Decimal(-1)
    if not budget.is_finite() or budget < 0:
        raise OptionRefused(f"--budget {text[:MAX_NUMBER]}: expected an amount")
    return budget


def show_agreement(args: argparse.Namespace) -> int:
    from scoring.offline.evaluate import details_of
    from scoring.stats.people_and_labels import (
        agreement,
        automatic_labels,
        items_of,
        read_judgements,
    )

    metrics, runs = _read_citation_pairs(args)
    if len(runs) != 1:
        raise OptionRefused(f"judgements are of one run, {len(runs)} given")
    details = details_of(metrics, runs[0].answers)
    judgements = read_judgements(args.judgements, items_of(details).__contains__)
    found = agreement(judgements, automatic_labels(details))
    lines = []
    for name, facts in found.items():
        lines += [
            name,
            *(f"  {key:<12} {json.dumps(value)}" for key, value in facts.items()),
        ]
    return say(args, found, *lines)


def _read_citation_pairs(
    args: argparse.Namespace,
) -> "tuple[list[CitationMetric], list[Pairs]]":
    from scoring.metrics import metrics_of
    from scoring.metrics.entailed import CitationMetric

    chosen = task_type(args.type)
    rules, options = (
        chosen.checked_rules(args.rules),
        args.options_of(chosen, args.option),
    )
    metrics = [
        metric
        for metric in metrics_of(chosen, rules, options)
        if isinstance(metric, CitationMetric)
    ]
    if not metrics:
        raise OptionRefused(f"no metric of {chosen.slug} asks what entails what")
    key = gold_key_of(args)
    split = read_split(chosen, args.gold, options, key)
    read = [
        read_run(chosen, open_input(run, reading=key.reading), split.index, options)
        for run in args.run
    ]
    if problems := fatal([problem for _, of_run in read for problem in of_run]):
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
        chosen.checked_rules(args.rules),
        args.options_of(chosen, args.option),
    )
    key = gold_key_of(args)
    read = read_runs(chosen, args.gold, args.run, rules=rules, options=options, key=key)
    result = power(read, unit=chosen.unit_of(options))
    lines = [
        f"{result['units']} {result['unit']}s; the smallest p of two runs is {result['smallest_p']:.3g}",
        "the smallest difference that is found with a chance of 80 %, at 1, 2 and 4 times the units:",
    ]
    for name, metric in result["metrics"].items():
        differences = (
            "none" if value is None else f"{value:.6f}"
            for value in metric["detectable"].values()
        )
        lines.append(f"{name:<40} {'  '.join(f'{words:>9}' for words in differences)}")
    return say(args, as_json(result), *lines)


def verify_archive(args: argparse.Namespace) -> int:
    from scoring.offline.receipts import keys_in
    from scoring.offline.verify import verify

    try:
        keys = keys_in(args.key.read_text(encoding="utf-8")) if args.key else ()
    except ValueError as fault:
        expected = "64 hexadecimal digits on a line"
        raise OptionRefused(
            f"{args.key} holds no public key; expected {expected}"
        ) from fault
    with bar("verifying", 1.0) as at:
        verified = verify(args.archive, at, keys)
    *details, last = verified.summary()
    last = painted(last, RED if verified.differing else GREEN, sys.stdout)
    say(args, as_json(verified.as_dict()), *map(printable, details), last)
    return DIFFERS if verified.differing else 0 if verified.checked else NOTHING


def new_folder(args: argparse.Namespace) -> int:
    from tasks.types.declared.folder import SLUG

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
    slug = slug if SLUG.fullmatch(slug) else "my-task"
    if args.gold:
        # Import numpy here, because other commands do not need numpy.
        from scoring.offline.proposing import folder_of

        proposed = folder_of(args.form, slug, args.gold)
        files, guesses = proposed.files, proposed.guesses
    else:
        files, guesses = written(args.form, slug), ()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    message = f"{folder}: {', '.join(files)}; now edit them, and run `python -m scoring task check {folder}`"
    return _print_declaration(args, task_type(str(folder)), message, guesses)


def written(form: str, slug: str) -> dict[str, str]:
    """Return the files of a new task folder, keyed by name, including the computed
    scores of the sample run.
    """
    # Import numpy here, because other functions do not need numpy.
    from scoring.offline.sample import written_scores
    from tasks.types.declared.folder import read_declaration

    template = FORMS[form]
    title = slug.replace("-", " ").capitalize()
    answer, baseline, further = (
        template["answer"],
        template["baseline"],
        template.get("files", {}),
    )
    toml = NEW["task"].format(
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
        "card.md": NEW["card"].format(title=title, example=example, measures=measures),
        "sample/gold/gold.jsonl" if further else "sample/gold.jsonl": template["gold"],
        **{f"sample/gold/{name}": lines for name, lines in further.items()},
        "sample/run.jsonl": template["run"],
    }
    return {
        **files,
        "sample/scores.json": written_scores(read_declaration(files), files),
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
    from scoring.offline.official_run import comparisons, scores_by_rules

    measure, official = _parse_official_score(args.number)
    # `inputs_type` also accepts a task folder without a sample.
    chosen = inputs_type(args.folder)
    split = chosen.gold_of(open_inputs(args.gold), {})
    run, problems = read_run(chosen, open_input(args.run), split.index, {})
    if wrong := fatal(problems):
        raise InputRefused(wrong)
    found = comparisons(scores_by_rules(chosen, split, run), measure, official)
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
    say(args, {"measure": measure, "rules": facts}, *lines)
    return 0 if any(one.is_equal for one in found.values()) else DIFFERS


def _parse_official_score(text: str) -> tuple[str, Decimal]:
    """Return the measure and the official score in the command-line argument
    `MEASURE=NUMBER`. Raises OptionRefused.
    """
    measure, _equals, number = text.rpartition("=")
    try:
        official = Decimal(number)
    except InvalidOperation:
        official = Decimal("nan")
    if not measure or not official.is_finite() or len(number) > MAX_NUMBER:
        raise OptionRefused(
            f"--number {text}: expected MEASURE=NUMBER, such as accuracy=91.7"
        )
    return measure, official


def report_on_gold(args: argparse.Namespace) -> int:
    from scoring.offline import trivial
    from tasks.types.trivial_runs import CONSTANT

    # Organisers check gold before the sample of the task folder has right scores.
    is_folder = Path(args.type).is_dir()
    chosen = inputs_type(Path(args.type)) if is_folder else task_type(args.type)
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
        answer = f" (“{printable(report.best_constant)}”)" if name == CONSTANT else ""
        lines.append(f"{name + answer:<14} {values}")
    return say(args, report.as_dict(), *lines)


def _print_declaration(
    args: argparse.Namespace,
    chosen: TaskType,
    words: str,
    guesses: "Sequence[Guess]" = (),
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
    by_default = ", ".join(metric.name for metric in chosen.rules[chosen.default_rules])
    warnings = measure_warnings(declared.own_measures)
    facts["warnings"] = warnings
    if guesses:
        facts["guesses"] = [vars(guess) for guess in guesses]
    told = [
        printable(f"{guess.part}: {guess.value} ({guess.confidence}: {guess.reason})")
        for guess in guesses
    ]
    return say(args, facts, *told, words, f"{chosen.slug}: {by_default}", *warnings)
