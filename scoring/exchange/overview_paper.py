"""Create the files for the overview paper of a season, which are tables, charts, lists
of teams and systems, and a summary of the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _

from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.core.query import PageParameters, declare_switch_parameter
from citeboard.core.words import count_with_noun, join_names
from citeboard.teams.models import Membership, User
from scoring.exchange.citations import (
    Citation,
    build_citation_of_board,
    build_citation_of_run,
)
from scoring.exchange.figure_files import (
    IMAGE_CONTENT_TYPES,
    list_image_formats,
    render_figure,
)
from scoring.exchange.paper_battles import (
    BattleBoardForPaper,
    list_battle_boards_of_season,
)
from scoring.exchange.report_figures import build_season_report_tables
from scoring.exchange.results import build_zip, format_as_yaml, make_safe_file_name
from scoring.figures import Figure
from scoring.results.board import exports
from scoring.results.board.charts import (
    build_class_heat_map,
    build_ranking_chart,
    describe_best_and_worst_class,
    describe_gold_determined_classes,
)
from scoring.results.board.confirming import compute_confirmation_of_board
from scoring.results.board.counting import count_runs_and_teams
from scoring.results.board.differences import (
    MAX_HEAT_MAP_ROWS,
    build_scores_by_class_table,
    list_metrics_with_class_values,
    list_selectable_dimensions,
)
from scoring.results.board.formatting import (
    display_name_of_dimension,
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.leaders import load_class_leaders
from scoring.results.board.manual_scores import load_team_figures_by_run
from scoring.results.board.public_results import load_overall_ranking_of_season
from scoring.results.board.standings import (
    Board,
    BoardRow,
    BoardScoreColumn,
    compute_board,
)
from scoring.results.board.visibility import (
    BoardVisibility,
    determine_audience,
    is_current_board_public,
    shows_run_counts,
)
from tasks.gold.secrecy import load_phases_with_embargoes
from tasks.models import Organiser, Phase, Registration, Season
from tasks.seasons.access import can_help_season, list_visible_entries

PAPER_FILE_FORMATS = ("csv", "json", "tex", "bib", "md", "yml", *IMAGE_CONTENT_TYPES)
#: The archive has PDF and PNG charts for the first MAX_BOARDS_WITH_CONVERTED_CHARTS boards, to save time.
MAX_BOARDS_WITH_CONVERTED_CHARTS = 12


@dataclass(frozen=True, kw_only=True)
class OverviewPaperQuery(PageParameters):
    """The query parameters of the overview paper. If ``for_everybody`` is True,
    organisers get only content that the public may see.
    """

    for_everybody: bool = declare_switch_parameter("as", "everybody", default=False)


@dataclass(frozen=True)
class PaperFile:
    name: str
    label: str
    written: Callable[[], str | bytes]


@dataclass(frozen=True)
class OverviewPaperPart:
    title: str
    files: Sequence[PaperFile]
    board: Board | None = None
    classes: Sequence[tuple[str, Sequence[PaperFile]]] = ()
    battles: BattleBoardForPaper | None = None

    @property
    def all_files(self) -> list[PaperFile]:
        return [*self.files, *(file for _, files in self.classes for file in files)]

    @property
    def is_hidden(self) -> bool:
        if self.battles is not None:
            return self.battles.is_hidden
        return self.board is not None and not is_current_board_public(self.board.phase)


@dataclass(frozen=True)
class OverviewPaper:
    season: Season
    viewer: object

    @classmethod
    def of(
        cls, season: Season, viewer: object, query: OverviewPaperQuery
    ) -> OverviewPaper:
        return cls.for_viewer(season, None if query.for_everybody else viewer)

    @classmethod
    def for_viewer(cls, season: Season, viewer: object) -> OverviewPaper:
        """Return the overview paper of a season with the content that the viewer may
        see. Organisers and their helpers also see content that is not public.
        """
        return cls(
            season, viewer if can_help_season(viewer, season) else AnonymousUser()
        )

    @cached_property
    def boards(self) -> list[Board]:
        phases = Phase.objects.filter(task__season=self.season).select_related(
            "task__season"
        )
        boards = []
        for phase in load_phases_with_embargoes(
            phases.order_by("task__position", "task_id", "position", "opens")
        ):
            audience = determine_audience(phase, self.viewer)
            for rules in phase.task.rules:
                board = compute_board(phase, self.viewer, rules, audience=audience)
                if board.visibility == BoardVisibility.SCORES and board.rows:
                    boards.append(board)
        return boards

    @cached_property
    def battles(self) -> list[BattleBoardForPaper]:
        return list_battle_boards_of_season(self.season, self.viewer)

    @cached_property
    def teams(self) -> list[ParticipatingTeam]:
        return list_participating_teams(self.season, self.viewer)

    @cached_property
    def parts(self) -> list[OverviewPaperPart]:
        return [
            self._build_season_part(),
            *self._iterate_report_parts(),
            *map(_build_board_part, self.boards),
            *map(_build_battles_part, self.battles),
        ]

    @property
    def files(self) -> Mapping[str, PaperFile]:
        return {file.name: file for part in self.parts for file in part.all_files}

    def _build_season_part(self) -> OverviewPaperPart:
        season, teams, boards = self.season, self.teams, self.boards

        def build_season_bibliography() -> str:
            # Citations use the rule set that ranks the board, and store no snapshot.
            entries: dict[str, Citation] = {}
            for board in boards:
                confirmation = compute_confirmation_of_board(board)
                entries.setdefault(
                    f"board {board.phase.pk}",
                    build_citation_of_board(board, confirmation=confirmation),
                )
                for row in board.systems:
                    citation = build_citation_of_run(
                        board, row, confirmation=confirmation
                    )
                    entries.setdefault(f"run {row.submission}", citation)
            return "\n".join(citation.bibtex_entry for citation in entries.values())

        texts: list[tuple[str, str, Callable[[], str]]] = [
            (
                "results.md",
                _("Facts of the results section, Markdown"),
                partial(summarise_results, season, boards, self.battles),
            ),
            (
                "participants.csv",
                _("Teams and their people, CSV"),
                partial(participants_as_csv, teams),
            ),
            (
                "participants.tex",
                _("Teams and their people, LaTeX"),
                partial(participants_as_latex, season, teams),
            ),
            ("systems.bib", _("Boards and systems, BibTeX"), build_season_bibliography),
            (
                "papers.yml",
                _("The paper for the ACL Anthology, YAML"),
                partial(build_acl_papers_yaml, season),
            ),
            (
                "openreview.json",
                _("The paper for OpenReview, JSON"),
                partial(build_openreview_note_json, season),
            ),
        ]
        if season.shows_overall:
            table, label = (
                load_overall_ranking_of_season(season),
                _("All tasks together, %(form)s"),
            )
            texts += [
                (
                    "overall.csv",
                    label % {"form": "CSV"},
                    partial(exports.overall_ranking_as_csv, season, table),
                ),
                (
                    "overall.json",
                    label % {"form": "JSON"},
                    partial(exports.overall_ranking_as_json, season, table),
                ),
                (
                    "overall.tex",
                    label % {"form": "LaTeX"},
                    partial(exports.overall_ranking_as_latex, season, table),
                ),
            ]
        return OverviewPaperPart(_("The season"), [PaperFile(*text) for text in texts])

    def _iterate_report_parts(self) -> Iterator[OverviewPaperPart]:
        people, runs_it = (
            [team.people for team in self.teams],
            can_help_season(self.viewer, self.season),
        )
        for table in build_season_report_tables(
            self.boards, people, has_countries=runs_it
        ):
            forms = (("csv", "CSV", table.csv), ("tex", "LaTeX", table.as_latex))
            files = [
                PaperFile(f"report/{table.name}.{form}", label, write)
                for form, label, write in forms
            ]
            for end, chart in table.charts.items():
                files += _build_chart_files(
                    f"report-{table.name}{end}",
                    lambda chart=chart: chart,  # type: ignore[misc]
                )
            yield OverviewPaperPart(f"{_('For the report')}: {_(table.title)}", files)

    def archive(
        self, tell: Callable[[float, str], object] = lambda share, doing: None
    ) -> bytes:
        """Return the files of the overview paper as a zip archive. ``tell`` is called
        with the completed share of the archive and a description of the current step.
        Raises FigureConverterBusy.

        The archive has PDF and PNG files only for the charts of the first boards, and
        SVG files for all other charts.
        """
        first = map(
            _make_board_file_stem, self.boards[:MAX_BOARDS_WITH_CONVERTED_CHARTS]
        )
        converted = {
            f"figures/{name}.{form}" for name in first for form in IMAGE_CONTENT_TYPES
        }
        chosen = [
            file
            for file in self.files.values()
            if not file.name.startswith("figures/")
            or file.name.endswith(".svg")
            or file.name in converted
        ]

        def iterate_archive_contents() -> Iterator[tuple[str, str | bytes]]:
            for place, file in enumerate(chosen):
                tell(place / len(chosen), f"writing file {place + 1} of {len(chosen)}")
                yield file.name, file.written()

        return build_zip(iterate_archive_contents())


def _make_board_file_stem(board: Board) -> str:
    phase = board.phase
    return f"{phase.task.slug}-{phase.slug}-{board.rules}"


def _build_board_part(board: Board) -> OverviewPaperPart:
    name, rows = _make_board_file_stem(board), board.rows
    phase = board.phase
    files = [
        PaperFile(
            f"boards/{name}.csv",
            "CSV",
            lambda: exports.board_as_csv(board, rows, load_team_figures_by_run(rows)),
        ),
        PaperFile(
            f"boards/{name}.json",
            "JSON",
            lambda: exports.board_as_json(board, rows, load_team_figures_by_run(rows)),
        ),
        PaperFile(
            f"boards/{name}.tex", "LaTeX", lambda: exports.board_as_latex(board, rows)
        ),
    ]
    if (chart := build_ranking_chart(board)) is not None:
        files += _build_chart_files(name, lambda: chart)
    title = _("%(task)s, %(phase)s, rules %(rules)s")
    title %= {"task": phase.task, "phase": phase, "rules": board.rules}
    return OverviewPaperPart(
        title, files, board, list(_iterate_class_score_files(board, name))
    )


def _build_battles_part(battles: BattleBoardForPaper) -> OverviewPaperPart:
    stem = f"battles/{battles.name}"
    files = [
        PaperFile(f"{stem}.csv", "CSV", battles.board.as_csv),
        PaperFile(f"{stem}.json", "JSON", battles.as_json),
        PaperFile(f"{stem}.tex", "LaTeX", battles.as_latex),
    ]
    return OverviewPaperPart(battles.title, files, battles=battles)


def _iterate_class_score_files(
    board: Board, name: str
) -> Iterator[tuple[str, list[PaperFile]]]:
    if not (dimensions := list_selectable_dimensions(board)):
        return
    of_runs = board.with_first_runs_only
    view = replace(of_runs, rows=of_runs.systems)
    yield (
        _("All classes and metrics"),
        [
            PaperFile(
                f"classes/{name}.csv", "CSV", partial(exports.class_scores_as_csv, view)
            ),
            PaperFile(
                f"classes/{name}.json",
                "JSON",
                partial(exports.class_scores_as_json, view),
            ),
        ],
    )
    for dimension in dimensions:
        metrics = list_metrics_with_class_values(view, dimension)
        ranking = board.ranking.metric if board.ranking else ""
        metric = ranking if ranking in metrics else next(iter(metrics), "")
        if metric:
            stem = f"{name}-{make_safe_file_name(dimension)}"
            label = _("%(metric)s by %(dimension)s")
            label %= {
                "metric": display_name_of_metric(metric, view.phase.task.task_type),
                "dimension": display_name_of_dimension(dimension),
            }

            def class_scores_latex(
                dimension: str = dimension, metric: str = metric
            ) -> str:
                classes = build_scores_by_class_table(
                    view, view.rows, dimension, metric
                )
                return exports.class_table_as_latex(
                    view,
                    classes,
                    load_class_leaders(view, dimension, metric).significant,
                )

            def class_scores_chart(
                dimension: str = dimension, metric: str = metric
            ) -> Figure:
                classes = build_scores_by_class_table(
                    view, view.rows[:MAX_HEAT_MAP_ROWS], dimension, metric
                )
                leaders = load_class_leaders(view, dimension, metric).limit_to_classes(
                    {name.label for name in classes.classes}
                )
                return build_class_heat_map(classes, leaders.significant)

            yield (
                label,
                [
                    PaperFile(f"classes/{stem}.tex", "LaTeX", class_scores_latex),
                    *_build_chart_files(stem, class_scores_chart),
                ],
            )


def _build_chart_files(stem: str, figure: Callable[[], Figure]) -> list[PaperFile]:
    return [
        PaperFile(
            f"figures/{stem}.{form}",
            f"chart, {form.upper()}",
            lambda form=form: render_figure({stem: figure()}, f"{stem}.{form}"),  # type: ignore[misc]
        )
        for form in list_image_formats()
    ]


#: Markdown gives these punctuation characters a special meaning.
_MARKDOWN_CHARACTERS_PATTERN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
#: A sentence names at most MAX_SYSTEMS_NAMED_IN_SUMMARY systems, and gives the number of further systems.
MAX_SYSTEMS_NAMED_IN_SUMMARY = 8


def summarise_results(
    season: Season, boards: Sequence[Board], battles: Sequence[BattleBoardForPaper] = ()
) -> str:
    """Return a text that summarises the results of the season. The caller must check
    that the reader may see the scores of all ``boards``.
    """
    teams = Registration.objects.filter(season=season).approved().count()
    sent = []
    for board in {board.phase.pk: board for board in boards}.values():
        phase = board.phase
        if shows_run_counts(phase, board.audience):
            runs, of_teams = (
                count_with_noun(count_runs_and_teams(phase).runs, "run"),
                count_with_noun(count_runs_and_teams(phase).teams, "team"),
            )
            sent.append(
                f"- {_escape_markdown(str(phase.task))}, "
                f"{_escape_markdown(str(phase))}: {runs} of {of_teams}."
            )
    parts = [
        f"# Results of {_escape_markdown(str(season))}",
        "## Turnout",
        f"{count_with_noun(teams, 'team').capitalize()} take part."
        if teams != 1
        else "1 team takes part.",
        "\n".join(sent),
    ]
    for board in boards:
        phase, ranking = board.phase, board.ranking
        parts.append(
            f"## {_escape_markdown(str(phase.task))}, {_escape_markdown(str(phase))}, rules {board.rules}"
        )
        if ranking is None or not board.rows:
            parts.append("The board is empty.")
            continue
        gold = f", gold v{board.gold.number}" if board.gold else ""
        metric_name = display_name_of_metric(ranking.metric, phase.task.task_type)
        parts.append(f"Ranked by {_escape_markdown(metric_name)}{gold}.")
        if confirmation := compute_confirmation_of_board(board):
            parts.append(f"Results are {confirmation.words}.")
        parts += [
            *_iterate_first_rank_sentences(board),
            *_iterate_baseline_sentences(board),
            *_iterate_class_sentences(board, ranking),
        ]
    for own in battles:
        parts.append(
            f"## {_escape_markdown(str(own.phase.task))}, {_escape_markdown(str(own.phase))}, battles"
        )
        parts += [
            own.battle_count_sentence,
            f"May be first: {_escape_markdown(join_names(own.systems_that_may_be_first))}.",
        ]
    if not boards and not battles:
        parts.append("No board shows its scores.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _iterate_first_rank_sentences(board: Board) -> Iterator[str]:
    if not board.best:
        yield (
            _escape_markdown(board.verdict.text)
            if board.verdict
            else "No run of a team is ranked."
        )
        return
    ranked = sum(row.rank is not None for row in board.rows)
    verb = "has" if len(board.best) == 1 else "have"
    best = join_names(
        [
            f"{_format_system_and_team(row)} with {_format_score_with_interval(board, row)}"
            for row in board.best
        ]
    )
    is_sure = len(board.rows_that_may_be_first) == 1
    place = "is first" if is_sure else f"{verb} the best value"
    yield f"Of {count_with_noun(ranked, 'ranked run')} {best} {place}."
    if verdict := board.verdict:
        yield _escape_markdown(verdict.text)
        return
    if not board.is_compared:
        if ranked > 1:
            yield "Significance has not been computed yet."
        return
    best_runs = {row.submission for row in board.best}
    if others := [
        row for row in board.rows_that_may_be_first if row.submission not in best_runs
    ]:
        names = [
            _format_system_and_team(row)
            for row in others[:MAX_SYSTEMS_NAMED_IN_SUMMARY]
        ]
        rest = (
            [count_with_noun(len(others) - MAX_SYSTEMS_NAMED_IN_SUMMARY, "other")]
            if len(others) > MAX_SYSTEMS_NAMED_IN_SUMMARY
            else []
        )
        yield f"May be first as well: {join_names([*names, *rest])}."
    elif ranked > len(board.best):
        verb = "It is" if len(board.best) == 1 else "They are"
        yield f"{verb} significantly better than every other ranked run."


def _iterate_baseline_sentences(board: Board) -> Iterator[str]:
    if baselines := [
        row for row in board.rows if row.is_baseline and row.value is not None
    ]:
        best = baselines[0]
        ranked = (
            row.value
            for row in board.rows
            if row.rank is not None and row.value is not None
        )
        better = sum(value > (best.value or 0.0) for value in ranked)
        yield (
            f"The best baseline is {_escape_markdown(best.system)} "
            f"with {_format_score_with_interval(board, best)}; "
            f"{count_with_noun(better, 'ranked run')} {'is' if better == 1 else 'are'} better."
        )
    for row in board.rows:
        if row.is_human:
            yield f"The human line is {_format_score_with_interval(board, row)}."


def _iterate_class_sentences(board: Board, ranking: BoardScoreColumn) -> Iterator[str]:
    board = board.with_first_runs_only
    systems = [row for row in board.systems if row.rank is not None] or board.systems
    for dimension in list_selectable_dimensions(board):
        if ranking.metric not in list_metrics_with_class_values(board, dimension):
            continue
        table = build_scores_by_class_table(board, systems, dimension, ranking.metric)
        if table.is_tested:
            if words := (
                f"{describe_gold_determined_classes(table)} "
                f"{describe_best_and_worst_class(table)}"
            ).strip():
                yield (
                    f"By {_escape_markdown(display_name_of_dimension(dimension))}: "
                    f"{_escape_markdown(words)}"
                )
            continue
        means = [
            (mean, name)
            for name in table.classes
            if (mean := table.mean(name.label)) is not None
        ]
        if len(means) < 2 or table.higher_is_better is None:
            continue
        means.sort(key=lambda part: part[0], reverse=not table.higher_is_better)
        name = _escape_markdown(display_name_of_dimension(dimension))
        over = f"By {name}, over {count_with_noun(len(systems), 'system')}"
        ends = [
            f"{word} {_escape_markdown(name.label)} "
            f"(mean {format_score(mean, table.scale)} on {name.support} of the gold)"
            for word, (mean, name) in (("hardest", means[0]), ("easiest", means[-1]))
        ]
        yield f"{over}: {', '.join(ends)}."


def _format_system_and_team(row: BoardRow) -> str:
    return f"{_escape_markdown(row.system)} of {_escape_markdown(row.display_name)}"


def _format_score_with_interval(board: Board, row: BoardRow) -> str:
    ranking = board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    if ranking is None or cell is None:
        return "no value"
    value = format_score(cell.value, ranking.scale, is_infinite=cell.is_infinite)
    ends = format_interval(cell.low, cell.high, ranking.scale)
    return f"{value} ({ends})" if ends else value


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_CHARACTERS_PATTERN.sub(r"\\\1", " ".join(text.split()))


PARTICIPANT_CSV_COLUMNS = (
    "team",
    "team_name",
    "members",
    "has_organiser",
    "name",
    "affiliation",
    "orcid",
)


@dataclass(frozen=True, kw_only=True)
class ParticipatingTeam:
    slug: str
    name: str
    members: int
    has_organiser: bool
    people: Sequence[User]

    @property
    def affiliations(self) -> list[str]:
        return list(
            dict.fromkeys(
                person.affiliation for person in self.people if person.affiliation
            )
        )

    @property
    def unnamed_member_count(self) -> int:
        return self.members - len(self.people)


def list_participating_teams(season: Season, viewer: object) -> list[ParticipatingTeam]:
    entries = list(list_visible_entries(viewer, season).approved().marked())
    teams = [entry.team_id for entry in entries]
    memberships = Membership.objects.filter(team__in=teams).select_related("user")
    members: dict[int, list[User]] = {team: [] for team in teams}
    for membership in memberships.order_by("joined_at", "pk"):
        members[membership.team_id].append(membership.user)
    return [
        ParticipatingTeam(
            slug=entry.team.slug,
            name=entry.team.name,
            members=len(members[entry.team_id]),
            has_organiser=entry.has_organiser,  # type: ignore[attr-defined]
            people=[
                person
                for person in members[entry.team_id]
                if person.is_listed and person.name
            ],
        )
        for entry in entries
    ]


def participants_as_csv(teams: Sequence[ParticipatingTeam]) -> str:
    lines = []
    for team in teams:
        facts = [
            team.slug,
            format_spreadsheet_cell(team.name),
            team.members,
            "yes" if team.has_organiser else "",
        ]
        people = [
            (person.name, person.affiliation, person.orcid) for person in team.people
        ]
        lines += [
            [*facts, *map(format_spreadsheet_cell, person)]
            for person in people or [("", "", "")]
        ]
    return exports.format_as_csv(PARTICIPANT_CSV_COLUMNS, *lines)


def participants_as_latex(season: Season, teams: Sequence[ParticipatingTeam]) -> str:
    """Return the participants of a season as LaTeX, for example `* Ada Lovelace, Bo Li
    and 2 others`.

    An asterisk marks each team that has an organiser of the season as member.
    """
    lines = []
    for team in teams:
        names = ", ".join(person.name for person in team.people)
        others = (
            count_with_noun(team.unnamed_member_count, "other" if names else "member")
            if team.unnamed_member_count
            else ""
        )
        members = f"{names} and {others}" if names and others else names or others
        mark = "* " if team.has_organiser else ""
        lines.append([team.name, mark + members, "; ".join(team.affiliations)])
    heads = ["Team", "Members", "Affiliations"]
    tabular = exports.format_latex_tabular(
        [f"{season}: teams"], "lp{6cm}p{6cm}", heads, lines
    )
    caption = f"Teams of {season}. Named are the members who agreed to it"
    caption += (
        "; * with an organiser of the season."
        if any(team.has_organiser for team in teams)
        else "."
    )
    return exports.format_latex_table(tabular, caption, f"{season.slug}-teams")


def build_paper_title(season: Season) -> str:
    return f"Overview of {season}"


def list_overview_paper_authors(season: Season) -> list[User]:
    """Return the authors of the overview paper, who are the organisers named on the
    public page of the season.
    """
    found = Organiser.objects.filter(
        season=season, role=Organiser.Role.ORGANISER
    ).select_related("user")
    return [organiser.user for organiser in found.order_by("pk")]


def build_acl_papers_yaml(season: Season) -> str:
    """Return the `papers.yml` of https://github.com/rycolab/aclpub2.

    The last word of an author's name becomes the last name.
    """
    authors = []
    for person in list_overview_paper_authors(season):
        first, _space, last = str(person).rpartition(" ")
        facts = {"institution": person.affiliation, "orcid": person.orcid}
        given = {name: value for name, value in facts.items() if value}
        authors.append({"first_name": first, "last_name": last, **given})
    paper = {
        "id": 1,
        "authors": authors,
        "file": f"{season.slug}.pdf",
        "title": build_paper_title(season),
    }
    return format_as_yaml([{**paper, "abstract": season.summary}])


def build_openreview_note_json(season: Season) -> str:
    """Return the JSON content of a paper submission for version 2 of the OpenReview
    API, without author ids.
    """
    content = {
        "title": build_paper_title(season),
        "authors": [str(person) for person in list_overview_paper_authors(season)],
        "keywords": ["shared task", "citation research", *map(str, season.tasks.all())],
        "abstract": season.summary,
    }
    return (
        exports.format_as_json(
            {"content": {name: {"value": value} for name, value in content.items()}}
        )
        + "\n"
    )
