"""What an overview paper of a season is written from, as files: tables, charts, teams, systems and facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _

from citeboard.core.query import Query, switch_from
from scoring.board import class_exports, overall_exports
from scoring.board.charts import heat_map, ranking_chart
from scoring.board.confirming import confirmation_of
from scoring.board.differences import MAX_IN_HEAT_MAP, class_table, metrics_of, offered_dimensions
from scoring.board.exports import as_csv, as_json
from scoring.board.latex import as_latex
from scoring.board.leaders import leaders_of
from scoring.board.names import dimension_label, metric_label
from scoring.board.overall import overall
from scoring.board.standings import Board, standings
from scoring.board.team_reported import figures_of
from scoring.board.visibility import Visibility, audience_of, is_public
from scoring.exchange import participants
from scoring.exchange.citations import Citation, of_board, of_run
from scoring.exchange.figure_files import TYPES, figure_file, file_forms
from scoring.exchange.packed import file_name, packed
from scoring.exchange.results_text import results_text
from scoring.figures import Figure
from tasks.models import Phase, Season
from tasks.seasons.access import may_help

CONTENT = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "tex": "application/x-tex; charset=utf-8",
    "bib": "application/x-bibtex; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    **TYPES,
}
#: Boards whose charts lie in the archive as PDF and PNG too: each takes part of a second to convert.
MAX_CONVERTED = 12


@dataclass(frozen=True, kw_only=True)
class PaperQuery(Query):
    """``for_everybody`` is for who runs the season: what everybody may read, and nothing else."""

    for_everybody: bool = switch_from("as", "everybody", default=False)


@dataclass(frozen=True)
class PaperFile:
    """``name`` is its path in the archive; ``written`` makes its content."""

    name: str
    label: str
    written: Callable[[], str | bytes]

    @property
    def content_type(self) -> str:
        return CONTENT[self.name.rpartition(".")[2]]


@dataclass(frozen=True)
class PaperFiles:
    """Files that stand together on the page. ``board`` is the one that they show, if they show one."""

    title: str
    files: Sequence[PaperFile]
    board: Board | None = None
    classes: Sequence[tuple[str, Sequence[PaperFile]]] = ()

    @property
    def every(self) -> list[PaperFile]:
        return [*self.files, *(file for _, own in self.classes for file in own)]

    @property
    def is_hidden(self) -> bool:
        """Whether others do not see what it shows."""
        return self.board is not None and not is_public(self.board.phase)


@dataclass(frozen=True)
class OverviewPaper:
    """All of it as somebody may read it; what a board does not show them is not there."""

    season: Season
    viewer: object

    @classmethod
    def of(cls, season: Season, viewer: object, query: PaperQuery) -> OverviewPaper:
        return cls.for_viewer(season, None if query.for_everybody else viewer)

    @classmethod
    def for_viewer(cls, season: Season, viewer: object) -> OverviewPaper:
        """Whoever does not run the season gets what everybody gets."""
        return cls(season, viewer if may_help(viewer, season) else AnonymousUser())

    @cached_property
    def boards(self) -> list[Board]:
        """Each under each rule set, as far as it shows scores and has rows."""
        phases = Phase.objects.filter(task__season=self.season).select_related("task__season")
        return [board for phase in phases.order_by("task__position", "task_id", "position", "opens")
                for board in self._boards(phase)]  # fmt: skip

    def _boards(self, phase: Phase) -> Iterator[Board]:
        audience = audience_of(phase, self.viewer)
        for rules in phase.task.rules:
            board = standings(phase, self.viewer, rules, audience=audience)
            if board.visibility == Visibility.SCORES and board.rows:
                yield board

    @cached_property
    def teams(self) -> list[participants.Participant]:
        return participants.participants(self.season, self.viewer)

    @cached_property
    def parts(self) -> list[PaperFiles]:
        return [self._season_part(), *map(_board_part, self.boards)]

    @property
    def files(self) -> Mapping[str, PaperFile]:
        return {file.name: file for part in self.parts for file in part.every}

    def _season_part(self) -> PaperFiles:
        season, teams = self.season, self.teams
        files = [
            PaperFile(
                "results.md",
                _("Facts of the results section, Markdown"),
                lambda: results_text(season, self.boards),
            ),
            PaperFile(
                "participants.csv", _("Teams and their people, CSV"), lambda: participants.as_csv(teams)
            ),
            PaperFile(
                "participants.tex",
                _("Teams and their people, LaTeX"),
                lambda: participants.as_latex(season, teams),
            ),
            PaperFile("systems.bib", _("Boards and systems, BibTeX"), self._bibliography),
        ]
        return PaperFiles(_("The season"), files + (self._overall_files() if season.shows_overall else []))

    def _overall_files(self) -> list[PaperFile]:
        table = overall(self.season)
        return [
            PaperFile(
                f"overall.{form}",
                _("All tasks together, %(form)s") % {"form": name},
                partial(write, self.season, table),
            )
            for form, name, write in (
                ("csv", "CSV", overall_exports.as_csv),
                ("json", "JSON", overall_exports.as_json),
                ("tex", "LaTeX", overall_exports.as_latex),
            )
        ]

    def _bibliography(self) -> str:
        """Of several rule sets the ranking one names a run. No snapshot is kept for it."""
        entries: dict[str, Citation] = {}
        for board in self.boards:
            confirmation = confirmation_of(board)
            entries.setdefault(f"board {board.phase.pk}", of_board(board, confirmation=confirmation))
            for row in board.systems:
                citation = of_run(board, row, confirmation=confirmation)
                entries.setdefault(f"run {row.submission}", citation)
        return "\n".join(citation.bibtex for citation in entries.values())

    def archive(self, tell: Callable[[float, str], object] = lambda share, doing: None) -> bytes:
        """All files; charts of boards past the first ones are there as SVG alone. Raises ConverterBusy.

        ``tell`` hears how far it is.
        """
        converted = {name for board in self.boards[:MAX_CONVERTED] for name in _chart_names(board)}
        chosen = [
            file
            for file in self.files.values()
            if not file.name.startswith("figures/") or file.name.endswith(".svg") or file.name in converted
        ]
        return packed(_written(chosen, tell))


def _written(
    files: Sequence[PaperFile], tell: Callable[[float, str], object]
) -> Iterator[tuple[str, str | bytes]]:
    for place, file in enumerate(files):
        tell(place / len(files), f"writing file {place + 1} of {len(files)}")
        yield file.name, file.written()


def _name(board: Board) -> str:
    phase = board.phase
    return f"{phase.task.slug}-{phase.slug}-{board.rules}"


def _chart_names(board: Board) -> list[str]:
    """Those of the whole board; the heat maps of its classes are many."""
    return [f"figures/{_name(board)}.{form}" for form in TYPES]


def _board_part(board: Board) -> PaperFiles:
    name, rows = _name(board), board.rows
    phase = board.phase
    files = [
        PaperFile(f"boards/{name}.csv", "CSV", lambda: as_csv(board, rows, figures_of(rows))),
        PaperFile(f"boards/{name}.json", "JSON", lambda: as_json(board, rows, figures_of(rows))),
        PaperFile(f"boards/{name}.tex", "LaTeX", lambda: as_latex(board, rows)),
    ]
    chart = ranking_chart(board)
    if chart is not None:
        files += _charts(name, lambda: chart)
    title = _("%(task)s, %(phase)s, rules %(rules)s")
    title %= {"task": phase.task, "phase": phase, "rules": board.rules}
    return PaperFiles(title, files, board, list(_class_parts(board, name)))


def _class_parts(board: Board, name: str) -> Iterator[tuple[str, list[PaperFile]]]:
    """All classes together, then by dimension the table and the chart of the metric that ranks."""
    dimensions = offered_dimensions(board)
    if not dimensions:
        return
    own = replace(board, rows=board.systems)
    yield (
        _("All classes and metrics"),
        [
            PaperFile(f"classes/{name}.csv", "CSV", partial(class_exports.classes_csv, own)),
            PaperFile(f"classes/{name}.json", "JSON", partial(class_exports.classes_json, own)),
        ],
    )
    for dimension in dimensions:
        metrics = metrics_of(own, dimension)
        ranking = board.ranking.metric if board.ranking else ""
        metric = ranking if ranking in metrics else next(iter(metrics), "")
        if metric:
            stem = f"{name}-{file_name(dimension)}"
            label = _("%(metric)s by %(dimension)s")
            label %= {"metric": metric_label(metric), "dimension": dimension_label(dimension)}
            tex = PaperFile(f"classes/{stem}.tex", "LaTeX", partial(_class_table, own, dimension, metric))
            yield label, [tex, *_charts(stem, partial(_heat_map, own, dimension, metric))]


def _class_table(board: Board, dimension: str, metric: str) -> str:
    table = class_table(board, board.rows, dimension, metric)
    return class_exports.classes_latex(board, table, leaders_of(board, dimension, metric).significant)


def _heat_map(board: Board, dimension: str, metric: str) -> Figure:
    table = class_table(board, board.rows[:MAX_IN_HEAT_MAP], dimension, metric)
    leaders = leaders_of(board, dimension, metric).among({name.label for name in table.classes})
    return heat_map(table, leaders.significant)


def _charts(stem: str, figure: Callable[[], Figure]) -> list[PaperFile]:
    return [
        PaperFile(
            f"figures/{stem}.{form}",
            f"chart, {form.upper()}",
            lambda form=form: figure_file({stem: figure()}, f"{stem}.{form}"),  # type: ignore[misc]
        )
        for form in file_forms()
    ]
