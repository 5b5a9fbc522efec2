"""A site for programs: its seasons, phases, boards, runs and instances as objects, and tables of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.client.actions import ENDED, pause_after, phase_id, sent_as_file
from scoring.client.connection import Connection, chosen_site
from tasks.types.problems import lacking_package

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Fact = Mapping[str, Any]


class Table(list[Fact]):
    """Rows by column, each with plain values."""

    def to_pandas(self) -> pd.DataFrame:
        """Needs the extra `pandas`."""
        with _named_extra():
            import pandas as pd
        return pd.DataFrame(list(self))

    def to_polars(self) -> pl.DataFrame:
        """Needs the extra `pandas`, which brings polars too."""
        with _named_extra():
            import polars as pl
        return pl.DataFrame(list(self), infer_schema_length=None)


@contextmanager
def _named_extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            lacking_package(missing.name or ""), name=missing.name
        ) from missing


@dataclass(frozen=True)
class Thing:
    """What the API says of something is in ``facts``; each of them is an attribute as well."""

    site: Site
    facts: Fact

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        try:
            return facts[name]
        except KeyError:
            known = ", ".join(facts)
            raise AttributeError(
                f"{type(self).__name__} has no “{name}”; it has {known}"
            ) from None


class Season(Thing):
    def phases(self) -> list[Phase]:
        return [
            Phase(
                self.site,
                {
                    **phase,
                    "task": task["slug"],
                    "type": task["type"],
                    "season": self.slug,
                },
            )
            for task in self.site.get(f"seasons/{self.slug}/")["tasks"]
            for phase in task["phases"]
        ]


class Phase(Thing):
    def board(self, rules: str | None = None) -> Board:
        return Board(
            self.site, self.site.get(f"phases/{self.id}/leaderboard/", {"rules": rules})
        )

    def instances(self, a: int, b: int, **query: object) -> Table:
        """Two runs instance by instance, as far as you may see both; ``query`` is that of the API."""

        def pages() -> Iterator[Fact]:
            page, last = 1, 1
            while page <= last:
                given = {**query, "a": a, "b": b, "page": page}
                answer = self.site.get(f"phases/{self.id}/instances/", given)
                yield from map(_instance, answer["instances"])
                page, last = page + 1, answer["pages"]

        return Table(pages())

    def inputs(self, path: Path | str) -> Path:
        """Download the public inputs; a zip."""
        self.site.download(self.site.get(f"phases/{self.id}/")["inputs"], Path(path))
        return Path(path)

    def check(self, run: Path | str) -> Fact:
        """Let the site check a run; nothing is stored. Raises SiteRefused with what is wrong."""
        checked: Fact = self._sent("check", run, {})
        return checked

    def submit(self, run: Path | str, system: str, **fields: str) -> Run:
        """``fields`` are others of the API, such as ``team`` and ``description``, or of a run card."""
        return self.site.run(
            self._sent("submissions", run, {"system": system, **fields})["id"]
        )

    def _sent(self, where: str, run: Path | str, fields: Mapping[str, str]) -> Any:
        with sent_as_file(Path(run)) as file:
            return self.site.post_file(f"phases/{self.id}/{where}/", fields, file)


class Board(Thing):
    def table(self) -> Table:
        """A line for each row: its rank, team and system, and for each column value, low and high."""
        names = [column["name"] for column in self.columns]
        return Table(
            {
                name: row[name]
                for name in ("rank", "ranks", "team", "system", "submission", "kind")
            }
            | dict(
                chain.from_iterable(
                    _scores(name, row["scores"].get(name, {})) for name in names
                )
            )
            for row in self.rows
        )

    def to_pandas(self) -> pd.DataFrame:
        return self.table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        return self.table().to_polars()


class Run(Thing):
    def wait(self) -> Run:
        """Asks until it moves no more; gives what it is then."""
        while True:
            answer = self.site.answer(f"submissions/{self.id}/")
            if answer.body["status"] in ENDED:
                return Run(self.site, answer.body)
            time.sleep(pause_after(answer))


class Site(Connection):
    """``address`` is that of the home page; without it and the token, those of `citeboard login`."""

    def __init__(self, address: str | None = None, token: str | None = None) -> None:
        chosen, stored = chosen_site(address)
        super().__init__(chosen, stored if token is None else token)

    def seasons(self) -> list[Season]:
        return [Season(self, season) for season in self.pages("seasons/")]

    def season(self, slug: str) -> Season:
        return Season(self, self.get(f"seasons/{slug}/"))

    def load_season(self, file: Path | str, season: str = "", **fields: str) -> Fact:
        """Load a season.toml or season.zip into a season or a new one; ``fields`` are those of the API."""
        where = f"seasons/{season}/file/" if season else "new-season/"
        with sent_as_file(Path(file)) as sent:
            loaded: Fact = self.post_file(where, fields, sent, field="file")
        return loaded

    def phase(self, named: str | int) -> Phase:
        """By its number, or SEASON/TASK/PHASE."""
        return Phase(self, self.get(f"phases/{phase_id(self, str(named))}/"))

    def run(self, number: int) -> Run:
        return Run(self, self.get(f"submissions/{number}/"))

    def runs(self, phase: int | None = None) -> Table:
        """Those of your teams, and of the seasons that you organise, newest first."""
        return Table(self.pages("submissions/", {"phase": phase}))


def _scores(name: str, score: Fact) -> Iterator[tuple[str, Any]]:
    yield name, score.get("value")
    yield f"{name}.low", score.get("low")
    yield f"{name}.high", score.get("high")


def _instance(row: Fact) -> Fact:
    sides = ((side, row[f"values_{side}"].items()) for side in ("a", "b"))
    values = {
        f"{metric}.{side}": value
        for side, of_side in sides
        for metric, value in of_side
    }
    return {
        name: row[name] for name in ("name", "given", "gold", "answer_a", "answer_b")
    } | values
