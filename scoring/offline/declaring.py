"""Tasks in folders: `task new` writes one that works, `task check` says everything that is wrong with one."""

import argparse
import tomllib
from pathlib import Path
from typing import Any

from scoring.offline.arguments import say
from tasks.types import OptionRefused, TaskType, task_type

#: Its two texts, and by form what a new folder says besides.
NEW: dict[str, Any] = tomllib.loads(Path(__file__).with_name("new_task.toml").read_text(encoding="utf-8"))
FORMS: dict[str, dict[str, Any]] = NEW["forms"]


def new_folder(args: argparse.Namespace) -> int:
    from tasks.types.declared.folder import SLUG

    folder: Path = args.folder
    if args.form not in FORMS:
        raise OptionRefused(f"there is no form “{args.form}”; there are {', '.join(FORMS)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise OptionRefused(f"{folder} is there already; name a folder that is not, or an empty one")
    slug = folder.resolve().name.lower().replace("_", "-")
    slug = slug if SLUG.fullmatch(slug) else "my-task"
    if args.gold:
        # It needs numpy, and other commands of this program do not.
        from scoring.offline.proposing import folder_of

        files = folder_of(args.form, slug, args.gold)
    else:
        files = written(args.form, slug)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    words = f"{folder}: {', '.join(files)}; now edit them, and run `python -m scoring task check {folder}`"
    return _say(args, task_type(str(folder)), words)


def written(form: str, slug: str) -> dict[str, str]:
    """The files of a new folder by name; the scores of its sample are computed."""
    # Both need numpy, and other commands of this program do not.
    from scoring.offline.sample import written_scores
    from tasks.types.declared.folder import read_declaration

    template = FORMS[form]
    title = slug.replace("-", " ").capitalize()
    answer, baseline, further = template["answer"], template["baseline"], template.get("files", {})
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
    return {**files, "sample/scores.json": written_scores(read_declaration(files), files)}


def check_folder(args: argparse.Namespace) -> int:
    """What is wrong is told as InputRefused."""
    chosen = task_type(str(args.folder))
    return _say(args, chosen, f"{args.folder} is sound; its sample has the scores that it says")


def _say(args: argparse.Namespace, chosen: TaskType, words: str) -> int:
    if (declared := chosen.declared) is None:
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
    by_default = ", ".join(metric.name for metric in chosen.rules[chosen.default_rules])
    return say(args, facts, words, f"{chosen.slug}: {by_default}")
