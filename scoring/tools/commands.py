"""Implement the commands for baselines, gold and taggers, which are `baselines`,
`baseline`, `write-texts`, `build-…` and `train-tagger`.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.offline.arguments import (
    OptionsParser,
    ParsedArguments,
    add_declared_commands,
    collect_dataclass_arguments,
    print_output,
    print_step,
    write_json_lines,
)
from scoring.tools.baselines import (
    UnknownBaseline,
    baseline,
    baselines,
    find_baselines_of_task_type,
)
from tasks.types import InputRefused, OptionRefused, Problem, task_type
from tasks.types.base import parse_option_arguments
from tasks.types.files import CURRENT_PARSING_RULES_VERSION, open_files_of_all_inputs

if TYPE_CHECKING:
    from scoring.tools.builders.parts import Workers
    from scoring.tools.builders.season import SeasonFolder


def add_commands(commands: Any, options_of: OptionsParser) -> None:
    add_declared_commands(
        commands, Path(__file__).with_suffix(".toml"), globals(), options_of=options_of
    )


def list_baselines(args: ParsedArguments) -> int:
    listed, names = baselines().values(), ("name", "task_types", "summary", "source")
    lines = (
        f"{one.name:<32} {', '.join(one.task_types)}\n{'':<32} {one.summary}"
        for one in listed
    )
    return print_output(
        args, [{name: getattr(one, name) for name in names} for one in listed], *lines
    )


def write_run(args: ParsedArguments) -> int:
    options = parse_option_arguments(args.option)
    try:
        if args.of_folder or os.path.isdir(args.name):  # noqa: PTH112
            folder = task_type(args.name)
            system = baseline(
                args.of_folder or next(iter(find_baselines_of_task_type(folder)), ""),
                folder,
            )
        else:
            system = baseline(args.name)
        system = system.with_options(options)
    except UnknownBaseline as unknown:
        print(f"python -m scoring: {unknown}", file=sys.stderr)
        return 2
    words = system.words(options)
    reading = CURRENT_PARSING_RULES_VERSION if args.reading is None else args.reading
    count = system.write(open_files_of_all_inputs(args.gold, reading=reading), args.out)
    lines = (f"{args.out}: {count} lines", *([words] if words else []))
    return print_output(args, {"lines": count, "rests_on": words}, *lines)


def write_texts(args: ParsedArguments) -> int:
    from scoring.tools.baselines.citation_text import (
        GenerationSettings,
        iterate_model_answers,
    )

    answers = list(
        iterate_model_answers(
            open_files_of_all_inputs(args.inputs),
            GenerationSettings(**collect_dataclass_arguments(args, GenerationSettings)),
        )
    )
    count = write_json_lines(args.out, answers)
    return print_output(args, {"lines": count}, f"{args.out}: {count} lines")


def build_diagnostic_split(args: ParsedArguments) -> int:
    from scoring.tools.builders.classes import (
        CANDIDATE_DESCRIPTIONS,
        CONTEXTS_PER_STRATUM,
        EACH_DIMENSION_SAMPLING,
        SamplingRules,
    )
    from scoring.tools.builders.datasheet import list_small_classes
    from scoring.tools.builders.diagnostic import (
        BASELINES,
        build_diagnostic,
        compare_builds,
        format_comparison_table,
        iterate_diagnostic_placements,
    )
    from tasks.types.citation_recommendation import CONTEXTS_FILE_NAME

    season = _open_season_folder(
        args, "citation-recommendation", iterate_diagnostic_placements
    )
    if args.drawn is not None and args.sampling == EACH_DIMENSION_SAMPLING:
        raise InputRefused([Problem(message="--drawn is for --sampling official")])
    rules = SamplingRules(
        **{
            "per_stratum": CONTEXTS_PER_STRATUM[args.sampling],
            **collect_dataclass_arguments(args, SamplingRules),
        }
    )
    how = {
        "form": args.form,
        "work": args.work,
        "sentences": args.sentences,
        "workers": _make_workers(args),
    }
    pipeline = None if args.tagger == "none" else args.tagger
    built = build_diagnostic(
        args.corpus, season, rules, pipeline=pipeline, progress=print_step, **how
    )
    if args.published:
        season = replace(
            season,
            placements=list(
                iterate_diagnostic_placements(args.published, built.candidates)
            ),
        )
    _write_season(season, () if args.no_baselines else BASELINES)
    selected, eligible = built.selected, built.eligible
    small = {
        name: told
        for name, counts in built.classes.items()
        if (told := list_small_classes(counts))
    }
    facts = {
        "contexts": selected,
        "eligible": eligible,
        "out": str(args.out),
        "small_classes": small,
    }
    facts |= {"candidates": built.candidates}
    words = [
        f"{selected:,} contexts of {eligible:,} that could be taken, in {args.out}"
    ]
    words.append(
        f"{built.candidates:,} candidates, {CANDIDATE_DESCRIPTIONS[rules.candidates]}"
    )
    words += [
        f"{name}: less than half of the largest class: {told}"
        for name, told in small.items()
    ]
    if args.agree_with:
        compared = list(
            format_comparison_table(
                compare_builds(season.gold / CONTEXTS_FILE_NAME, args.agree_with)
            )
        )
        (args.out / "agreement.md").write_text("\n".join(compared), encoding="utf-8")
        words += compared
    return print_output(args, facts, *words)


def build_resolution_gold(args: ParsedArguments) -> int:
    from scoring.tools.builders.resolution import (
        BASELINES,
        ResolutionRules,
        build_resolution,
        iterate_resolution_placements,
    )
    from scoring.tools.builders.season import make_baselines_of_methods

    season = _open_season_folder(
        args, "citation-resolution", iterate_resolution_placements
    )
    rules, workers = (
        ResolutionRules(**collect_dataclass_arguments(args, ResolutionRules)),
        _make_workers(args),
    )
    facts = build_resolution(
        args.corpus,
        season,
        rules,
        form=args.form,
        workers=workers,
        work=args.work,
        progress=print_step,
    )
    names = BASELINES if facts["contexts"] and not args.no_baselines else ()
    has_all = args.every_method or args.published
    _write_season(
        season,
        names,
        make_baselines_of_methods(season.gold) if names and has_all else {},
    )
    message = (
        f"{facts['contexts']:,} contexts of {facts['papers']:,} papers, in {args.out}"
    )
    return print_output(args, {**facts, "out": str(args.out)}, message)


def build_citation_texts(args: ParsedArguments) -> int:
    from scoring.tools.builders.citation_text import (
        BASELINES,
        add_data_set,
        load_data_set,
    )

    season = _open_season_folder(args, "citation-text")
    named = {"form": args.form, "dataset": args.name or ""}
    print_step("reading the data set")
    loaded = load_data_set(
        args.corpus, split=args.split, with_context=args.context, **named
    )
    print_step(f"writing {len(loaded.instances):,} instances")
    instances = add_data_set(loaded, season)
    _write_season(season, () if args.no_baselines else BASELINES)
    faults = Counter(fault["fault"] for fault in loaded.faults)
    counts = {
        "instances": len(loaded.instances),
        "in_all": len(instances),
        "faults": faults,
    }
    return print_output(
        args,
        {
            **counts,
            "dataset": loaded.dataset,
            "form": loaded.form,
            "out": str(args.out),
        },
        f"{len(loaded.instances):,} instances of {loaded.dataset} ({loaded.form}) in {args.out}",
        *(f"  {count:,} × {fault}, kept" for fault, count in faults.items()),
        f"{len(instances):,} instances in all",
    )


def build_topics(args: ParsedArguments) -> int:
    from scoring.tools.builders import topics

    rules = topics.TopicRules(**collect_dataclass_arguments(args, topics.TopicRules))
    facts = topics.build_topics(
        args.corpus, args.out, rules, form=args.form, progress=print_step
    )
    citances = facts.get("statistics", {}).get("citances", {}).get("sum", 0)
    built, eligible = len(facts["topics"]), facts["eligible"]
    message = f"{built:,} topics of {eligible:,} that could be one, {citances:,} citances, in {args.out}"
    return print_output(
        args,
        facts,
        message,
        *(f"  {n:,} left out: {why}" for why, n in facts["left_out"].items()),
    )


def train_tagger(args: ParsedArguments) -> int:
    """Train a tagger on all labelled sentences of the argument LABELLED.

    Without a test file, the printed figures are from another tagger, which was trained
    on nine tenths of the sentences and tested on the rest.
    """
    from scoring.metrics.discourse import TAGGER_MANIFEST_FILE
    from scoring.tools.training import (
        TrainingSettings,
        evaluate_tagger,
        make_tagger_manifest,
        read_labelled_sentences,
        split_off_test_sentences,
        train_sentence_tagger,
    )

    if args.strength <= 0 or args.least < 1:
        raise OptionRefused(
            f"--strength {args.strength} --least {args.least}: expected more than 0"
        )
    if args.decimals is not None and args.decimals < 0:
        raise OptionRefused(f"--decimals {args.decimals}: expected 0 or more")
    settings = TrainingSettings(
        strength=args.strength, least=args.least, decimals=args.decimals
    )
    sentences = read_labelled_sentences(args.labelled)
    tagger = train_sentence_tagger(sentences, settings)
    if args.test:
        figures = evaluate_tagger(tagger, sentences, read_labelled_sentences(args.test))
        evaluation = {"on": args.test.name, **figures}
    else:
        rest, tested = split_off_test_sentences(sentences, args.seed)
        figures = evaluate_tagger(train_sentence_tagger(rest, settings), rest, tested)
        evaluation = {"on": f"a tenth held out, seed {args.seed}", **figures}
    tagger.save(
        args.out, make_tagger_manifest(sentences, settings, args.labelled, evaluation)
    )
    lines = [
        f"{args.out}: {len(sentences)} sentences, labels {', '.join(tagger.labels)}"
    ]
    lines.append(f"sha256 {tagger.digest}")
    for name in ("test", "test_without_training_texts"):
        short = {
            key: evaluation[name][key] for key in ("sentences", "accuracy", "macro_f1")
        }
        lines.append(f"{name:<28} {json.dumps(short)}")
    return print_output(
        args, (args.out / TAGGER_MANIFEST_FILE).read_text().removesuffix("\n"), *lines
    )


def _make_workers(args: ParsedArguments) -> "Workers":
    from scoring.tools.builders.parts import Workers

    if args.cluster and not args.work:
        message = (
            "--cluster needs --work, a folder that all machines of the cluster see"
        )
        raise InputRefused([Problem(message=message)])
    return Workers(jobs=args.jobs, cluster=args.cluster)


def _open_season_folder(
    args: ParsedArguments,
    task_type: str,
    placements: Callable[[Path], Iterable[str]] | None = None,
) -> "SeasonFolder":
    """Return the season folder. Published results are parsed first, so that the command
    reports errors in them early.
    """
    from scoring.tools.builders.season import SeasonFolder

    published: dict[str, Any] = {}
    if placements and args.published:
        published = {
            "published": args.published,
            "placements": list(placements(args.published)),
        }
    slug = (
        args.slug
        or re.sub(r"[^a-z0-9]+", "-", args.out.resolve().name.lower()).strip("-")
        or "built"
    )
    args.out.mkdir(parents=True, exist_ok=True)
    return SeasonFolder(
        folder=args.out,
        slug=slug,
        title=args.title or slug.replace("-", " ").capitalize(),
        task_type=task_type,
        licence=args.licence,
        **published,
    )


def _write_season(season: "SeasonFolder", *baselines: Any) -> None:
    for name in season.write(*baselines):
        sys.stderr.write(f"left out, {name}\n")


def _make_name_parser(separators: str, words: str) -> Callable[[str], str]:
    def parse_name(text: str) -> str:
        if not re.fullmatch(rf"[a-z0-9]+(?:[{separators}][a-z0-9]+)*", text):
            raise argparse.ArgumentTypeError(
                f"“{text}” has other than small letters, digits{words}"
            )
        return text

    return parse_name


_slug, _data_set = (
    _make_name_parser("-", " and single hyphens"),
    _make_name_parser("-_", ", hyphens and underscores"),
)


def _thresholds(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"“{text}” is not two numbers such as 7,28.7"
        ) from None
    if not 0 <= low <= high:
        raise argparse.ArgumentTypeError(f"{text}: expected the lower one first")
    return low, high
