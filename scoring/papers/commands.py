"""The commands that reproduce what the five papers report: `python -m scoring papers …`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.stats.interval_methods import METHODS
from scoring.tools.arguments import (
    FORMS,
    Given,
    OptionsOf,
    add_number,
    add_option,
    add_paths,
    add_resolution_options,
    adding,
    number_of,
    say,
    whole_number,
    write_lines,
)
from scoring.tools.baselines import HAVE_HUMAN_LINE
from tasks.types import InputRefused, OptionRefused, Problem, task_type
from tasks.types.base import OFFICIAL

if TYPE_CHECKING:
    from tasks.types import Pairs, Split

POSITIONAL = "positional-citations"
WAYS = SENTENCE_ENDS, OVERLAP, LABELS = ("sentence-ends", "overlap", "labels")


def add_commands(commands: Any, options_of: OptionsOf) -> None:
    command = adding(commands, options_of)
    human = command("human", print_human_lines, "score each annotator against the others")
    line = command(
        "human-line", print_human_line, "score all annotators, each against the others, as one run"
    )
    line.add_argument("--statistics", type=Path, metavar="FILE", help="keep the matrices behind the numbers")
    line.add_argument("--progress", action="store_true", help="one JSON object per step on standard error")
    for added in (human, line):
        added.add_argument("type", choices=HAVE_HUMAN_LINE)
        added.add_argument("--rules", metavar="NAME")
        add_option(added)
        words = "0 for no intervals; else the resamples of percentile and bca"
        add_number(added, "--intervals", int, 1000, words)
        added.add_argument("--method", choices=METHODS, default=METHODS[0], help="how intervals are made")
        added.add_argument("--seed", type=int, default=0, metavar="S")

    pilot = command("pilot", write_pilot_page, "reproduce the pilot's tables as a page")
    pilot.add_argument("--paper", type=Path, required=True, metavar="FILE", help="the paper's tables as JSON")

    placed = command("place-marks", place_marks, "write a run with its citation marks in other places")
    placed.add_argument("--how", choices=WAYS, required=True, help="where marks go")
    add_option(placed, "entailment=..., for labels")
    mixed = command(
        "mix-positions", print_mixtures, "say how CVCP changes as answers take their marks to sentence ends"
    )
    add_number(mixed, "--steps", whole_number(": expected a whole number from 1 to 100", 1, 100), 10)
    mixed.add_argument("--seed", type=int, default=0, metavar="S", help="which answers change first")
    mixed.set_defaults(option=[])

    blank = command(
        "claim-sheet", write_claims, "write the claims of a run, to be rewritten by people or a model"
    )
    checked = command(
        "claim-check", check_claims, "say how many claims keep their entailment label when they are rewritten"
    )
    checked.add_argument("--sheet", type=Path, required=True, metavar="FILE", help="the sheet, filled in")
    checked.add_argument("--pairs", type=Path, metavar="FILE", help="write there what is not decided yet")
    for added in (blank, checked):
        added.add_argument("--rules", metavar="NAME")
        add_option(added)
    for added in (placed, mixed, blank, checked):
        added.add_argument("--run", type=Path, required=True, metavar="PATH")

    drawn = command(
        "context-sheet",
        write_contexts,
        "write a sample of a diagnostic split as a table, to be checked by hand",
    )
    add_number(drawn, "--contexts", number_of("contexts"), 100, "100 unless said")
    drawn.add_argument("--seed", type=int, default=0, metavar="S")
    filled = command(
        "context-check",
        check_contexts,
        "say how much of a sample is right, and how far those who checked it agree",
    )
    add_paths(filled, "--sheet", "filled in, one of each person", metavar="FILE")

    converted = command(
        "convert-biomedsumm",
        convert_biomedsumm,
        "write BiomedSumm's topics in the layout of CL-Summ, ranges of characters as sentences",
    )
    converted.add_argument("data", type=Path)
    line.add_argument("--part", metavar="PART", help="of the split, such as public-30-7")
    topics = command(
        "describe-topics", describe_topics, "say what CL-Summ topics consist of, such as sentences a citance"
    )
    source = topics.add_mutually_exclusive_group(required=True)
    add_paths(source, "--gold", "topics with their annotation", required=False)
    add_paths(source, "--inputs", "topics without", required=False)
    topics.add_argument(
        "--annotation", default="auto", metavar="VERSION", help="such as annv2; the newest unless said"
    )
    texts = command(
        "describe-citation-text",
        describe_citation_texts,
        "say what data sets of citation texts consist of, as CiteBench's tables do",
    )
    texts.add_argument(
        "--tokenizer", type=Path, metavar="DIR", help="whose tokens are counted; words unless said"
    )
    overlap = command("tagger-overlap", tagger_overlap, "look for a tagger's training data in gold texts")
    overlap.add_argument("labelled", type=Path, metavar="LABELLED", help="JSON lines with text and label")
    overlap.add_argument("--words", type=int, default=8, metavar="N", help="that a shared run has; 8")

    for added, file in ((pilot, "FILE"), (placed, "FILE"), (blank, "FILE"), (converted, "DIR")):
        added.add_argument("--out", type=Path, required=True, metavar=file)
    drawn.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .csv, or .tsv with tabs")
    for added in (human, line, pilot, placed, mixed, blank, checked, drawn, filled, texts, overlap):
        add_paths(added, "--gold")

    swept = command("sweep-resolution", sweep_corpus, "run every baseline of Citation Resolution on a corpus")
    swept.add_argument("corpus", type=Path)
    swept.add_argument("--form", choices=FORMS, default="auto", help="how the corpus is written")
    add_resolution_options(swept, around=10)
    swept.add_argument(
        "--inlinks-without",
        choices=("tested", "citing"),
        default="tested",
        help="whose citations are no evidence: those of all tested papers, or of the citing one alone",
    )
    swept.add_argument(
        "--published", type=Path, metavar="FILE", help="published results that the table stands beside"
    )


def print_human_lines(args: Given) -> int:
    from scoring.offline.evaluate import Resampling
    from scoring.offline.scoring import as_json, read_split
    from scoring.papers.human_line import human_lines

    chosen = task_type(args.type)
    rules, options = chosen.checked_rules(args.rules), args.options_of(chosen, args.option)
    split = read_split(chosen, args.gold, options)
    resampling = Resampling(resamples=args.intervals, seed=args.seed, method=args.method)
    lines = human_lines(chosen, split, rules=rules, options=options, resampling=resampling)
    facts = {"task_type": chosen.slug, "rules": rules, "lines": [line.as_dict() for line in lines]}
    words = [] if lines else ["no topic has two annotators"]
    for line in lines:
        for name, value in line.against_others.metrics.items():
            with_own = line.against_all.metrics[name].value
            words.append(
                f"{line.annotator or 'together':<16} {name:<40} {value.value:.6f}  with own {with_own:.6f}"
            )
    return say(args, as_json(facts), *words)


def print_human_line(args: Given) -> int:
    from scoring.offline.evaluate import Resampling
    from scoring.offline.parts import read_part
    from scoring.offline.scoring import Scoring, as_json, keep_statistics, printed, read_split
    from scoring.papers.human_line import as_one_run

    chosen = task_type(args.type)
    scoring = Scoring(
        task_type=chosen,
        gold=args.gold,
        run=Path(),
        rules=chosen.checked_rules(args.rules),
        options=args.options_of(chosen, args.option),
        resamples=args.intervals,
        seed=args.seed,
        method=args.method,
    )
    split = read_split(chosen, scoring.gold, scoring.options)
    resampling = Resampling(resamples=args.intervals, seed=args.seed, method=args.method)
    part = read_part(args.part) if args.part else None
    scores, pairs = as_one_run(
        chosen, split, rules=scoring.rules, options=scoring.options, resampling=resampling, part=part
    )
    if args.statistics:
        keep_statistics(scoring, args.statistics, scores, pairs)
    return say(
        args,
        as_json(
            printed(scoring, split, scores) | {"run": {"sha256": ""}} | ({"part": args.part} if part else {})
        ),
        *(f"{name:<40} {row.value:.6f}\n{'':<40} {row.signature}" for name, row in scores.metrics.items()),
    )


def write_pilot_page(args: Given) -> int:
    from scoring.papers.pilot import EXPLANATION, pilot_page
    from tasks.types.files import open_inputs

    if args.out.is_file() and EXPLANATION.partition(";")[0] not in args.out.read_text(encoding="utf-8"):
        message = "there is a file that this command did not write"
        raise InputRefused([Problem(file=str(args.out), message=message, expected="another FILE")])
    paper = json.loads(args.paper.read_text(encoding="utf-8"))
    args.out.write_text(pilot_page(open_inputs(args.gold), paper), encoding="utf-8")
    return say(args, {"out": str(args.out)}, f"wrote {args.out}")


def place_marks(args: Given) -> int:
    from scoring.metrics.entailment import judge_of
    from scoring.papers.mark_places import at_sentence_ends, by_labels, by_overlap, marked_anew
    from tasks.types.files import open_inputs
    from tasks.types.positional_citations.gold import read_questions

    _, run, options = _positional_run(args)
    if args.how == LABELS and options["entailment"] == "none":
        print("python -m scoring: --how labels needs --option entailment=labels:PATH", file=sys.stderr)
        return 2
    questions = {question.id: question for question in read_questions(open_inputs(args.gold))}
    if args.how == SENTENCE_ENDS:
        moved = {name: at_sentence_ends(output) for name, output in run.outputs.items()}
    else:
        marking = by_overlap if args.how == OVERLAP else by_labels(judge_of(options))
        moved = {name: marked_anew(output, questions[name], marking) for name, output in run.outputs.items()}
    count = write_lines(args.out, ({"id": name, "output": output} for name, output in moved.items()))
    return say(args, {"lines": count}, f"{args.out}: {count} lines")


def print_mixtures(args: Given) -> int:
    from scoring.offline.scoring import as_json
    from scoring.papers.mark_places import mixtures

    _, run, options = _positional_run(args)
    mixed = list(mixtures(run.outputs, steps=args.steps, seed=args.seed, options=options))
    lines = [f"{'share':>6} {'positional':>14} {'CVCP':>8} {'pooled':>8}"]
    for mixture in mixed:
        count = f"{mixture.positional} of {mixture.answers}"
        lines.append(f"{mixture.share:>6.2f} {count:>14} {mixture.cvcp:>8.4f} {mixture.pooled:>8.4f}")
    return say(args, as_json({"mixtures": [asdict(mixture) for mixture in mixed]}), *lines)


def _positional_run(args: Given) -> tuple[Split, Any, Mapping[str, str]]:
    from scoring.offline.scoring import read_split
    from tasks.types.files import open_input
    from tasks.types.problems import fatal
    from tasks.types.runs import read_run

    chosen = task_type(POSITIONAL)
    options = args.options_of(chosen, args.option)
    split = read_split(chosen, args.gold, options)
    run, problems = read_run(chosen, open_input(args.run), split.index, options)
    if fatal(problems):
        raise InputRefused(problems)
    return split, run, options


def _claims(args: Given) -> tuple[Pairs, bool, Mapping[str, str]]:
    chosen = task_type(POSITIONAL)
    rules = chosen.checked_rules(args.rules)
    split, run, options = _positional_run(args)
    return chosen.pair(split, run, rules, options), rules == OFFICIAL, options


def write_claims(args: Given) -> int:
    from scoring.papers.claim_check import sheet

    rows, is_official, _ = _claims(args)
    count = write_lines(args.out, list(sheet(rows, is_official=is_official)))
    return say(args, {"claims": count}, f"{args.out}: {count} claims")


def check_claims(args: Given) -> int:
    from scoring.metrics.entailment import judge_of
    from scoring.offline.entailment_exchange import pair_line
    from scoring.papers.claim_check import Claim, checked, pairs_of, pending, read_sheet, sheet

    rows, is_official, options = _claims(args)
    questions = {question.id: question for question in rows.gold if question is not None}
    question_of = {
        Claim(line["id"], line["claim"], tuple(line["marks"])): questions[line["id"]]
        for line in sheet(rows, is_official=is_official)
    }
    rewritten = pairs_of(read_sheet(args.sheet, question_of), question_of)
    judge = judge_of(options)
    if args.pairs:
        write_lines(args.pairs, map(pair_line, pending(rewritten, judge)))
    counts = checked(rewritten, question_of, judge)
    heads = f"{'claims':>8} {'same':>8} {'share':>8} {'lost':>6} {'gained':>6} {'pending':>8}"
    lines = [f"labels by {judge.name}", f"{'data set':<20} {heads}"]
    for data_set in counts:
        decided = data_set.claims - data_set.pending
        share = f"{100 * data_set.same / decided:.2f} %" if decided else "-"
        lines.append(
            f"{data_set.dataset:<20} {data_set.claims:>8} {data_set.same:>8} {share:>8} "
            f"{data_set.no_longer_entailed:>6} {data_set.entailed_now:>6} {data_set.pending:>8}"
        )
    facts = {"entailment": judge.name, "data_sets": [asdict(data_set) for data_set in counts]}
    return say(args, facts, *lines)


def write_contexts(args: Given) -> int:
    from scoring.papers.context_check import sampled, titles, write_sheet
    from tasks.types.files import open_inputs

    files = open_inputs(args.gold)
    contexts = sampled(files, args.contexts, args.seed)
    count = write_sheet(args.out, contexts, titles(files, contexts))
    facts = {"contexts": len(contexts), "lines": count}
    return say(args, facts, f"{args.out}: {len(contexts)} contexts, {count} lines")


def check_contexts(args: Given) -> int:
    from scoring.papers.context_check import answers, checked, known, read_table
    from tasks.types.files import open_inputs

    tables = {path: read_table(path) for path in args.sheet}
    may_be = known(open_inputs(args.gold), tables.values())
    checks = list(checked([answers(path, table, may_be) for path, table in tables.items()]))
    more = f" {'agree':>8} {'95 %':>16} {'alpha':>6}" if len(tables) > 1 else ""
    lines = [f"{'asked':<16} {'contexts':>8} {'answers':>8} {'right':>8} {'95 %':>16}{more}"]
    for line in checks:
        if len(tables) > 1:
            nominal = "-" if math.isnan(line.alpha) else f"{line.alpha:.3f}"
            more = f" {line.agreeing} {nominal:>6}"
        lines.append(f"{line.asked:<16} {line.contexts:>8} {line.right.of:>8} {line.right}{more}")
    return say(args, {"people": len(tables), "checked": [line.as_dict() for line in checks]}, *lines)


def convert_biomedsumm(args: Given) -> int:
    from scoring.papers.biomedsumm import convert

    counts = dict(sorted(convert(args.data, args.out).items()))
    lines = (f"  {count:,} references {how}" for how, count in counts.items())
    return say(args, {"references": counts}, f"topics in {args.out}", *lines)


def describe_topics(args: Given) -> int:
    from scoring.tools.builders.topics import statistics, statistics_rows
    from tasks.types.base import checked_options
    from tasks.types.clsumm.options import ANNOTATION
    from tasks.types.clsumm.topics import read_input_topics, read_topics
    from tasks.types.files import open_inputs

    options = checked_options("describe-topics", (ANNOTATION,), {"annotation": args.annotation})
    files = open_inputs(args.gold or args.inputs)
    gold = read_topics(files, options).topics if args.gold else []
    inputs = read_input_topics(files, options)
    if not inputs:
        raise InputRefused([Problem(message="no topic with a reference paper was found")])
    facts = statistics(inputs, gold)
    return say(args, facts, *(f"{name:<28} {value}" for name, value in statistics_rows(facts)))


def describe_citation_texts(args: Given) -> int:
    from scoring.tools.builders.citation_text import as_markdown, counter_of
    from tasks.types.citation_text.instances import data_sets, read_instances
    from tasks.types.files import open_inputs

    count = counter_of(args.tokenizer) if args.tokenizer else None
    sets = data_sets(read_instances(open_inputs(args.gold), with_targets=True), count)
    unit = "tokens" if count else "words"
    facts = {"counted_in": unit, "data_sets": [asdict(data_set) for data_set in sets]}
    return say(args, facts, *list(as_markdown(sets, unit))[:-1])


def tagger_overlap(args: Given) -> int:
    from scoring.papers.tagger_overlap import overlaps
    from scoring.tools.training import read_labelled
    from tasks.types.citation_text.instances import read_instances
    from tasks.types.files import open_inputs

    if args.words < 1:
        raise OptionRefused(f"--words {args.words}: expected 1 or more")
    sentences = [sentence.text for sentence in read_labelled(args.labelled)]
    instances = read_instances(open_inputs(args.gold), with_targets=True)
    sets = overlaps(sentences, instances, length=args.words)
    lines = (
        f"{one.dataset}: {one.texts_sharing} of {one.texts} texts share {args.words} words in a row with"
        f" a training sentence, {one.texts_holding} hold one as a whole; that is {one.sentences_shared}"
        f" and {one.sentences_held} of {one.sentences} sentences of so many words"
        for one in sets
    )
    return say(args, {"words": args.words, "data_sets": [asdict(one) for one in sets]}, *lines)


def sweep_corpus(args: Given) -> int:
    from scoring.papers.resolution_sweep import NOTHING, as_data, as_markdown, read_printed, sweep
    from scoring.tools.builders.resolution import ResolutionRules

    rules = ResolutionRules(
        fewest_references=args.fewest_references,
        collection=args.collection,
        inlinks_without=args.inlinks_without,
        around=args.around,
    )
    printed = read_printed(args.published) if args.published else NOTHING
    swept = sweep(args.corpus, rules, form=args.form)
    facts = json.dumps(as_data(swept, printed), ensure_ascii=False, indent=1)
    return say(args, facts, *as_markdown(swept, printed))
