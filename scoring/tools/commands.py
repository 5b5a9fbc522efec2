"""The commands around baselines, gold and taggers: `baselines`, `baseline`, `write-texts`, `build-…` and
`train-tagger`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from tasks.types import InputRefused, OptionRefused, Problem, task_type

if TYPE_CHECKING:
    from scoring.tools.builders.parts import Workers
    from scoring.tools.builders.season import SeasonFolder

CITATION_TEXT_FORMS = ("auto", "aburaed", "lu", "chen", "xing")
TOPIC_FORMS = tuple(form for form in FORMS if form != "clsumm")
FIELDS_OF = ("auto", "cited", "citing")
SAMPLINGS = ("each", "official")
SPLITS = ("test", "val", "train")
MAX_COUNT = 100_000
TOPIC_RULES = {
    "seed": "decides the lot",
    "topics": "so many topics at most",
    "more_than_citations": "a reference paper has more than so many citations",
    "years_apart": "the first and the last citation are so many years apart",
    "fewest_citing": "so many papers of the corpus cite it",
    "most_others": "so many citing papers besides the oldest and the newest",
    "last_year": "reference papers have appeared by then",
}


def add_commands(commands: Any, options_of: OptionsOf) -> None:
    command = adding(commands, options_of)
    command("baselines", list_baselines, "list the built-in baselines")
    run = command("baseline", write_run, "write a built-in baseline's run")
    run.add_argument("name", help="a baseline, or the folder of a declared task")
    run.add_argument("of_folder", nargs="?", metavar="BASELINE", help="of the folder; the first it names")
    add_option(run)
    run.add_argument("--progress", action="store_true", help="problems as JSON objects on standard error")
    add_paths(run, "--gold")
    writing = command(
        "write-texts",
        write_texts,
        "write a run of citation texts by a sequence-to-sequence model from a folder",
    )
    writing.add_argument("--model", type=Path, required=True, metavar="DIR")
    add_paths(writing, "--inputs", "the inputs that participants have; of gold no target is read")
    writing.add_argument("--cited-only", action="store_true", help="the cited abstracts without context")
    count = whole_number(f": expected a whole number from 1 to {MAX_COUNT}", 1, MAX_COUNT)
    for name, default, help_text in (
        ("--max-input", 4096, "tokens that are read"),
        ("--max-output", 1024, "tokens that are written"),
        ("--beams", 1, "beams of the search"),
        ("--batch", 4, "texts that go through the model together"),
    ):
        add_number(writing, name, count, default, f"{help_text}, {default}")
    for added in (run, writing):
        added.add_argument("--out", type=Path, required=True, metavar="FILE")

    diagnostic = command("build-diagnostic", build_diagnostic_split, "build a diagnostic split from a corpus")
    resolution = command(
        "build-resolution", build_resolution_gold, "build gold for Citation Resolution from a corpus"
    )
    texts = command(
        "build-citation-text",
        build_citation_texts,
        "build gold for citation texts from the original files of a data set",
    )
    topics = command("build-topics", build_topics, "build CL-Summ topics for annotation from a corpus")
    forms_of = (FORMS, FORMS, CITATION_TEXT_FORMS, TOPIC_FORMS)
    for added, forms in zip((diagnostic, resolution, texts, topics), forms_of, strict=True):
        added.add_argument("corpus", type=Path)
        added.add_argument("--form", choices=forms, default="auto", help="how the corpus is written")
    for added in (diagnostic, resolution, texts):
        added.add_argument("--out", type=Path, required=True, metavar="DIR", help="the season folder")
        added.add_argument("--slug", type=_slug, metavar="NAME", help="of the season; the folder's name")
        added.add_argument("--title", metavar="TEXT", help="of the season")
        added.add_argument("--licence", default="", metavar="TEXT", help="under which the data is given")
        added.add_argument("--no-baselines", action="store_true", help="write no runs of baselines")
    _add_diagnostic_options(diagnostic)
    for added in (diagnostic, resolution):
        add_number(added, "--jobs", number_of("processes", 9999), 1, "processes that read the corpus")
        added.add_argument(
            "--work", type=Path, metavar="DIR", help="keep what was read there, and go on with what is there"
        )
        added.add_argument(
            "--cluster",
            default="",
            metavar="ADDRESS",
            help="of a Dask scheduler, whose machines all see --work",
        )
    add_resolution_options(resolution, around=1)
    for name, help_text in (
        ("texts", "give the full texts of candidates"),
        ("inlinks", "give what papers that are not tested say of candidates"),
    ):
        resolution.add_argument(f"--with-{name}", action="store_true", help=help_text)
    resolution.add_argument(
        "--every-method", action="store_true", help="write a run of every method with every window"
    )
    texts.add_argument("--split", choices=SPLITS, default=SPLITS[0])
    texts.add_argument("--name", type=_data_set, metavar="NAME", help="of the data set")
    texts.add_argument(
        "--context", action="store_true", help="give the citing abstract and the sentences around as well"
    )
    topics.add_argument("--out", type=Path, required=True, metavar="DIR")
    number = whole_number(" is not a whole number", 0, 999_999)
    for name, help_text in TOPIC_RULES.items():
        topics.add_argument(f"--{name.replace('_', '-')}", type=number, metavar="N", help=help_text)

    training = command("train-tagger", train_tagger, "train a tagger of sentences from labelled ones")
    training.add_argument("labelled", type=Path, metavar="LABELLED", help="JSON lines with text and label")
    training.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    training.add_argument(
        "--test", type=Path, metavar="LABELLED", help="what it is tested on; else a tenth is held out"
    )
    training.add_argument("--strength", type=float, default=5.0, metavar="C", help="the less, the smoother")
    training.add_argument("--least", type=int, default=2, metavar="N", help="terms in fewer sentences go")
    training.add_argument("--seed", type=int, default=0, metavar="S", help="what is held out")


def _add_diagnostic_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, metavar="S")
    command.add_argument(
        "--sampling",
        choices=SAMPLINGS,
        default=SAMPLINGS[0],
        help="each dimension on its own, or as the paper has it, without a context in two sets",
    )
    words = "contexts of each stratum: 10, or 3 where the sampling is official"
    add_number(command, "--per-stratum", int, None, words)
    words = "cited papers that are drawn of each stratum, for --sampling official; 10"
    add_number(command, "--drawn", number_of("papers"), None, words)
    command.add_argument("--most-per-class", type=int, default=1500, metavar="N")
    command.add_argument("--every-context", action="store_true", help="no sampling, no side conditions")
    command.add_argument(
        "--length-thresholds", type=_thresholds, metavar="LOW,HIGH", help="instead of those of the corpus"
    )
    command.add_argument(
        "--tagger", default="en_core_web_sm", metavar="PATH_OR_NAME", help="spaCy pipeline; `none` for none"
    )
    command.add_argument(
        "--sentences",
        default="rules",
        metavar="PATH_OR_NAME",
        help="spaCy package that splits texts into sentences, instead of our own `rules`",
    )
    command.add_argument(
        "--agree-with", type=Path, metavar="FILE", help="compare with classes given elsewhere"
    )
    command.add_argument(
        "--field-of",
        choices=FIELDS_OF,
        default=FIELDS_OF[0],
        help="the cited paper, or the citing one; auto: the cited one where the corpus knows half of them",
    )
    command.add_argument(
        "--published", type=Path, metavar="FILE", help="published results that the board stands beside"
    )


def list_baselines(args: Given) -> int:
    from scoring.tools.baselines import baselines

    listed = baselines().values()
    facts = [
        {"name": one.name, "task_types": list(one.task_types), "summary": one.summary, "source": one.source}
        for one in listed
    ]
    lines = (f"{one.name:<32} {', '.join(one.task_types)}\n{'':<32} {one.summary}" for one in listed)
    return say(args, facts, *lines)


def write_run(args: Given) -> int:
    from scoring.tools.baselines import UnknownBaseline, baseline, baselines_of
    from tasks.types.base import given_options
    from tasks.types.files import open_inputs

    options = given_options(args.option)
    try:
        if args.of_folder or os.path.isdir(args.name):  # noqa: PTH112
            folder = task_type(args.name)
            name = args.of_folder or next(iter(baselines_of(folder)), "")
            chosen = baseline(name, folder).with_options(options)
        else:
            chosen = baseline(args.name).with_options(options)
    except UnknownBaseline as unknown:
        print(f"python -m scoring: {unknown}", file=sys.stderr)
        return 2
    words = chosen.words(options)
    count = chosen.write(open_inputs(args.gold), args.out)
    lines = (f"{args.out}: {count} lines", *([words] if words else []))
    return say(args, {"lines": count, "rests_on": words}, *lines)


def write_texts(args: Given) -> int:
    from scoring.tools.baselines.citation_text import Writing, model_answers
    from tasks.types.files import open_inputs

    writing = Writing(**{field.name: getattr(args, field.name) for field in fields(Writing)})
    answers = list(model_answers(open_inputs(args.inputs), writing))
    count = write_lines(args.out, answers)
    return say(args, {"lines": count}, f"{args.out}: {count} lines")


def build_diagnostic_split(args: Given) -> int:
    from scoring.tools.builders.classes import EACH, PER_STRATUM, Rules
    from scoring.tools.builders.diagnostic import BASELINES, agreement, build_diagnostic, placements, table
    from tasks.types.citation_recommendation import CONTEXTS

    season = _season(args, "citation-recommendation")
    if args.published:
        season = replace(season, published=args.published, placements=list(placements(args.published)))
    if args.drawn is not None and args.sampling == EACH:
        raise InputRefused([Problem(message="--drawn is for --sampling official")])
    rules = Rules(
        seed=args.seed,
        sampling=args.sampling,
        per_stratum=PER_STRATUM[args.sampling] if args.per_stratum is None else args.per_stratum,
        drawn=args.drawn or Rules.drawn,
        most_per_class=args.most_per_class,
        every_context=args.every_context,
        length_thresholds=args.length_thresholds,
        field_of=args.field_of,
    )
    built = build_diagnostic(
        args.corpus,
        season,
        rules,
        form=args.form,
        pipeline=None if args.tagger == "none" else args.tagger,
        workers=_workers(args),
        work=args.work,
        sentences=args.sentences,
    )
    _write_season(season, () if args.no_baselines else BASELINES)
    selected, eligible = built.tables.selected, built.tables.eligible
    facts = {"contexts": selected, "eligible": eligible, "out": str(args.out)}
    words = [f"{selected:,} contexts of {eligible:,} that could be taken, in {args.out}"]
    if args.agree_with:
        compared = list(table(agreement(season.gold / CONTEXTS, args.agree_with)))
        (args.out / "agreement.md").write_text("\n".join(compared), encoding="utf-8")
        words += compared
    return say(args, facts, *words)


def build_resolution_gold(args: Given) -> int:
    from scoring.tools.builders.resolution import BASELINES, ResolutionRules, build_resolution
    from scoring.tools.builders.season import every_method

    season = _season(args, "citation-resolution")
    rules = ResolutionRules(
        fewest_references=args.fewest_references,
        collection=args.collection,
        with_texts=args.with_texts,
        with_inlinks=args.with_inlinks,
        around=args.around,
    )
    workers = _workers(args)
    facts = build_resolution(args.corpus, season, rules, form=args.form, workers=workers, work=args.work)
    names = BASELINES if facts["contexts"] and not args.no_baselines else ()
    _write_season(season, names, every_method(season.gold) if names and args.every_method else {})
    words = f"{facts['contexts']:,} contexts of {facts['papers']:,} papers, in {args.out}"
    return say(args, {**facts, "out": str(args.out)}, words)


def build_citation_texts(args: Given) -> int:
    from scoring.tools.builders.citation_text import BASELINES, add_data_set, counted, load

    season = _season(args, "citation-text")
    loaded = load(
        args.corpus, split=args.split, with_context=args.context, form=args.form, dataset=args.name or ""
    )
    instances = add_data_set(loaded, season)
    _write_season(season, () if args.no_baselines else BASELINES)
    faults = counted(loaded)
    counts = {"instances": len(loaded.instances), "in_all": len(instances), "faults": faults}
    return say(
        args,
        {**counts, "dataset": loaded.dataset, "form": loaded.form, "out": str(args.out)},
        f"{len(loaded.instances):,} instances of {loaded.dataset} ({loaded.form}) in {args.out}",
        *(f"  {count:,} × {fault}, kept" for fault, count in faults.items()),
        f"{len(instances):,} instances in all",
    )


def build_topics(args: Given) -> int:
    from scoring.tools.builders import topics

    chosen = {field.name: getattr(args, field.name) for field in fields(topics.TopicRules)}
    rules = topics.TopicRules(**{name: value for name, value in chosen.items() if value is not None})
    facts = topics.build_topics(args.corpus, args.out, rules, form=args.form)
    citances = facts.get("statistics", {}).get("citances", {}).get("sum", 0)
    built, eligible = len(facts["topics"]), facts["eligible"]
    words = f"{built:,} topics of {eligible:,} that could be one, {citances:,} citances, in {args.out}"
    return say(args, facts, words, *(f"  {n:,} left out: {why}" for why, n in facts["left_out"].items()))


def train_tagger(args: Given) -> int:
    """What is kept was trained on all of LABELLED; where a tenth is held out, the figures are of a tagger
    that was trained on the rest.
    """
    from scoring.metrics.discourse import MANIFEST
    from scoring.tools.training import Settings, evaluated, held_out, manifest, read_labelled, train

    if args.strength <= 0 or args.least < 1:
        raise OptionRefused(f"--strength {args.strength} --least {args.least}: expected more than 0")
    settings = Settings(strength=args.strength, least=args.least)
    sentences = read_labelled(args.labelled)
    tagger = train(sentences, settings)
    if args.test:
        figures = evaluated(tagger, sentences, read_labelled(args.test))
        evaluation = {"on": args.test.name, **figures}
    else:
        rest, tested = held_out(sentences, args.seed)
        figures = evaluated(train(rest, settings), rest, tested)
        evaluation = {"on": f"a tenth held out, seed {args.seed}", **figures}
    tagger.save(args.out, manifest(sentences, settings, args.labelled, evaluation))
    lines = [f"{args.out}: {len(sentences)} sentences, labels {', '.join(tagger.labels)}"]
    lines.append(f"sha256 {tagger.digest}")
    for name in ("test", "test_without_training_texts"):
        short = {key: evaluation[name][key] for key in ("sentences", "accuracy", "macro_f1")}
        lines.append(f"{name:<28} {json.dumps(short)}")
    return say(args, (args.out / MANIFEST).read_text().removesuffix("\n"), *lines)


def _workers(args: Given) -> Workers:
    from scoring.tools.builders.parts import Workers

    if args.cluster and not args.work:
        message = "--cluster needs --work, a folder that all machines of the cluster see"
        raise InputRefused([Problem(message=message)])
    return Workers(jobs=args.jobs, cluster=args.cluster)


def _season(args: Given, task_type: str) -> SeasonFolder:
    from scoring.tools.builders.season import SeasonFolder

    slug = args.slug or re.sub(r"[^a-z0-9]+", "-", args.out.resolve().name.lower()).strip("-") or "built"
    args.out.mkdir(parents=True, exist_ok=True)
    return SeasonFolder(
        folder=args.out,
        slug=slug,
        title=args.title or slug.replace("-", " ").capitalize(),
        task_type=task_type,
        rules=("corrected", "official"),
        licence=args.licence,
    )


def _write_season(season: SeasonFolder, *baselines: Any) -> None:
    for name in season.write(*baselines):
        sys.stderr.write(f"left out, {name}\n")


def _name(separators: str, words: str) -> Callable[[str], str]:
    def name(text: str) -> str:
        if not re.fullmatch(rf"[a-z0-9]+(?:[{separators}][a-z0-9]+)*", text):
            raise argparse.ArgumentTypeError(f"“{text}” has other than small letters, digits{words}")
        return text

    return name


_slug, _data_set = _name("-", " and single hyphens"), _name("-_", ", hyphens and underscores")


def _thresholds(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not two numbers such as 7,28.7") from None
    if not 0 <= low <= high:
        raise argparse.ArgumentTypeError(f"{text}: expected the lower one first")
    return low, high
