"""Implement the commands `python -m scoring papers …`, which reproduce figures of the
five papers.
"""

import json
import math
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scoring.offline.arguments import (
    Given,
    OptionsOf,
    add_declared,
    say,
    say_step,
    settings_of,
    write_lines,
)
from scoring.offline.gold_key import gold_key_of
from scoring.offline.scoring import (
    Scoring,
    as_json,
    keep_statistics,
    printed,
    read_split,
)
from scoring.stats.interval_methods import METHODS
from scoring.tools.baselines import TASK_TYPES_WITH_HUMAN_LINE
from tasks.types import (
    InputRefused,
    OptionRefused,
    Pairs,
    Problem,
    Split,
    TaskType,
    task_type,
)
from tasks.types.base import OFFICIAL, checked_options
from tasks.types.clsumm.options import ANNOTATION
from tasks.types.clsumm.topics import read_input_topics, read_topics
from tasks.types.files import open_input, open_inputs
from tasks.types.problems import refuse
from tasks.types.runs import read_run

POSITIONAL, PILOT = "positional-citations", "cl-summ-2014"
WAYS = SENTENCE_ENDS, OVERLAP, LABELS = ("sentence-ends", "overlap", "labels")


def add_commands(commands: Any, options_of: OptionsOf) -> None:
    names = {
        **globals(),
        "METHODS": METHODS,
        "HAVE_HUMAN_LINE": TASK_TYPES_WITH_HUMAN_LINE,
    }
    add_declared(
        commands, Path(__file__).with_suffix(".toml"), names, options_of=options_of
    )


def _asked(args: Given) -> tuple[TaskType, str, Mapping[str, str], Split]:
    chosen = task_type(args.type)
    rules, options = (
        chosen.checked_rules(args.rules),
        args.options_of(chosen, args.option),
    )
    return chosen, rules, options, read_split(chosen, args.gold, options)


def print_human_lines(args: Given) -> int:
    from scoring.offline.evaluate import Resampling
    from scoring.papers.human_line import human_lines

    chosen, rules, options, split = _asked(args)
    resampling = Resampling(
        resamples=args.intervals, seed=args.seed, method=args.method
    )
    lines = human_lines(
        chosen, split, rules=rules, options=options, resampling=resampling
    )
    facts = {
        "task_type": chosen.slug,
        "rules": rules,
        "lines": [line.as_dict() for line in lines],
    }
    words = [] if lines else ["no topic has two annotators"]
    values = [
        metric.value
        for line in lines
        for metric in line.against_others.metrics.values()
    ]
    if any(map(math.isnan, values)) and not options.get("stopwords"):
        words.append(
            "nan: not defined; ROUGE-S* needs the stop words of ROUGE-1.5.5, `--option stopwords=PATH`"
        )
    for line in lines:
        for name, value in line.against_others.metrics.items():
            with_own = line.against_all.metrics[name].value
            head = f"{line.annotator or 'together':<16} {name:<40}"
            words.append(f"{head} {value.value:.6f}  with own {with_own:.6f}")
    return say(args, as_json(facts), *words)


def print_human_line(args: Given) -> int:
    from scoring.offline.evaluate import Resampling
    from scoring.offline.parts import read_part
    from scoring.papers.human_line import as_one_run

    chosen, rules, options, split = _asked(args)
    key = gold_key_of(args)
    scoring = Scoring(
        task_type=chosen,
        gold=args.gold,
        run=Path(),
        rules=rules,
        options=options,
        key=key,
    )
    resampling = Resampling(
        resamples=args.intervals, seed=args.seed, method=args.method
    )
    part = read_part(args.part) if args.part else None
    scores, pairs = as_one_run(
        chosen,
        split,
        rules=rules,
        options=options,
        resampling=resampling,
        part=part,
        key=key,
    )
    if args.statistics:
        keep_statistics(scoring, args.statistics, scores, pairs)
    facts = printed(scoring, split, scores) | {"run": {"sha256": ""}}
    lines = (
        f"{name:<40} {row.value:.6f}\n{'':<40} {row.signature}"
        for name, row in scores.metrics.items()
    )
    return say(args, as_json(facts | ({"part": str(part)} if part else {})), *lines)


def print_facet_folds(args: Given) -> int:
    from scoring.papers.facet_folds import as_data
    from scoring.tools.baselines.clsumm_facets import list_facet_pairs

    options = checked_options(
        "facet-folds", (ANNOTATION,), {"annotation": args.annotation}
    )
    facts = as_data(list_facet_pairs(read_topics(open_inputs(args.gold), options)))
    lines = [f"{facet:<30} {count:>6}" for facet, count in facts["facets"].items()]
    for protocol, classifiers in facts["folds"].items():
        lines += [
            f"{name + ', ' + protocol:<30} {f1['weighted']:.3f}"
            for name, f1 in classifiers.items()
        ]
    return say(args, facts, *lines)


def compute_cells(args: Given) -> int:
    from scoring.papers.cells import Computed, Paper, compute, moved, papers, unrecorded
    from scoring.papers.cells.page import page, told

    faults: list[str] = []
    changes: list[str] = []
    results: list[tuple[Paper, Computed]] = []
    for paper in papers(args.paper):
        computed = compute(
            paper, args.data.resolve(), quick=args.quick, progress=say_step
        )
        results.append((paper, computed))
        changes += moved(paper, computed.values)
        lines, failing = told(paper, computed)
        faults += [*computed.faults, *failing]
        if not args.out:
            faults += unrecorded(paper, computed.values)
        print("\n".join(lines), flush=True)
    if changes and not (args.out and args.accept):
        faults += changes
        if args.out:
            faults.append(
                f"{args.out} is not written: `--accept` records the moved values"
            )
    elif args.out:
        for paper, computed in results:
            paper.recorded.update(computed.values)
            paper.record()
        args.out.write_text(page(papers()), encoding="utf-8")
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return int(bool(faults))


def contrast_class(args: Given) -> int:
    from scoring.papers.class_contrast import contrast

    chosen, rules, options, split = _asked(args)
    runs = [
        chosen.pairs_of(split, _run(chosen, split, run, options), rules, options)
        for run in args.run
    ]
    asked = {name: getattr(args, name) for name in ("metric", "dimension", "label")}
    found = contrast(chosen, runs, rules=rules, options=options, **asked)
    message = f"easier in {found.above} of {found.units} runs, by {found.mean:.6f}"
    return say(args, asdict(found), f"{message} [{found.low:.6f}, {found.high:.6f}]")


def place_marks(args: Given) -> int:
    from scoring.metrics.entailment import judge_of
    from scoring.papers.mark_places import (
        at_sentence_ends,
        by_labels,
        by_overlap,
        marked_anew,
    )
    from tasks.types.positional_citations.questions import read_questions

    _, run, options = _positional_run(args)
    if args.how == LABELS and options["entailment"] == "none":
        print(
            "python -m scoring: --how labels needs --option entailment=labels:PATH",
            file=sys.stderr,
        )
        return 2
    questions = {
        question.id: question for question in read_questions(open_inputs(args.gold))
    }
    if args.how == SENTENCE_ENDS:
        moved = {name: at_sentence_ends(output) for name, output in run.items()}
    else:
        marking = by_overlap if args.how == OVERLAP else by_labels(judge_of(options))
        moved = {
            name: marked_anew(output, questions[name], marking)
            for name, output in run.items()
        }
    count = write_lines(
        args.out, ({"id": name, "output": output} for name, output in moved.items())
    )
    return say(args, {"lines": count}, f"{args.out}: {count} lines")


def print_mixtures(args: Given) -> int:
    from scoring.papers.mark_places import mixtures

    _, run, options = _positional_run(args)
    mixed = list(mixtures(run, steps=args.steps, seed=args.seed, options=options))
    lines = [f"{'share':>6} {'positional':>14} {'CVCP':>8} {'pooled':>8}"]
    for mixture in mixed:
        count = "{positional} of {answers}".format(**mixture)
        lines.append(
            "{share:>6.2f} {count:>14} {cvcp:>8.4f} {pooled:>8.4f}".format(
                count=count, **mixture
            )
        )
    return say(args, as_json({"mixtures": mixed}), *lines)


def _positional_run(args: Given) -> tuple[Split, Any, Mapping[str, str]]:
    chosen = task_type(POSITIONAL)
    # `mix-positions` has no options.
    options = args.options_of(chosen, getattr(args, "option", ()))
    split = read_split(chosen, args.gold, options)
    return split, _run(chosen, split, args.run, options), options


def _run(chosen: TaskType, split: Split, path: Path, options: Mapping[str, str]) -> Any:
    run, problems = read_run(chosen, open_input(path), split.index, options)
    refuse(problems)
    return run


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
    from scoring.papers.claim_check import (
        Claim,
        checked,
        pairs_of,
        pending,
        read_sheet,
        sheet,
    )

    rows, is_official, options = _claims(args)
    questions = {
        question.id: question for question in rows.gold if question is not None
    }
    claims = (Claim.of(line) for line in sheet(rows, is_official=is_official))
    question_of = {claim: questions[claim.id] for claim in claims}
    rewritten = pairs_of(read_sheet(args.sheet, question_of), question_of)
    judge = judge_of(options)
    if args.pairs:
        write_lines(args.pairs, map(pair_line, pending(rewritten, judge)))
    counts = list(checked(rewritten, question_of, judge))
    heads = f"{'claims':>8} {'same':>8} {'share':>8} {'lost':>6} {'gained':>6} {'pending':>8}"
    lines = [f"labels by {judge.name}", f"{'data set':<20} {heads}"]
    for data_set in counts:
        decided = data_set["claims"] - data_set["pending"]
        share = f"{100 * data_set['same'] / decided:.2f} %" if decided else "-"
        lines.append(
            "{dataset:<20} {claims:>8} {same:>8} {share:>8} {no_longer_entailed:>6} {entailed_now:>6} "
            "{pending:>8}".format(share=share, **data_set)
        )
    return say(args, {"entailment": judge.name, "data_sets": counts}, *lines)


def write_contexts(args: Given) -> int:
    from scoring.papers.context_check import sampled, titles, write_sheet

    files = open_inputs(args.gold)
    contexts = sampled(files, args.contexts, args.seed)
    count = write_sheet(args.out, contexts, titles(files, contexts))
    facts = {"contexts": len(contexts), "lines": count}
    return say(args, facts, f"{args.out}: {len(contexts)} contexts, {count} lines")


def check_contexts(args: Given) -> int:
    from scoring.papers.context_check import answers, checked, known, read_table

    tables = {path: read_table(path) for path in args.sheet}
    may_be = known(open_inputs(args.gold), tables.values())
    checks = list(
        checked([answers(path, table, may_be) for path, table in tables.items()])
    )
    more = f" {'agree':>8} {'95 %':>16} {'alpha':>6}" if len(tables) > 1 else ""
    lines = [
        f"{'asked':<16} {'contexts':>8} {'answers':>8} {'right':>8} {'95 %':>16}{more}"
    ]
    for line in checks:
        if len(tables) > 1:
            nominal = "-" if math.isnan(line.alpha) else f"{line.alpha:.3f}"
            more = f" {line.agreeing} {nominal:>6}"
        lines.append(
            f"{line.asked:<16} {line.contexts:>8} {line.right.of:>8} {line.right}{more}"
        )
    return say(
        args,
        {"people": len(tables), "checked": [line.as_dict() for line in checks]},
        *lines,
    )


def convert_biomedsumm(args: Given) -> int:
    from scoring.papers.biomedsumm import convert

    counts = dict(sorted(convert(args.data, args.out).items()))
    lines = (f"  {count:,} references {how}" for how, count in counts.items())
    return say(args, {"references": counts}, f"topics in {args.out}", *lines)


def convert_answers(args: Given) -> int:
    from scoring.papers.released_answers import convert

    count = convert(args.data, gold=args.gold_out, run=args.out)
    message = f"{args.gold_out}: {count} questions; {args.out}: {count} answers"
    return say(args, {"questions": count}, message)


def describe_topics(args: Given) -> int:
    from scoring.tools.builders.topics import (
        compute_corpus_statistics,
        format_statistics_rows,
    )

    options = checked_options(
        "describe-topics", (ANNOTATION,), {"annotation": args.annotation}
    )
    files = open_inputs(args.gold or args.inputs)
    gold = read_topics(files, options) if args.gold else []
    if not (inputs := read_input_topics(files, options)):
        raise InputRefused(
            [Problem(message="no topic with a reference paper was found")]
        )
    facts = compute_corpus_statistics(inputs, gold)
    return say(
        args,
        facts,
        *(f"{name:<28} {value}" for name, value in format_statistics_rows(facts)),
    )


def describe_citation_texts(args: Given) -> int:
    from scoring.tools.builders.citation_text import (
        format_statistics_table,
        make_token_counter,
    )
    from tasks.types.citation_text.instances import data_sets, read_instances

    count = make_token_counter(args.tokenizer) if args.tokenizer else None
    sets = data_sets(read_instances(open_inputs(args.gold), with_targets=True), count)
    unit = "tokens" if count else "words"
    facts = {"counted_in": unit, "data_sets": [asdict(data_set) for data_set in sets]}
    return say(args, facts, *list(format_statistics_table(sets, unit))[:-1])


def tagger_overlap(args: Given) -> int:
    from scoring.papers.tagger_overlap import overlaps
    from scoring.tools.training import read_labelled
    from tasks.types.citation_text.instances import read_instances

    if args.words < 1:
        raise OptionRefused(f"--words {args.words}: expected 1 or more")
    sentences = [sentence.text for sentence in read_labelled(args.labelled)]
    instances = read_instances(open_inputs(args.gold), with_targets=True)
    sets = list(overlaps(sentences, instances, length=args.words))
    lines = (
        f"{one['dataset']}: {one['texts_sharing']} of {one['texts']} texts share {args.words} words in a row"
        f" with a training sentence, {one['texts_holding']} hold one as a whole; that is"
        f" {one['sentences_shared']} and {one['sentences_held']} of {one['sentences']} sentences of so many"
        " words"
        for one in sets
    )
    return say(args, {"words": args.words, "data_sets": sets}, *lines)


def sweep_corpus(args: Given) -> int:
    from scoring.papers.resolution_sweep import as_data, as_markdown, sweep
    from scoring.tools.builders.resolution import ResolutionRules

    swept = sweep(
        args.corpus,
        ResolutionRules(**settings_of(args, ResolutionRules)),
        form=args.form,
        progress=say_step,
    )
    return say(
        args,
        json.dumps(as_data(*swept), ensure_ascii=False, indent=1),
        *as_markdown(*swept),
    )
