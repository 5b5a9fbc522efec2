"""The commands that build: `python -m scoring build-diagnostic`, `build-resolution`, `build-citation-text`,
`describe-citation-text` and `sweep-resolution`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

FORMS = ("auto", "lines", "clsumm", "unarxive", "s2orc", "scixml")
COLLECTIONS = ("papers", "references")
CITATION_TEXT_FORMS = ("auto", "aburaed", "lu", "chen", "xing")
FIELDS_OF = ("auto", "cited", "citing")
SAMPLINGS = ("each", "official")
SPLITS = ("test", "val", "train")


def add_commands(commands: Any) -> None:
    diagnostic = commands.add_parser(
        "build-diagnostic", help="build a diagnostic split from a corpus", allow_abbrev=False
    )
    _add_diagnostic_options(diagnostic)
    resolution = commands.add_parser(
        "build-resolution", help="build gold for Citation Resolution from a corpus", allow_abbrev=False
    )
    resolution.set_defaults(command=build_resolution_gold)
    swept = commands.add_parser(
        "sweep-resolution", help="run every baseline of Citation Resolution on a corpus", allow_abbrev=False
    )
    swept.add_argument("--json", action="store_true")
    swept.set_defaults(command=sweep_corpus)

    texts = commands.add_parser(
        "build-citation-text",
        help="build gold for citation texts from the original files of a data set",
        allow_abbrev=False,
    )
    _add_citation_text_options(texts)

    told = commands.add_parser(
        "describe-citation-text",
        help="say what data sets of citation texts consist of, as CiteBench's tables do",
        allow_abbrev=False,
    )
    told.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
    told.add_argument(
        "--tokenizer", type=Path, metavar="DIR", help="whose tokens are counted; words unless said"
    )
    told.add_argument("--json", action="store_true")
    told.set_defaults(command=describe_citation_texts)

    for command, forms in (
        (diagnostic, FORMS),
        (resolution, FORMS),
        (swept, FORMS),
        (texts, CITATION_TEXT_FORMS),
    ):
        command.add_argument("corpus", type=Path)
        command.add_argument("--form", choices=forms, default="auto", help="how the corpus is written")
    for command in (diagnostic, resolution, texts):
        command.add_argument("--json", action="store_true")
        command.add_argument("--out", type=Path, required=True, metavar="DIR", help="the season folder")
        command.add_argument("--slug", type=_slug, metavar="NAME", help="of the season; the folder's name")
        command.add_argument("--title", metavar="TEXT", help="of the season")
        command.add_argument("--licence", default="", metavar="TEXT", help="under which the data is given")
        command.add_argument("--no-baselines", action="store_true", help="write no runs of baselines")
    for command in (diagnostic, resolution):
        _add_options_at_scale(command)
    for command in (resolution, swept):
        command.add_argument("--fewest-references", type=int, default=8, metavar="N")
        command.add_argument(
            "--collection",
            choices=COLLECTIONS,
            default=COLLECTIONS[0],
            help="candidates are papers of the corpus, or all references",
        )
    resolution.add_argument("--with-texts", action="store_true", help="give the full texts of candidates")
    resolution.add_argument(
        "--with-inlinks", action="store_true", help="give what papers that are not tested say of candidates"
    )
    resolution.add_argument(
        "--every-method", action="store_true", help="write a run of every method with every window"
    )
    for command, around in ((resolution, 1), (swept, 10)):
        command.add_argument(
            "--around", type=_around, default=around, metavar="N", help="sentences kept on each side"
        )
    swept.add_argument(
        "--inlinks-without",
        choices=("tested", "citing"),
        default="tested",
        help="whose citations are no evidence: those of all tested papers, or of the citing one alone",
    )
    swept.add_argument(
        "--published", type=Path, metavar="FILE", help="published results that the table stands beside"
    )


def _add_options_at_scale(command: argparse.ArgumentParser) -> None:
    command.add_argument("--jobs", type=_jobs, default=1, metavar="N", help="processes that read the corpus")
    command.add_argument(
        "--work", type=Path, metavar="DIR", help="keep what was read there, and go on with what is there"
    )
    command.add_argument(
        "--cluster", default="", metavar="ADDRESS", help="of a Dask scheduler, whose machines all see --work"
    )


def _add_diagnostic_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--seed", type=int, default=0, metavar="S")
    command.add_argument(
        "--sampling",
        choices=SAMPLINGS,
        default=SAMPLINGS[0],
        help="each dimension on its own, or as the paper has it, without a context in two sets",
    )
    command.add_argument(
        "--per-stratum",
        type=int,
        metavar="N",
        help="contexts of each stratum: 10, or 3 where the sampling is official",
    )
    command.add_argument(
        "--drawn",
        type=_drawn,
        metavar="N",
        help="cited papers that are drawn of each stratum, for --sampling official; 10",
    )
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
    command.set_defaults(command=build_diagnostic_split)


def _add_citation_text_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--split", choices=SPLITS, default=SPLITS[0])
    command.add_argument("--name", type=_data_set, metavar="NAME", help="of the data set")
    command.add_argument(
        "--context", action="store_true", help="give the citing abstract and the sentences around as well"
    )
    command.set_defaults(command=build_citation_texts)


def build_diagnostic_split(given: argparse.Namespace) -> int:
    from scoring.tools.builders.diagnostic import BASELINES, build_diagnostic
    from scoring.tools.builders.rules import EACH, PER_STRATUM, Rules
    from tasks.types.problems import InputRefused, Problem

    season = _season(given, "citation-recommendation", ("corrected", "official"))
    if given.published:
        from scoring.tools.builders.published import placements

        season = replace(season, published=given.published, placements=list(placements(given.published)))
    if given.drawn is not None and given.sampling == EACH:
        raise InputRefused([Problem(message="--drawn is for --sampling official")])
    per_stratum = PER_STRATUM[given.sampling] if given.per_stratum is None else given.per_stratum
    rules = Rules(
        seed=given.seed,
        sampling=given.sampling,
        per_stratum=per_stratum,
        drawn=given.drawn or Rules.drawn,
        most_per_class=given.most_per_class,
        every_context=given.every_context,
        length_thresholds=given.length_thresholds,
        field_of=given.field_of,
    )
    pipeline = None if given.tagger == "none" else given.tagger
    workers = _workers(given)
    built = build_diagnostic(
        given.corpus,
        season,
        rules,
        form=given.form,
        pipeline=pipeline,
        workers=workers,
        work=given.work,
        sentences=given.sentences,
    )
    _report(season.write(() if given.no_baselines else BASELINES))
    counts = {"contexts": built.tables.selected, "eligible": built.tables.eligible, "out": str(given.out)}
    words = f"{counts['contexts']:,} contexts of {counts['eligible']:,} that could be taken, in {given.out}"
    _say(json.dumps(counts) if given.json else words)
    if given.agree_with:
        from scoring.tools.builders.agreement import agreement, table
        from tasks.types.citation_recommendation.names import CONTEXTS

        found = list(table(agreement(season.gold / CONTEXTS, given.agree_with)))
        (given.out / "agreement.md").write_text("\n".join(found), encoding="utf-8")
        _say(*(() if given.json else found))
    return 0


def build_resolution_gold(given: argparse.Namespace) -> int:
    from scoring.tools.builders.every_method import every_method
    from scoring.tools.builders.resolution import BASELINES, ResolutionRules, build_resolution
    from scoring.tools.builders.season import NO_OTHERS

    season = _season(given, "citation-resolution", ("corrected", "official"))
    rules = ResolutionRules(
        fewest_references=given.fewest_references,
        collection=given.collection,
        with_texts=given.with_texts,
        with_inlinks=given.with_inlinks,
        around=given.around,
    )
    workers = _workers(given)
    facts = build_resolution(given.corpus, season, rules, form=given.form, workers=workers, work=given.work)
    names = BASELINES if facts["contexts"] and not given.no_baselines else ()
    _report(season.write(names, every_method(season.gold) if names and given.every_method else NO_OTHERS))
    words = f"{facts['contexts']:,} contexts of {facts['papers']:,} papers, in {given.out}"
    _say(json.dumps({**facts, "out": str(given.out)}, default=str) if given.json else words)
    return 0


def build_citation_texts(given: argparse.Namespace) -> int:
    from scoring.tools.builders.citation_text import BASELINES, add_data_set, counted
    from scoring.tools.builders.load_citation_text import load

    season = _season(given, "citation-text", ("corrected", "official"))
    loaded = load(
        given.corpus, split=given.split, with_context=given.context, form=given.form, dataset=given.name or ""
    )
    instances = add_data_set(loaded, season)
    _report(season.write(() if given.no_baselines else BASELINES))
    if given.json:
        counts = {"instances": len(loaded.instances), "in_all": len(instances), "faults": counted(loaded)}
        _say(json.dumps({**counts, "dataset": loaded.dataset, "form": loaded.form, "out": str(given.out)}))
        return 0
    _say(f"{len(loaded.instances):,} instances of {loaded.dataset} ({loaded.form}) in {given.out}")
    _say(*(f"  {count:,} × {fault}, kept" for fault, count in counted(loaded).items()))
    _say(f"{len(instances):,} instances in all")
    return 0


def describe_citation_texts(given: argparse.Namespace) -> int:
    from scoring.tools.builders.citation_text_tables import as_json, as_markdown, counter_of
    from tasks.types.citation_text.data_sets import data_sets
    from tasks.types.citation_text.instances import read_instances
    from tasks.types.files import open_inputs

    count = counter_of(given.tokenizer) if given.tokenizer else None
    found = data_sets(read_instances(open_inputs(given.gold), with_targets=True), count)
    unit = "tokens" if count else "words"
    _say(
        *([json.dumps(as_json(found, unit), ensure_ascii=False)] if given.json else as_markdown(found, unit))
    )
    return 0


def sweep_corpus(given: argparse.Namespace) -> int:
    from scoring.tools.builders.published_resolution import NOTHING, read_printed
    from scoring.tools.builders.resolution import ResolutionRules
    from scoring.tools.builders.resolution_sweep import as_json, as_markdown, sweep

    rules = ResolutionRules(
        fewest_references=given.fewest_references,
        collection=given.collection,
        inlinks_without=given.inlinks_without,
        around=given.around,
    )
    printed = read_printed(given.published) if given.published else NOTHING
    found = sweep(given.corpus, rules, form=given.form)
    _say(*([as_json(found, printed)] if given.json else as_markdown(found, printed)))
    return 0


def _workers(given: argparse.Namespace) -> Any:
    from scoring.tools.builders.processes import Workers
    from tasks.types.problems import InputRefused, Problem

    if given.cluster and not given.work:
        message = "--cluster needs --work, a folder that all machines of the cluster see"
        raise InputRefused([Problem(message=message)])
    return Workers(jobs=given.jobs, cluster=given.cluster)


def _season(given: argparse.Namespace, task_type: str, rules: tuple[str, ...]) -> Any:
    from scoring.tools.builders.season import SeasonFolder

    slug = given.slug or re.sub(r"[^a-z0-9]+", "-", given.out.resolve().name.lower()).strip("-") or "built"
    given.out.mkdir(parents=True, exist_ok=True)
    return SeasonFolder(
        folder=given.out,
        slug=slug,
        title=given.title or slug.replace("-", " ").capitalize(),
        task_type=task_type,
        rules=rules,
        licence=given.licence,
    )


def _report(missing: list[str]) -> None:
    for name in missing:
        sys.stderr.write(f"left out, {name}\n")


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _slug(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", text):
        raise argparse.ArgumentTypeError(f"“{text}” has other than small letters, digits and single hyphens")
    return text


def _data_set(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:[-_][a-z0-9]+)*", text):
        raise argparse.ArgumentTypeError(
            f"“{text}” has other than small letters, digits, hyphens and underscores"
        )
    return text


def _jobs(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of processes, 1 to 9999")
    return int(text)


def _drawn(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of papers, 1 to 999999")
    return int(text)


def _around(text: str) -> int:
    if not re.fullmatch(r"\d{1,3}", text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of sentences, 0 to 999")
    return int(text)


def _thresholds(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not two numbers such as 7,28.7") from None
    if not 0 <= low <= high:
        raise argparse.ArgumentTypeError(f"{text}: expected the lower one first")
    return low, high
