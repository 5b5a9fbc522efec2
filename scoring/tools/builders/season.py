"""Write the folder of a season with a valid `season.toml` and with runs of baselines."""

import datetime as dt
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.tools.baselines import baseline
from scoring.tools.baselines.resolution import (
    METHOD_BASELINE,
    QUERY_WINDOW_BY_NAME,
    list_possible_methods,
)
from scoring.tools.builders.reading import make_refusal
from tasks.types.baselines import Baseline
from tasks.types.files import open_files_of_all_inputs
from tasks.types.problems import SoftwareUnavailable
from tasks.types.toml_lines import format_toml_table

GOLD, BASELINES_FOLDER, SEASON_FILE = "gold", "baselines", "season.toml"
_DEFAULT_OPENING_TIME, _DEFAULT_CLOSING_TIME = (
    dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
    dt.datetime(2035, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
)
DEFAULT_SEASON_TIMES: Mapping[str, Any] = {
    "opens": _DEFAULT_OPENING_TIME,
    "closes": _DEFAULT_CLOSING_TIME,
    "runs_per_day": 10,
}


def write_data_sheet(
    folder: Path, facts: Mapping[str, Any], lines: Iterable[str]
) -> None:
    text = json.dumps(facts, ensure_ascii=False, indent=1)
    (folder / "datasheet.json").write_text(f"{text}\n", encoding="utf-8")
    (folder / "datasheet.md").write_text("\n".join(lines), encoding="utf-8")


@dataclass(frozen=True, kw_only=True)
class SeasonFolder:
    """The folder for the files of a new season. The folder has placeholders for the
    dates of the season, which organisers must replace.
    """

    folder: Path
    slug: str
    title: str
    task_type: str
    licence: str = ""
    #: A file of published results, and text for the season file that refers to it.
    published: Path | None = None
    placements: Sequence[str] = ()

    @property
    def gold(self) -> Path:
        return self.folder / GOLD

    def write(
        self, baselines: Sequence[str], further: Mapping[str, Baseline] | None = None
    ) -> list[str]:
        missing, entries = [], []
        for name, system in {
            **{name: baseline(name) for name in baselines},
            **(further or {}),
        }.items():
            run = (
                self.folder
                / BASELINES_FOLDER
                / f"{re.sub(r'[^a-z0-9.]+', '-', name.lower())}.jsonl"
            )
            run.parent.mkdir(exist_ok=True)
            try:
                system.write(open_files_of_all_inputs([self.gold]), run)
            except SoftwareUnavailable as reason:
                missing.append(f"{name}: {reason}")
                continue
            entries.append(
                format_toml_table(
                    "[[tasks.baselines]]",
                    {"system": name, "run": f"{BASELINES_FOLDER}/{run.name}"},
                )
            )
        season: dict[str, Any] = {
            "slug": self.slug,
            "title": self.title,
            "licence": self.licence,
            "public": True,
        }
        if self.published:
            shutil.copyfile(self.published, self.folder / self.published.name)
            season["published"] = [self.published.name]
        named = {"slug": self.task_type, "title": self.title, "type": self.task_type}
        tables = [
            format_toml_table("[season]", season),
            format_toml_table(
                "[[tasks]]",
                {**named, "rules": ["corrected", "official"], "card": "card.md"},
            ),
            format_toml_table(
                "[[tasks.gold]]", {"paths": [GOLD], "reason": "First release."}
            ),
            format_toml_table(
                "[[tasks.phases]]",
                {"slug": "open", "title": "Open evaluation", **DEFAULT_SEASON_TIMES},
            ),
        ]
        text = "\n".join([*tables, *self.placements, *entries])
        self.folder.joinpath(SEASON_FILE).write_text(text, encoding="utf-8")
        return missing


def make_baselines_of_methods(gold: Path) -> dict[str, Baseline]:
    return {
        f"{method.name}, {window}": METHOD_BASELINE.with_options(
            {"method": method.name, "window": window}
        )
        for method in list_possible_methods(open_files_of_all_inputs([gold]))
        for window in QUERY_WINDOW_BY_NAME
    }


def read_published_rows(
    published: Path, table: str, what: str, expected: str
) -> list[dict[str, Any]]:
    """Return the rows of one table from a file of published results. Raises
    InputRefused.
    """
    try:
        tables = json.loads(published.read_bytes())["tables"]
        return [
            dict(row)
            for row in next(one["rows"] for one in tables if one["id"] == table)
        ]
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as fault:
        raise make_refusal(f"has no {table} {what}", published, expected) from fault


def format_published_table(recomputed: Mapping[str, Any], **facts: Any) -> str:
    """Return text for the season file that shows a published table beside the board."""
    heads = {"[[tasks.published]]": facts, "[tasks.published.recomputed]": recomputed}
    filled = (
        (head, {key: value for key, value in values.items() if value})
        for head, values in heads.items()
    )
    return "".join(format_toml_table(head, values) for head, values in filled)
