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

from citeboard.core.plain_text import plain
from citeboard.core.query import PageParameters, switch_parameter
from citeboard.core.words import count_with_noun, join_names
from citeboard.teams.models import Membership, User
from scoring.exchange.citations import Citation, cite_board, cite_run
from scoring.exchange.figure_files import (
    IMAGE_CONTENT_TYPES,
    image_formats,
    render_figure,
)
from scoring.exchange.paper_battles import PaperBattles, battles_of_season
from scoring.exchange.report_figures import report_tables
from scoring.exchange.results import as_yaml, build_zip, file_name
from scoring.figures import Figure
from scoring.results.board import exports
from scoring.results.board.charts import (
    class_heat_map,
    fixed_classes_text,
    ranking_chart,
    tested_difference_text,
)
from scoring.results.board.confirming import confirmation_of
from scoring.results.board.counting import count_runs_and_teams
from scoring.results.board.differences import (
    MAX_HEAT_MAP_ROWS,
    class_metrics_of,
    class_table,
    offered_dimensions,
)
from scoring.results.board.formatting import (
    dimension_label,
    interval,
    metric_label,
    shown,
)
from scoring.results.board.leaders import class_leaders_of
from scoring.results.board.manual_scores import team_figures_by_run
from scoring.results.board.public_results import overall_ranking_of_season
from scoring.results.board.standings import Board, Column, Row, compute_board
from scoring.results.board.visibility import (
    Visibility,
    audience_of,
    is_public,
    shows_run_counts,
)
from tasks.gold.secrecy import with_embargoes
from tasks.models import Organiser, Phase, Registration, Season
from tasks.seasons.access import listed_entries, may_help

PAPER_FILE_FORMATS = ("csv", "json", "tex", "bib", "md", "yml", *IMAGE_CONTENT_TYPES)
#: The archive has PDF and PNG charts for the first MAX_BOARDS_CONVERTED boards, to save time.
MAX_BOARDS_CONVERTED = 12


@dataclass(frozen=True, kw_only=True)
class PaperParameters(PageParameters):
    """The query parameters of the overview paper. If ``for_everybody`` is True,
    organisers get only content that the public may see.
    """

    for_everybody: bool = switch_parameter("as", "everybody", default=False)


@dataclass(frozen=True)
class PaperFile:
    name: str
    label: str
    written: Callable[[], str | bytes]


@dataclass(frozen=True)
class PaperPart:
    title: str
    files: Sequence[PaperFile]
    board: Board | None = None
    classes: Sequence[tuple[str, Sequence[PaperFile]]] = ()
    battles: PaperBattles | None = None

    @property
    def every(self) -> list[PaperFile]:
        return [*self.files, *(file for _, files in self.classes for file in files)]

    @property
    def is_hidden(self) -> bool:
        if self.battles is not None:
            return self.battles.is_hidden
        return self.board is not None and not is_public(self.board.phase)


@dataclass(frozen=True)
class OverviewPaper:
    season: Season
    viewer: object

    @classmethod
    def of(
        cls, season: Season, viewer: object, query: PaperParameters
    ) -> OverviewPaper:
        return cls.for_viewer(season, None if query.for_everybody else viewer)

    @classmethod
    def for_viewer(cls, season: Season, viewer: object) -> OverviewPaper:
        """Return the overview paper of a season with the content that the viewer may
        see. Organisers and their helpers also see content that is not public.
        """
        return cls(season, viewer if may_help(viewer, season) else AnonymousUser())

    @cached_property
    def boards(self) -> list[Board]:
        phases = Phase.objects.filter(task__season=self.season).select_related(
            "task__season"
        )
        boards = []
        for phase in with_embargoes(
            phases.order_by("task__position", "task_id", "position", "opens")
        ):
            audience = audience_of(phase, self.viewer)
            for rules in phase.task.rules:
                board = compute_board(phase, self.viewer, rules, audience=audience)
                if board.visibility == Visibility.SCORES and board.rows:
                    boards.append(board)
        return boards

    @cached_property
    def battles(self) -> list[PaperBattles]:
        return battles_of_season(self.season, self.viewer)

    @cached_property
    def teams(self) -> list[Participant]:
        return participants(self.season, self.viewer)

    @cached_property
    def parts(self) -> list[PaperPart]:
        return [
            self._season_part(),
            *self._report_parts(),
            *map(_board_part, self.boards),
            *map(_battles_part, self.battles),
        ]

    @property
    def files(self) -> Mapping[str, PaperFile]:
        return {file.name: file for part in self.parts for file in part.every}

    def _season_part(self) -> PaperPart:
        season, teams, boards = self.season, self.teams, self.boards

        def season_bibliography() -> str:
            # Citations use the rule set that ranks the board, and store no snapshot.
            entries: dict[str, Citation] = {}
            for board in boards:
                confirmation = confirmation_of(board)
                entries.setdefault(
                    f"board {board.phase.pk}",
                    cite_board(board, confirmation=confirmation),
                )
                for row in board.systems:
                    citation = cite_run(board, row, confirmation=confirmation)
                    entries.setdefault(f"run {row.submission}", citation)
            return "\n".join(citation.bibtex for citation in entries.values())

        texts: list[tuple[str, str, Callable[[], str]]] = [
            (
                "results.md",
                _("Facts of the results section, Markdown"),
                partial(summarise_results, season, boards, self.battles),
            ),
            (
                "participants.csv",
                _("Teams and their people, CSV"),
                partial(participants_csv, teams),
            ),
            (
                "participants.tex",
                _("Teams and their people, LaTeX"),
                partial(participants_latex, season, teams),
            ),
            ("systems.bib", _("Boards and systems, BibTeX"), season_bibliography),
            (
                "papers.yml",
                _("The paper for the ACL Anthology, YAML"),
                partial(acl_papers_yaml, season),
            ),
            (
                "openreview.json",
                _("The paper for OpenReview, JSON"),
                partial(openreview_note_json, season),
            ),
        ]
        if season.shows_overall:
            table, label = (
                overall_ranking_of_season(season),
                _("All tasks together, %(form)s"),
            )
            texts += [
                (
                    "overall.csv",
                    label % {"form": "CSV"},
                    partial(exports.overall_ranking_csv, season, table),
                ),
                (
                    "overall.json",
                    label % {"form": "JSON"},
                    partial(exports.overall_ranking_json, season, table),
                ),
                (
                    "overall.tex",
                    label % {"form": "LaTeX"},
                    partial(exports.overall_ranking_latex, season, table),
                ),
            ]
        return PaperPart(_("The season"), [PaperFile(*text) for text in texts])

    def _report_parts(self) -> Iterator[PaperPart]:
        people, runs_it = (
            [team.people for team in self.teams],
            may_help(self.viewer, self.season),
        )
        for table in report_tables(self.boards, people, has_countries=runs_it):
            forms = (("csv", "CSV", table.csv), ("tex", "LaTeX", table.latex))
            files = [
                PaperFile(f"report/{table.name}.{form}", label, write)
                for form, label, write in forms
            ]
            for end, chart in table.charts.items():
                files += _chart_files(
                    f"report-{table.name}{end}",
                    lambda chart=chart: chart,  # type: ignore[misc]
                )
            yield PaperPart(f"{_('For the report')}: {_(table.title)}", files)

    def archive(
        self, tell: Callable[[float, str], object] = lambda share, doing: None
    ) -> bytes:
        """Return the files of the overview paper as a zip archive. ``tell`` is called
        with the completed share of the archive and a description of the current step.
        Raises ConverterBusy.

        The archive has PDF and PNG files only for the charts of the first boards, and
        SVG files for all other charts.
        """
        first = map(_board_file_stem, self.boards[:MAX_BOARDS_CONVERTED])
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

        def archive_contents() -> Iterator[tuple[str, str | bytes]]:
            for place, file in enumerate(chosen):
                tell(place / len(chosen), f"writing file {place + 1} of {len(chosen)}")
                yield file.name, file.written()

        return build_zip(archive_contents())


def _board_file_stem(board: Board) -> str:
    phase = board.phase
    return f"{phase.task.slug}-{phase.slug}-{board.rules}"


def _board_part(board: Board) -> PaperPart:
    name, rows = _board_file_stem(board), board.rows
    phase = board.phase
    files = [
        PaperFile(
            f"boards/{name}.csv",
            "CSV",
            lambda: exports.board_as_csv(board, rows, team_figures_by_run(rows)),
        ),
        PaperFile(
            f"boards/{name}.json",
            "JSON",
            lambda: exports.board_as_json(board, rows, team_figures_by_run(rows)),
        ),
        PaperFile(
            f"boards/{name}.tex", "LaTeX", lambda: exports.board_as_latex(board, rows)
        ),
    ]
    if (chart := ranking_chart(board)) is not None:
        files += _chart_files(name, lambda: chart)
    title = _("%(task)s, %(phase)s, rules %(rules)s")
    title %= {"task": phase.task, "phase": phase, "rules": board.rules}
    return PaperPart(title, files, board, list(_class_score_files(board, name)))


def _battles_part(battles: PaperBattles) -> PaperPart:
    stem = f"battles/{battles.name}"
    files = [
        PaperFile(f"{stem}.csv", "CSV", battles.board.as_csv),
        PaperFile(f"{stem}.json", "JSON", battles.as_json),
        PaperFile(f"{stem}.tex", "LaTeX", battles.as_latex),
    ]
    return PaperPart(battles.title, files, battles=battles)


def _class_score_files(
    board: Board, name: str
) -> Iterator[tuple[str, list[PaperFile]]]:
    if not (dimensions := offered_dimensions(board)):
        return
    of_runs = board.with_first_runs_only
    view = replace(of_runs, rows=of_runs.systems)
    yield (
        _("All classes and metrics"),
        [
            PaperFile(f"classes/{name}.csv", "CSV", partial(exports.classes_csv, view)),
            PaperFile(
                f"classes/{name}.json", "JSON", partial(exports.classes_json, view)
            ),
        ],
    )
    for dimension in dimensions:
        metrics = class_metrics_of(view, dimension)
        ranking = board.ranking.metric if board.ranking else ""
        metric = ranking if ranking in metrics else next(iter(metrics), "")
        if metric:
            stem = f"{name}-{file_name(dimension)}"
            label = _("%(metric)s by %(dimension)s")
            label %= {
                "metric": metric_label(metric, view.phase.task.task_type),
                "dimension": dimension_label(dimension),
            }

            def class_scores_latex(
                dimension: str = dimension, metric: str = metric
            ) -> str:
                classes = class_table(view, view.rows, dimension, metric)
                return exports.classes_latex(
                    view, classes, class_leaders_of(view, dimension, metric).significant
                )

            def class_scores_chart(
                dimension: str = dimension, metric: str = metric
            ) -> Figure:
                classes = class_table(
                    view, view.rows[:MAX_HEAT_MAP_ROWS], dimension, metric
                )
                leaders = class_leaders_of(view, dimension, metric).among(
                    {name.label for name in classes.classes}
                )
                return class_heat_map(classes, leaders.significant)

            yield (
                label,
                [
                    PaperFile(f"classes/{stem}.tex", "LaTeX", class_scores_latex),
                    *_chart_files(stem, class_scores_chart),
                ],
            )


def _chart_files(stem: str, figure: Callable[[], Figure]) -> list[PaperFile]:
    return [
        PaperFile(
            f"figures/{stem}.{form}",
            f"chart, {form.upper()}",
            lambda form=form: render_figure({stem: figure()}, f"{stem}.{form}"),  # type: ignore[misc]
        )
        for form in image_formats()
    ]


#: Markdown gives these punctuation characters a special meaning.
_MARKDOWN_CHARACTERS = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
#: A sentence names at most MAX_SYSTEMS_NAMED systems, and gives the number of further systems.
MAX_SYSTEMS_NAMED = 8


def summarise_results(
    season: Season, boards: Sequence[Board], battles: Sequence[PaperBattles] = ()
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
        parts.append(
            f"Ranked by {_escape_markdown(metric_label(ranking.metric, phase.task.task_type))}{gold}."
        )
        if confirmation := confirmation_of(board):
            parts.append(f"Results are {confirmation.words}.")
        parts += [
            *_first_rank_sentences(board),
            *_baseline_sentences(board),
            *_class_sentences(board, ranking),
        ]
    for own in battles:
        parts.append(
            f"## {_escape_markdown(str(own.phase.task))}, {_escape_markdown(str(own.phase))}, battles"
        )
        parts += [
            own.extent,
            f"May be first: {_escape_markdown(join_names(own.may_be_first))}.",
        ]
    if not boards and not battles:
        parts.append("No board shows its scores.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _first_rank_sentences(board: Board) -> Iterator[str]:
    if not board.best:
        yield "No run of a team is ranked."
        return
    ranked = sum(row.rank is not None for row in board.rows)
    verb = "has" if len(board.best) == 1 else "have"
    best = join_names(
        [
            f"{_system_and_team(row)} with {_score_with_interval(board, row)}"
            for row in board.best
        ]
    )
    is_sure = len(board.may_be_first) == 1
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
    if others := [row for row in board.may_be_first if row.submission not in best_runs]:
        names = [_system_and_team(row) for row in others[:MAX_SYSTEMS_NAMED]]
        rest = (
            [count_with_noun(len(others) - MAX_SYSTEMS_NAMED, "other")]
            if len(others) > MAX_SYSTEMS_NAMED
            else []
        )
        yield f"May be first as well: {join_names([*names, *rest])}."
    elif ranked > len(board.best):
        verb = "It is" if len(board.best) == 1 else "They are"
        yield f"{verb} significantly better than every other ranked run."


def _baseline_sentences(board: Board) -> Iterator[str]:
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
            f"The best baseline is {_escape_markdown(best.system)} with {_score_with_interval(board, best)}; "
            f"{count_with_noun(better, 'ranked run')} {'is' if better == 1 else 'are'} better."
        )
    for row in board.rows:
        if row.is_human:
            yield f"The human line is {_score_with_interval(board, row)}."


def _class_sentences(board: Board, ranking: Column) -> Iterator[str]:
    board = board.with_first_runs_only
    systems = [row for row in board.systems if row.rank is not None] or board.systems
    for dimension in offered_dimensions(board):
        if ranking.metric not in class_metrics_of(board, dimension):
            continue
        table = class_table(board, systems, dimension, ranking.metric)
        if table.is_tested:
            if (
                words
                := f"{fixed_classes_text(table)} {tested_difference_text(table)}".strip()
            ):
                yield f"By {_escape_markdown(dimension_label(dimension))}: {_escape_markdown(words)}"
            continue
        means = [
            (mean, name)
            for name in table.classes
            if (mean := table.mean(name.label)) is not None
        ]
        if len(means) < 2 or table.higher_is_better is None:
            continue
        means.sort(key=lambda part: part[0], reverse=not table.higher_is_better)
        name = _escape_markdown(dimension_label(dimension))
        over = f"By {name}, over {count_with_noun(len(systems), 'system')}"
        ends = [
            f"{word} {_escape_markdown(name.label)} "
            f"(mean {shown(mean, table.scale)} on {name.support} of the gold)"
            for word, (mean, name) in (("hardest", means[0]), ("easiest", means[-1]))
        ]
        yield f"{over}: {', '.join(ends)}."


def _system_and_team(row: Row) -> str:
    return f"{_escape_markdown(row.system)} of {_escape_markdown(row.display_name)}"


def _score_with_interval(board: Board, row: Row) -> str:
    ranking = board.ranking
    cell = row.scores.get(ranking.name) if ranking else None
    if ranking is None or cell is None:
        return "no value"
    value = shown(cell.value, ranking.scale, is_infinite=cell.is_infinite)
    ends = interval(cell.low, cell.high, ranking.scale)
    return f"{value} ({ends})" if ends else value


def _escape_markdown(text: str) -> str:
    return _MARKDOWN_CHARACTERS.sub(r"\\\1", " ".join(text.split()))


PARTICIPANT_COLUMNS = (
    "team",
    "team_name",
    "members",
    "has_organiser",
    "name",
    "affiliation",
    "orcid",
)


@dataclass(frozen=True, kw_only=True)
class Participant:
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
    def unnamed(self) -> int:
        return self.members - len(self.people)


def participants(season: Season, viewer: object) -> list[Participant]:
    entries = list(listed_entries(viewer, season).approved().marked())
    teams = [entry.team_id for entry in entries]
    memberships = Membership.objects.filter(team__in=teams).select_related("user")
    members: dict[int, list[User]] = {team: [] for team in teams}
    for membership in memberships.order_by("joined_at", "pk"):
        members[membership.team_id].append(membership.user)
    return [
        Participant(
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


def participants_csv(teams: Sequence[Participant]) -> str:
    lines = []
    for team in teams:
        facts = [
            team.slug,
            plain(team.name),
            team.members,
            "yes" if team.has_organiser else "",
        ]
        people = [
            (person.name, person.affiliation, person.orcid) for person in team.people
        ]
        lines += [[*facts, *map(plain, person)] for person in people or [("", "", "")]]
    return exports.csv_text(PARTICIPANT_COLUMNS, *lines)


def participants_latex(season: Season, teams: Sequence[Participant]) -> str:
    """Return the participants of a season as LaTeX, for example `* Ada Lovelace, Bo Li
    and 2 others`.

    An asterisk marks each team that has an organiser of the season as member.
    """
    lines = []
    for team in teams:
        names = ", ".join(person.name for person in team.people)
        others = (
            count_with_noun(team.unnamed, "other" if names else "member")
            if team.unnamed
            else ""
        )
        members = f"{names} and {others}" if names and others else names or others
        mark = "* " if team.has_organiser else ""
        lines.append([team.name, mark + members, "; ".join(team.affiliations)])
    heads = ["Team", "Members", "Affiliations"]
    tabular = exports.latex_tabular([f"{season}: teams"], "lp{6cm}p{6cm}", heads, lines)
    caption = f"Teams of {season}. Named are the members who agreed to it"
    caption += (
        "; * with an organiser of the season."
        if any(team.has_organiser for team in teams)
        else "."
    )
    return exports.latex_table(tabular, caption, f"{season.slug}-teams")


def paper_title(season: Season) -> str:
    return f"Overview of {season}"


def overview_paper_authors(season: Season) -> list[User]:
    """Return the authors of the overview paper, who are the organisers named on the
    public page of the season.
    """
    found = Organiser.objects.filter(
        season=season, role=Organiser.Role.ORGANISER
    ).select_related("user")
    return [organiser.user for organiser in found.order_by("pk")]


def acl_papers_yaml(season: Season) -> str:
    """Return the `papers.yml` of https://github.com/rycolab/aclpub2.

    The last word of an author's name becomes the last name.
    """
    authors = []
    for person in overview_paper_authors(season):
        first, _space, last = str(person).rpartition(" ")
        facts = {"institution": person.affiliation, "orcid": person.orcid}
        given = {name: value for name, value in facts.items() if value}
        authors.append({"first_name": first, "last_name": last, **given})
    paper = {
        "id": 1,
        "authors": authors,
        "file": f"{season.slug}.pdf",
        "title": paper_title(season),
    }
    return as_yaml([{**paper, "abstract": season.summary}])


def openreview_note_json(season: Season) -> str:
    """Return the JSON content of a paper submission for version 2 of the OpenReview
    API, without author ids.
    """
    content = {
        "title": paper_title(season),
        "authors": [str(person) for person in overview_paper_authors(season)],
        "keywords": ["shared task", "citation research", *map(str, season.tasks.all())],
        "abstract": season.summary,
    }
    return (
        exports.json_text(
            {"content": {name: {"value": value} for name, value in content.items()}}
        )
        + "\n"
    )
