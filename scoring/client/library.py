"""Represent a site's seasons, phases, boards, runs and instances as objects, and
convert their data to tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.client.actions import (
    FINAL_RUN_STATUSES,
    choose_poll_pause,
    find_inputs_address,
    pack_folder_for_upload,
    phase_id,
)
from scoring.client.connection import SiteConnection, choose_site_and_token
from tasks.types.problems import make_pip_install_message

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

JsonObject = Mapping[str, Any]


class Table(list[JsonObject]):
    """A list of rows. Each row of a table maps column names to plain values."""

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame. Converting a table to a pandas data frame needs
        the extra `pandas`.
        """
        with _explain_missing_extra():
            import pandas as pd
        return pd.DataFrame(list(self))

    def to_polars(self) -> pl.DataFrame:
        """Return a polars DataFrame. Converting a table to a polars data frame needs
        the extra `pandas`, which also installs polars.
        """
        with _explain_missing_extra():
            import polars as pl
        return pl.DataFrame(list(self), infer_schema_length=None)


@contextmanager
def _explain_missing_extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            make_pip_install_message(missing.name or ""), name=missing.name
        ) from missing


@dataclass(frozen=True)
class ApiObject:
    """An object of the API. ``facts`` contains the fields of the API object, and each
    field is also an attribute.
    """

    site: Site
    facts: JsonObject

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        try:
            return facts[name]
        except KeyError:
            known = ", ".join(facts)
            raise AttributeError(
                f"{type(self).__name__} has no “{name}”; it has {known}"
            ) from None


class Season(ApiObject):
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


class Phase(ApiObject):
    def board(self, rules: str | None = None) -> Board:
        return Board(
            self.site, self.site.get(f"phases/{self.id}/leaderboard/", {"rules": rules})
        )

    def instances(self, a: int, b: int, **query: object) -> Table:
        """Compare two runs instance by instance. The table contains only the values of
        the two runs that the user may see.

        ``query`` contains further query parameters of the API's list of instances.
        """

        def iterate_instances_of_all_pages() -> Iterator[JsonObject]:
            page, last = 1, 1
            while page <= last:
                given = {**query, "a": a, "b": b, "page": page}
                answer = self.site.get(f"phases/{self.id}/instances/", given)
                yield from map(_flatten_instance_values, answer["instances"])
                page, last = page + 1, answer["pages"]

        return Table(iterate_instances_of_all_pages())

    def inputs(self, path: Path | str) -> Path:
        """Download the public inputs of the phase as a zip archive."""
        phase = self.site.get(f"phases/{self.id}/")
        self.site.download(find_inputs_address(phase), Path(path))
        return Path(path)

    def check(self, run: Path | str) -> JsonObject:
        """Let the site check a run without storing the run. Raises SiteRefused with the
        problems of the run.
        """
        checked: JsonObject = self._upload_run("check", run, {})
        return checked

    def submit(self, run: Path | str, system: str, **fields: str) -> Run:
        """Submit a run to the phase. ``fields`` are optional fields of the submission,
        such as ``team``, ``description`` or fields of a run card.
        """
        return self.site.run(
            self._upload_run("submissions", run, {"system": system, **fields})["id"]
        )

    def _upload_run(
        self, where: str, run: Path | str, fields: Mapping[str, str]
    ) -> Any:
        with pack_folder_for_upload(Path(run)) as file:
            return self.site.post_file(f"phases/{self.id}/{where}/", fields, file)


class Board(ApiObject):
    def table(self) -> Table:
        """Return a table of the board with the rank, team and system of each run, and
        the value and interval of each column.
        """
        names = [column["name"] for column in self.columns]
        return Table(
            {
                name: row[name]
                for name in ("rank", "ranks", "team", "system", "submission", "kind")
            }
            | dict(
                chain.from_iterable(
                    _iterate_score_columns(name, row["scores"].get(name, {}))
                    for name in names
                )
            )
            for row in self.rows
        )

    def to_pandas(self) -> pd.DataFrame:
        return self.table().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        return self.table().to_polars()


class Run(ApiObject):
    def wait(self) -> Run:
        """Poll until the run has a final state, and return the run."""
        while True:
            answer = self.site.answer(f"submissions/{self.id}/")
            if answer.body["status"] in FINAL_RUN_STATUSES:
                return Run(self.site, answer.body)
            time.sleep(choose_poll_pause(answer))


class Site(SiteConnection):
    """A Citeboard site. ``address`` is the URL of the site's home page.

    Without arguments, the client uses the site and the token of `citeboard login`.
    """

    def __init__(self, address: str | None = None, token: str | None = None) -> None:
        chosen, stored = choose_site_and_token(address)
        super().__init__(chosen, stored if token is None else token)

    def seasons(self) -> list[Season]:
        return [Season(self, season) for season in self.pages("seasons/")]

    def season(self, slug: str) -> Season:
        return Season(self, self.get(f"seasons/{slug}/"))

    def load_season(
        self, file: Path | str, season: str = "", **fields: str
    ) -> JsonObject:
        """Load a season.toml or season.zip into an existing season, or create a season.

        ``fields`` are optional fields of the API's request to load a season.
        """
        where = f"seasons/{season}/file/" if season else "new-season/"
        with pack_folder_for_upload(Path(file)) as sent:
            loaded: JsonObject = self.post_file(where, fields, sent, field="file")
        return loaded

    def phase(self, named: str | int) -> Phase:
        """Return a phase by its number or its path SEASON/TASK/PHASE."""
        return Phase(self, self.get(f"phases/{phase_id(self, str(named))}/"))

    def run(self, number: int) -> Run:
        return Run(self, self.get(f"submissions/{number}/"))

    def runs(self, phase: int | None = None) -> Table:
        """Return the runs of the user's teams and of seasons that the user organises,
        newest first.
        """
        return Table(self.pages("submissions/", {"phase": phase}))


def _iterate_score_columns(name: str, score: JsonObject) -> Iterator[tuple[str, Any]]:
    yield name, score.get("value")
    yield f"{name}.low", score.get("low")
    yield f"{name}.high", score.get("high")


def _flatten_instance_values(row: JsonObject) -> JsonObject:
    sides = ((side, row[f"values_{side}"].items()) for side in ("a", "b"))
    values = {
        f"{metric}.{side}": value
        for side, of_side in sides
        for metric, value in of_side
    }
    return {
        name: row[name] for name in ("name", "given", "gold", "answer_a", "answer_b")
    } | values
