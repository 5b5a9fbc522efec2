"""Tasks in folders: `task new` writes one that works, `task check` says everything that is wrong with one."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.types import OptionRefused, TaskType, task_type

Line = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Template:
    """What a new folder of a form says, besides what all of them do."""

    shown: str
    answer: str
    measures: str
    gold: Sequence[Line]
    run: Sequence[Line]
    field: str
    baseline: str = ""
    more: str = ""
    #: Further files of the gold, by name.
    files: Mapping[str, Sequence[Line]] | None = None


TEMPLATES: Mapping[str, Template] = {
    "labels": Template(
        field="label",
        shown='["text"]',
        answer='labels = ["yes", "no"]\npositive = "yes"',
        measures='["macro_f1", "f1", "accuracy", "mcc"]',
        baseline="majority",
        gold=[
            {"id": "s1", "text": "Early work used rules.", "label": "yes"},
            {"id": "s2", "text": "We ask when to cite.", "label": "no"},
            {"id": "s3", "text": "Its kernel is well known.", "label": "yes"},
            {"id": "s4", "text": "Here is our plan.", "label": "no"},
        ],
        run=[
            {"id": "s1", "label": "yes"},
            {"id": "s2", "label": "yes"},
            {"id": "s3", "label": "yes"},
            {"id": "s4", "label": "no"},
        ],
    ),
    "ranking": Template(
        field="answers",
        shown='["query"]',
        answer='query = "query"\n\n[task.pool]\nfile = "pool.jsonl"\nid = "id"\ntext = "text"',
        measures='["mrr@5", "recall@10", "ndcg@10"]',
        baseline="bm25",
        gold=[
            {"id": "q1", "query": "kernels of strings", "answers": ["d1"]},
            {"id": "q2", "query": "growth of trees", "answers": ["d2", "d3"]},
        ],
        run=[{"id": "q1", "ranking": ["d2", "d1"]}, {"id": "q2", "ranking": ["d3"]}],
        files={
            "pool.jsonl": [
                {"id": "d1", "text": "String kernels for texts."},
                {"id": "d2", "text": "How trees grow."},
                {"id": "d3", "text": "Forests, measured."},
            ]
        },
    ),
    "text": Template(
        field="references",
        shown='["source"]',
        answer='field = "text"',
        measures='["rouge_l", "rouge_1", "bleu", "length"]',
        baseline="lead",
        gold=[
            {
                "id": "t1",
                "source": "We read the sky.",
                "references": ["The sky is read.", "They read the sky."],
            },
            {"id": "t2", "source": "Trees grow slowly here.", "references": ["Trees grow slowly."]},
        ],
        run=[{"id": "t1", "text": "The sky is blue."}, {"id": "t2", "text": "Trees grow."}],
    ),
    "spans": Template(
        field="spans",
        shown='["text"]',
        answer='text = "text"\nlabels = ["cited"]',
        measures='["partial_f1", "strict_f1", "character_f1"]',
        gold=[
            {"id": "p1", "text": "As Reed shows, rules help.", "spans": [[3, 7, "cited"]]},
            {"id": "p2", "text": "We agree with Oak.", "spans": [[14, 17, "cited"]]},
        ],
        run=[{"id": "p1", "spans": [[0, 7, "cited"]]}, {"id": "p2", "spans": [[14, 17, "cited"]]}],
    ),
    "evidence": Template(
        field="evidence",
        shown='["claim"]',
        answer='shape = "sets"\nlabels = ["SUPPORT", "CONTRADICT"]\nabstain = "NOT_ENOUGH_INFO"\n\n'
        '[task.pool]\nfile = "corpus.jsonl"\nid = "doc_id"\nsentences = "abstract"',
        measures='["abstract_rationalized_f1", "abstract_label_only_f1", "sentence_selection_f1"]',
        gold=[
            {"id": 1, "claim": "Trees grow.", "evidence": {"12": [{"sentences": [0], "label": "SUPPORT"}]}},
            {"id": 2, "claim": "Trees sing.", "evidence": {}},
        ],
        run=[
            {"id": 1, "evidence": {"12": {"sentences": [0], "label": "SUPPORT"}}},
            {"id": 2, "evidence": {"12": {"sentences": [1], "label": "CONTRADICT"}}},
        ],
        files={"corpus.jsonl": [{"doc_id": 12, "abstract": ["Trees grow here.", "They are silent."]}]},
    ),
    "numbers": Template(
        field="score",
        shown='["first", "second"]',
        answer="least = 0\nmost = 5",
        measures='["spearman", "pearson", "mae"]',
        baseline="mean",
        gold=[
            {"id": "a", "first": "A tree.", "second": "One tree.", "score": [4, 5]},
            {"id": "b", "first": "A tree.", "second": "The sky.", "score": [0, 1]},
            {"id": "c", "first": "The sky.", "second": "Sky and trees.", "score": [2, 3]},
        ],
        run=[{"id": "a", "score": 4}, {"id": "b", "score": 1.5}, {"id": "c", "score": 2}],
    ),
}
TOML = """[task]
slug = "{slug}"
title = "{title}"
form = "{form}"
{more}
[task.gold]
field = "{field}"
shown = {shown}

{answer}[[task.rules]]
name = "corrected"
measures = {measures}
{baseline}"""
CARD = """# {title}

What is asked, in a sentence or two.

## Format

One JSON object a line for each instance:

    {example}

## Measures

The first ranks: {measures}.

## Rules

### `corrected`

Every instance counts. One without an answer is wrong.

## Data

Where the data come from, what participants see of them, and their licence.

## Citation

The paper that describes the task.
"""


def add_commands(commands: Any) -> None:
    task = commands.add_parser("task", help="tasks that a folder declares: `task new`, `task check`")
    of_task = task.add_subparsers(required=True, metavar="COMMAND")
    new = of_task.add_parser("new", help="write a folder that works, to be edited", allow_abbrev=False)
    new.add_argument("form", metavar="FORM", help=f"one of {', '.join(TEMPLATES)}")
    new.set_defaults(command=new_folder)
    check = of_task.add_parser("check", help="say everything that is wrong with a folder", allow_abbrev=False)
    check.set_defaults(command=check_folder)
    for command in (new, check):
        command.add_argument("folder", type=Path, metavar="DIR")
        command.add_argument("--json", action="store_true")


def new_folder(args: argparse.Namespace) -> int:
    from tasks.types.declared.folder import SLUG

    folder: Path = args.folder
    if args.form not in TEMPLATES:
        raise OptionRefused(f"there is no form “{args.form}”; there are {', '.join(TEMPLATES)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionRefused(f"{folder} is there already; name a folder that is not, or an empty one")
    slug = folder.resolve().name.lower().replace("_", "-")
    files = written(args.form, slug if SLUG.fullmatch(slug) else "my-task")
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    chosen = task_type(str(folder))
    words = f"{folder}: {', '.join(files)}; now edit them, and run `python -m scoring task check {folder}`"
    return _say(args, chosen, words)


def written(form: str, slug: str) -> dict[str, str]:
    """The files of a new folder by name; the scores of its sample are computed."""
    # Both need numpy, and other commands of this program do not.
    from scoring.offline.sample import sample_scores
    from tasks.types.declared.folder import read_declaration

    template = TEMPLATES[form]
    title = slug.replace("-", " ").capitalize()
    toml = TOML.format(
        slug=slug,
        title=title,
        form=form,
        more=template.more,
        field=template.field,
        shown=template.shown,
        answer=f"[task.answer]\n{template.answer}\n\n" if template.answer else "",
        measures=template.measures,
        baseline=f'\n[[task.baselines]]\nname = "{template.baseline}"\n' if template.baseline else "",
    )
    measures = template.measures.strip("[]").replace('"', "")
    example = json.dumps(template.run[0], ensure_ascii=False)
    place = "sample/gold/gold.jsonl" if template.files else "sample/gold.jsonl"
    files = {
        "task.toml": toml,
        "card.md": CARD.format(title=title, example=example, measures=measures),
        place: _lines(template.gold),
        **{f"sample/gold/{name}": _lines(lines) for name, lines in (template.files or {}).items()},
        "sample/run.jsonl": _lines(template.run),
    }
    values = {
        rules: {name: None if math.isnan(value) else value for name, value in scores.items()}
        for rules, scores in sample_scores(read_declaration(files), files).items()
    }
    return {**files, "sample/scores.json": json.dumps(values, indent=2) + "\n"}


def _lines(rows: Sequence[Line]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def check_folder(args: argparse.Namespace) -> int:
    """What is wrong is told as InputRefused."""
    chosen = task_type(str(args.folder))
    return _say(args, chosen, f"{args.folder} is sound; its sample has the scores that it says")


def _say(args: argparse.Namespace, chosen: TaskType, words: str) -> int:
    declared = chosen.declared
    if declared is None:
        raise OptionRefused(f"{args.folder} is a built-in type; name a folder with a task.toml")
    facts = {
        "slug": declared.name,
        "task_type": chosen.slug,
        "form": declared.form,
        "digest": declared.digest,
        "rules": {name: [metric.name for metric in metrics] for name, metrics in chosen.rules.items()},
        "dimensions": list(chosen.dimensions),
        "baselines": [baseline.name for baseline in declared.baselines],
    }
    if args.json:
        from scoring.offline.scoring import as_json

        print(as_json(facts))
        return 0
    print(words)
    print(f"{chosen.slug}: {', '.join(metric.name for metric in chosen.rules[chosen.default_rules])}")
    return 0
