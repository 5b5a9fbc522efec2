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
    OptionsParser,
    ParsedArguments,
    add_declared_commands,
    collect_dataclass_arguments,
    print_output,
    print_step,
    write_json_lines,
)
from scoring.offline.gold_key import build_gold_key
from scoring.offline.scoring import (
    ScoringRequest,
    build_scores_output,
    format_json,
    read_split,
    save_run_statistics,
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
from tasks.types.base import OFFICIAL, validate_option_values
from tasks.types.clsumm.options import ANNOTATION_OPTION
from tasks.types.clsumm.topics import read_input_topics, read_topics
from tasks.types.files import open_files_of_all_inputs, open_input_files
from tasks.types.problems import raise_if_any_problem_is_fatal
from tasks.types.runs import read_run

POSITIONAL_TASK_TYPE, PILOT_PAPER = "positional-citations", "cl-summ-2014"
WAYS = MARK_AT_SENTENCE_ENDS, MARK_BY_OVERLAP, MARK_BY_LABELS = (
    "sentence-ends",
    "overlap",
    "labels",
)


def add_commands(commands: Any, options_of: OptionsParser) -> None:
    names = {
        **globals(),
        "METHODS": METHODS,
        "HAVE_HUMAN_LINE": TASK_TYPES_WITH_HUMAN_LINE,
    }
    add_declared_commands(
        commands, Path(__file__).with_suffix(".toml"), names, options_of=options_of
    )


def _read_scoring_arguments(
    args: ParsedArguments,
) -> tuple[TaskType, str, Mapping[str, str], Split]:
    chosen = task_type(args.type)
    rules, options = (
        chosen.validate_rule_set_name(args.rules),
        args.options_of(chosen, args.option),
    )
    return chosen, rules, options, read_split(chosen, args.gold, options)


def print_human_lines(args: ParsedArguments) -> int:
    from scoring.offline.evaluate import IntervalSettings
    from scoring.papers.human_line import score_each_annotator

    chosen, rules, options, split = _read_scoring_arguments(args)
    resampling = IntervalSettings(
        resamples=args.intervals, seed=args.seed, method=args.method
    )
    lines = score_each_annotator(
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
    return print_output(args, format_json(facts), *words)


def print_human_line(args: ParsedArguments) -> int:
    from scoring.offline.evaluate import IntervalSettings
    from scoring.offline.parts import parse_part
    from scoring.papers.human_line import score_annotators_as_one_run

    chosen, rules, options, split = _read_scoring_arguments(args)
    key = build_gold_key(args)
    scoring = ScoringRequest(
        task_type=chosen,
        gold=args.gold,
        run=Path(),
        rules=rules,
        options=options,
        key=key,
    )
    resampling = IntervalSettings(
        resamples=args.intervals, seed=args.seed, method=args.method
    )
    part = parse_part(args.part) if args.part else None
    scores, pairs = score_annotators_as_one_run(
        chosen,
        split,
        rules=rules,
        options=options,
        resampling=resampling,
        part=part,
        key=key,
    )
    if args.statistics:
        save_run_statistics(scoring, args.statistics, scores, pairs)
    facts = build_scores_output(scoring, split, scores) | {"run": {"sha256": ""}}
    lines = (
        f"{name:<40} {row.value:.6f}\n{'':<40} {row.signature}"
        for name, row in scores.metrics.items()
    )
    return print_output(
        args, format_json(facts | ({"part": str(part)} if part else {})), *lines
    )


def print_facet_folds(args: ParsedArguments) -> int:
    from scoring.papers.facet_folds import convert_pairs_to_json
    from scoring.tools.baselines.clsumm_facets import list_facet_pairs

    options = validate_option_values(
        "facet-folds", (ANNOTATION_OPTION,), {"annotation": args.annotation}
    )
    facts = convert_pairs_to_json(
        list_facet_pairs(read_topics(open_files_of_all_inputs(args.gold), options))
    )
    lines = [f"{facet:<30} {count:>6}" for facet, count in facts["facets"].items()]
    for protocol, classifiers in facts["folds"].items():
        lines += [
            f"{name + ', ' + protocol:<30} {f1['weighted']:.3f}"
            for name, f1 in classifiers.items()
        ]
    return print_output(args, facts, *lines)


def compute_cells(args: ParsedArguments) -> int:
    from scoring.papers.cells import (
        ComputedFigures,
        ReproducedPaper,
        compute_figures,
        describe_changed_values,
        describe_unrecorded_values,
        papers,
    )
    from scoring.papers.cells.page import render_page, summarise_computed_figures

    faults: list[str] = []
    changes: list[str] = []
    results: list[tuple[ReproducedPaper, ComputedFigures]] = []
    for paper in papers(args.paper):
        computed = compute_figures(
            paper, args.data.resolve(), quick=args.quick, progress=print_step
        )
        results.append((paper, computed))
        changes += describe_changed_values(paper, computed.values)
        lines, failing = summarise_computed_figures(paper, computed)
        faults += [*computed.faults, *failing]
        if not args.out:
            faults += describe_unrecorded_values(paper, computed.values)
        print("\n".join(lines), flush=True)
    if changes and not (args.out and args.accept):
        faults += changes
        if args.out:
            faults.append(
                f"{args.out} is not written: `--accept` records the moved values"
            )
    elif args.out:
        for paper, computed in results:
            paper.recorded_values.update(computed.values)
            paper.record()
        args.out.write_text(render_page(papers()), encoding="utf-8")
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    return int(bool(faults))


def contrast_class(args: ParsedArguments) -> int:
    from scoring.papers.class_contrast import contrast_class_with_others

    chosen, rules, options, split = _read_scoring_arguments(args)
    runs = [
        chosen.pairs_of(split, _read_run(chosen, split, run, options), rules, options)
        for run in args.run
    ]
    asked = {name: getattr(args, name) for name in ("metric", "dimension", "label")}
    found = contrast_class_with_others(
        chosen, runs, rules=rules, options=options, **asked
    )
    message = f"easier in {found.above} of {found.units} runs, by {found.mean:.6f}"
    return print_output(
        args, asdict(found), f"{message} [{found.low:.6f}, {found.high:.6f}]"
    )


def place_marks(args: ParsedArguments) -> int:
    from scoring.metrics.entailment import build_entailment_judge
    from scoring.papers.mark_places import (
        choose_mark_by_overlap,
        make_label_mark_chooser,
        move_marks_to_sentence_ends,
        replace_marks,
    )
    from tasks.types.positional_citations.questions import read_questions

    _, run, options = _read_positional_run(args)
    if args.how == MARK_BY_LABELS and options["entailment"] == "none":
        print(
            "python -m scoring: --how labels needs --option entailment=labels:PATH",
            file=sys.stderr,
        )
        return 2
    questions = {
        question.id: question
        for question in read_questions(open_files_of_all_inputs(args.gold))
    }
    if args.how == MARK_AT_SENTENCE_ENDS:
        moved = {
            name: move_marks_to_sentence_ends(output) for name, output in run.items()
        }
    else:
        marking = (
            choose_mark_by_overlap
            if args.how == MARK_BY_OVERLAP
            else make_label_mark_chooser(build_entailment_judge(options))
        )
        moved = {
            name: replace_marks(output, questions[name], marking)
            for name, output in run.items()
        }
    count = write_json_lines(
        args.out, ({"id": name, "output": output} for name, output in moved.items())
    )
    return print_output(args, {"lines": count}, f"{args.out}: {count} lines")


def print_mixtures(args: ParsedArguments) -> int:
    from scoring.papers.mark_places import score_mixtures

    _, run, options = _read_positional_run(args)
    mixed = list(score_mixtures(run, steps=args.steps, seed=args.seed, options=options))
    lines = [f"{'share':>6} {'positional':>14} {'CVCP':>8} {'pooled':>8}"]
    for mixture in mixed:
        count = "{positional} of {answers}".format(**mixture)
        lines.append(
            "{share:>6.2f} {count:>14} {cvcp:>8.4f} {pooled:>8.4f}".format(
                count=count, **mixture
            )
        )
    return print_output(args, format_json({"mixtures": mixed}), *lines)


def _read_positional_run(args: ParsedArguments) -> tuple[Split, Any, Mapping[str, str]]:
    chosen = task_type(POSITIONAL_TASK_TYPE)
    # `mix-positions` has no options.
    options = args.options_of(chosen, getattr(args, "option", ()))
    split = read_split(chosen, args.gold, options)
    return split, _read_run(chosen, split, args.run, options), options


def _read_run(
    chosen: TaskType, split: Split, path: Path, options: Mapping[str, str]
) -> Any:
    run, problems = read_run(chosen, open_input_files(path), split.index, options)
    raise_if_any_problem_is_fatal(problems)
    return run


def _read_claim_pairs(args: ParsedArguments) -> tuple[Pairs, bool, Mapping[str, str]]:
    chosen = task_type(POSITIONAL_TASK_TYPE)
    rules = chosen.validate_rule_set_name(args.rules)
    split, run, options = _read_positional_run(args)
    return chosen.pair(split, run, rules, options), rules == OFFICIAL, options


def write_claims(args: ParsedArguments) -> int:
    from scoring.papers.claim_check import sheet

    rows, is_official, _ = _read_claim_pairs(args)
    count = write_json_lines(args.out, list(sheet(rows, is_official=is_official)))
    return print_output(args, {"claims": count}, f"{args.out}: {count} claims")


def check_claims(args: ParsedArguments) -> int:
    from scoring.metrics.entailment import build_entailment_judge
    from scoring.offline.entailment_exchange import build_pair_record
    from scoring.papers.claim_check import (
        CitedClaim,
        build_claim_pairs,
        compare_labels_by_data_set,
        find_pending_pairs,
        read_rewritten_claims,
        sheet,
    )

    rows, is_official, options = _read_claim_pairs(args)
    questions = {
        question.id: question for question in rows.gold if question is not None
    }
    claims = (CitedClaim.of(line) for line in sheet(rows, is_official=is_official))
    question_of = {claim: questions[claim.id] for claim in claims}
    rewritten = build_claim_pairs(
        read_rewritten_claims(args.sheet, question_of), question_of
    )
    judge = build_entailment_judge(options)
    if args.pairs:
        write_json_lines(
            args.pairs, map(build_pair_record, find_pending_pairs(rewritten, judge))
        )
    counts = list(compare_labels_by_data_set(rewritten, question_of, judge))
    heads = f"{'claims':>8} {'same':>8} {'share':>8} {'lost':>6} {'gained':>6} {'pending':>8}"
    lines = [f"labels by {judge.name}", f"{'data set':<20} {heads}"]
    for data_set in counts:
        decided = data_set["claims"] - data_set["pending"]
        share = f"{100 * data_set['same'] / decided:.2f} %" if decided else "-"
        lines.append(
            "{dataset:<20} {claims:>8} {same:>8} {share:>8} {no_longer_entailed:>6} {entailed_now:>6} "
            "{pending:>8}".format(share=share, **data_set)
        )
    return print_output(args, {"entailment": judge.name, "data_sets": counts}, *lines)


def write_contexts(args: ParsedArguments) -> int:
    from scoring.papers.context_check import (
        read_candidate_titles,
        sample_contexts,
        write_question_sheet,
    )

    files = open_files_of_all_inputs(args.gold)
    contexts = sample_contexts(files, args.contexts, args.seed)
    count = write_question_sheet(
        args.out, contexts, read_candidate_titles(files, contexts)
    )
    facts = {"contexts": len(contexts), "lines": count}
    return print_output(
        args, facts, f"{args.out}: {len(contexts)} contexts, {count} lines"
    )


def check_contexts(args: ParsedArguments) -> int:
    from scoring.papers.context_check import (
        collect_known_questions,
        parse_sheet_answers,
        read_filled_sheet,
        summarise_answers,
    )

    tables = {path: read_filled_sheet(path) for path in args.sheet}
    may_be = collect_known_questions(
        open_files_of_all_inputs(args.gold), tables.values()
    )
    checks = list(
        summarise_answers(
            [parse_sheet_answers(path, table, may_be) for path, table in tables.items()]
        )
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
    return print_output(
        args,
        {"people": len(tables), "checked": [line.as_dict() for line in checks]},
        *lines,
    )


def convert_biomedsumm(args: ParsedArguments) -> int:
    from scoring.papers.biomedsumm import convert_topics

    counts = dict(sorted(convert_topics(args.data, args.out).items()))
    lines = (f"  {count:,} references {how}" for how, count in counts.items())
    return print_output(args, {"references": counts}, f"topics in {args.out}", *lines)


def convert_answers(args: ParsedArguments) -> int:
    from scoring.papers.released_answers import convert_released_answers

    count = convert_released_answers(args.data, gold=args.gold_out, run=args.out)
    message = f"{args.gold_out}: {count} questions; {args.out}: {count} answers"
    return print_output(args, {"questions": count}, message)


def describe_topics(args: ParsedArguments) -> int:
    from scoring.tools.builders.topics import (
        compute_corpus_statistics,
        format_statistics_rows,
    )

    options = validate_option_values(
        "describe-topics", (ANNOTATION_OPTION,), {"annotation": args.annotation}
    )
    files = open_files_of_all_inputs(args.gold or args.inputs)
    gold = read_topics(files, options) if args.gold else []
    if not (inputs := read_input_topics(files, options)):
        raise InputRefused(
            [Problem(message="no topic with a reference paper was found")]
        )
    facts = compute_corpus_statistics(inputs, gold)
    return print_output(
        args,
        facts,
        *(f"{name:<28} {value}" for name, value in format_statistics_rows(facts)),
    )


def describe_citation_texts(args: ParsedArguments) -> int:
    from scoring.tools.builders.citation_text import (
        format_statistics_table,
        make_token_counter,
    )
    from tasks.types.citation_text.instances import (
        compute_data_set_statistics,
        read_instances,
    )

    count = make_token_counter(args.tokenizer) if args.tokenizer else None
    sets = compute_data_set_statistics(
        read_instances(open_files_of_all_inputs(args.gold), with_targets=True), count
    )
    unit = "tokens" if count else "words"
    facts = {"counted_in": unit, "data_sets": [asdict(data_set) for data_set in sets]}
    return print_output(args, facts, *list(format_statistics_table(sets, unit))[:-1])


def tagger_overlap(args: ParsedArguments) -> int:
    from scoring.papers.tagger_overlap import count_overlaps
    from scoring.tools.training import read_labelled_sentences
    from tasks.types.citation_text.instances import read_instances

    if args.words < 1:
        raise OptionRefused(f"--words {args.words}: expected 1 or more")
    sentences = [sentence.text for sentence in read_labelled_sentences(args.labelled)]
    instances = read_instances(open_files_of_all_inputs(args.gold), with_targets=True)
    sets = list(count_overlaps(sentences, instances, length=args.words))
    lines = (
        f"{one['dataset']}: {one['texts_sharing']} of {one['texts']} texts share {args.words} words in a row"
        f" with a training sentence, {one['texts_holding']} hold one as a whole; that is"
        f" {one['sentences_shared']} and {one['sentences_held']} of {one['sentences']} sentences of so many"
        " words"
        for one in sets
    )
    return print_output(args, {"words": args.words, "data_sets": sets}, *lines)


def sweep_corpus(args: ParsedArguments) -> int:
    from scoring.papers.resolution_sweep import (
        convert_to_table_rows,
        format_accuracy_table,
        sweep_methods_and_windows,
    )
    from scoring.tools.builders.resolution import ResolutionRules

    swept = sweep_methods_and_windows(
        args.corpus,
        ResolutionRules(**collect_dataclass_arguments(args, ResolutionRules)),
        form=args.form,
        progress=print_step,
    )
    return print_output(
        args,
        json.dumps(convert_to_table_rows(*swept), ensure_ascii=False, indent=1),
        *format_accuracy_table(*swept),
    )
