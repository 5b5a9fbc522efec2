"""Parse the description of a competition bundle in the layout of Codabench or CodaLab.

This module does not import Django.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any

from scoring.exchange.bundles.dates import InvalidBundleDate, parse_bundle_date
from scoring.exchange.bundles.files import (
    DESCRIPTION_FILE_NAMES,
    BundleFiles,
    read_text_file,
)
from scoring.exchange.bundles.pages import convert_html_to_markdown
from scoring.exchange.bundles.report import ImportPrevented, ImportReport
from scoring.exchange.bundles.schema import (
    CODABENCH,
    CODALAB,
    report_keys_needing_attention,
)
from tasks.submissions.yaml_reader import read_yaml
from tasks.types.files import InputFile
from tasks.types.guarded.limits import TextLimits, TextUnreadable

DESCRIPTION_YAML_LIMITS = TextLimits(size=1 << 18, depth=20, digits=60)
#: A phase without a date gets the opening date OPENING_OF_UNDATED_PHASE, until an organiser changes it.
OPENING_OF_UNDATED_PHASE = dt.datetime(2097, 1, 1, tzinfo=dt.UTC)
MAX_BUNDLE_PHASES, MAX_BUNDLE_TASKS, MAX_TITLE_LENGTH = 50, 50, 120
#: The summary and the terms of a season have at most MAX_TOTAL_PAGE_LENGTH characters.
MAX_TOTAL_PAGE_LENGTH = 50_000
HTML_SUFFIXES = (".html", ".htm")
COUNTING_BY_SUBMISSION_RULE = {
    "Add": "selected",
    "Add_And_Delete": "selected",
    "Add_And_Delete_Multiple": "all",
    "Force_Last": "last",
    "Force_Latest_Multiple": "all",
    "Force_Best": "best",
}
DescriptionValues = Mapping[str, Any]


@dataclass(kw_only=True)
class BundleTask:
    """A task of a competition bundle, with its gold (the reference answers) and its
    programs.

    ``runs_code`` is True if participants submit programs instead of answers.
    """

    place: str
    name: str
    description: str = ""
    reference: list[InputFile] = field(default_factory=list)
    program: list[InputFile] = field(default_factory=list)
    runs_code: bool = False


@dataclass(kw_only=True)
class BundlePhase:
    place: str
    title: str
    opens: dt.datetime
    closes: dt.datetime | None
    runs_per_day: int | None
    runs_in_total: int | None
    tasks: list[int]
    never_ends: bool = False
    public: list[InputFile] = field(default_factory=list)
    kit: list[InputFile] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class LeaderboardColumn:
    key: str
    title: str
    is_ascending: bool | None = None


@dataclass(frozen=True, kw_only=True)
class SampleSolution:
    place: str
    tasks: Sequence[int]
    files: Sequence[InputFile]


@dataclass(kw_only=True)
class BundleCompetition:
    layout: str
    title: str
    summary: str
    terms: str = ""
    registration: str = "approval"
    counting: str = "selected"
    board: str = "everyone"
    shows_teams: bool = True
    phases: list[BundlePhase] = field(default_factory=list)
    tasks: dict[int, BundleTask] = field(default_factory=dict)
    columns: list[LeaderboardColumn] = field(default_factory=list)
    solutions: list[SampleSolution] = field(default_factory=list)


def read_competition(files: BundleFiles, report: ImportReport) -> BundleCompetition:
    """Return the competition that the description of a competition bundle defines.
    Raises Prevented if the bundle cannot be imported, or InputRefused if an archive in
    the bundle cannot be read.
    """
    try:
        said = read_yaml(
            files.description.read(), DESCRIPTION_YAML_LIMITS, takes_aliases=True
        )
    except TextUnreadable as unreadable:
        raise ImportPrevented(
            DESCRIPTION_FILE_NAMES[0], f"not readable: {unreadable}"
        ) from unreadable
    if not isinstance(said, dict):
        raise ImportPrevented(DESCRIPTION_FILE_NAMES[0], "not a table of keys")
    is_new = any(name in said for name in ("tasks", "leaderboards", "pages"))
    layout = CODABENCH if is_new else CODALAB
    report_keys_needing_attention(said, layout, report)
    report.add_understood_value(DESCRIPTION_FILE_NAMES[0], f"the layout of {layout}")
    reader = (_CodabenchReader if is_new else _CodaLabReader)(said, files, report)
    return reader.read()


class _CompetitionReader:
    def __init__(
        self, said: DescriptionValues, files: BundleFiles, report: ImportReport
    ) -> None:
        self.said, self.files, self.report = said, files, report

    def title(self) -> str:
        title = " ".join(str(self.said.get("title") or "").split())
        if not title:
            self.report.add_needed_decision("title", "give the season a title")
            return "Imported season"
        if len(title) > MAX_TITLE_LENGTH:
            self.report.add_needed_decision(
                "title", f"cut to {MAX_TITLE_LENGTH} characters"
            )
        return title[:MAX_TITLE_LENGTH].strip()

    def page(self, place: str, name: object) -> str:
        found = self.files.find_files_at_path(name) if name else []
        text = read_text_file(found[0]) if len(found) == 1 else None
        if text is None:
            self.report.add_needed_decision(
                place, f"there is no readable page “{str(name)[:100]}”"
            )
            return ""
        is_html = PurePosixPath(found[0].name.lower()).suffix in HTML_SUFFIXES
        return convert_html_to_markdown(text) if is_html else text.strip()

    def summary(self, pages: Sequence[tuple[str, str]]) -> str:
        first = " ".join(str(self.said.get("description") or "").split())
        lines = [
            f"{label}: {self.said[key]}"
            for key, label in (("contact_email", "Contact"), ("reward", "Reward"))
            if self.said.get(key)
        ]
        parts = [first, *lines, *(f"## {title}\n\n{text}" for title, text in pages)]
        summary = "\n\n".join(part for part in parts if part.strip())
        if len(summary) > MAX_TOTAL_PAGE_LENGTH:
            message = f"the pages have {len(summary):,} characters; cut to {MAX_TOTAL_PAGE_LENGTH:,}"
            self.report.add_needed_decision("pages", message)
        return summary[:MAX_TOTAL_PAGE_LENGTH]

    def date(self, place: str, value: object) -> dt.datetime | None:
        if value in (None, ""):
            return None
        try:
            return parse_bundle_date(value)
        except InvalidBundleDate as fault:
            self.report.add_needed_decision(place, f"{fault}; set the date")
            return None

    def limit(self, place: str, value: object) -> int | None:
        if value in (None, ""):
            return None
        text = str(value).strip()
        if not text.isascii() or not text.isdecimal():
            self.report.add_needed_decision(
                place, f"“{text[:20]}” is no number of runs; set it"
            )
            return None
        number = min(int(text), 2**31 - 1)
        if number == 0:
            message = "0, so that nobody sends a run there; the draft has no limit"
            self.report.add_needed_decision(place, message)
            return None
        return number

    def opens(self, place: str, value: object) -> dt.datetime:
        opens = self.date(place, value)
        if opens is None:
            message = "no date: the phase is closed until you set one"
            self.report.add_needed_decision(place, message)
        return opens or OPENING_OF_UNDATED_PHASE

    def set_missing_phase_ends(self, phases: Sequence[BundlePhase]) -> None:
        """Set the end of each phase without an end to the start of the next phase, and
        report phases that end before they begin.
        """
        ending = [phase for phase in phases if phase.closes is not None]
        for phase, later in pairwise(phases):
            has_next = later.opens != OPENING_OF_UNDATED_PHASE and not phase.never_ends
            if phase.closes is None and has_next:
                phase.closes = later.opens
        for phase in phases:
            if phase.closes is not None and phase.closes <= phase.opens:
                message = "the phase ends before it begins; it has no end in the draft"
                self.report.add_needed_decision(phase.place, message)
                phase.closes = None
            end = _format_date_with_minute(phase.closes) if phase.closes else "no end"
            if phase.opens != OPENING_OF_UNDATED_PHASE:
                message = (
                    f"“{phase.title}”: {_format_date_with_minute(phase.opens)} to {end}"
                )
                self.report.add_understood_value(phase.place, message)
            if phase in ending and phase.closes and phase.closes.time() == dt.time():
                message = (
                    f"“{phase.title}” closes at {end}, the first instant of that day,"
                    " as there; move it if the whole day was meant"
                )
                self.report.add_needed_decision(phase.place, message)

    def find_public_files_of_phase(
        self, phase: BundlePhase, values: DescriptionValues
    ) -> None:
        for key in ("public_data", "starting_kit"):
            if not values.get(key):
                continue
            found = self.files.find_files_at_path(values[key])
            place = f"{phase.place}.{key}"
            if not found:
                message = f"there are no files “{str(values[key])[:100]}”"
                self.report.add_needed_decision(place, message)
                continue
            setattr(phase, "public" if key == "public_data" else "kit", found)
            names = ", ".join(file.name for file in found[:10])
            more = f" and {len(found) - 10} more" if len(found) > 10 else ""
            message = f"{len(found)} files: {names}{more}"
            self.report.add_understood_value(place, message)

    def registration(self, *, is_open: bool) -> str:
        value = "open" if is_open else "approval"
        self.report.add_understood_value("registration", f"`{value}`")
        return value


class _CodabenchReader(_CompetitionReader):
    def read(self) -> BundleCompetition:
        pages = [
            (title, self.page(f"pages[{number}]", page.get("file")))
            for number, page in self.tables("pages")
            if (title := " ".join(str(page.get("title") or "Page").split()))
        ]
        terms = self.said.get("terms")
        found = BundleCompetition(
            layout=CODABENCH,
            title=self.title(),
            summary=self.summary(pages),
            terms=self.page("terms", terms)[:MAX_TOTAL_PAGE_LENGTH] if terms else "",
            registration=self.registration(
                is_open=self.said.get("registration_auto_approve") is True
            ),
        )
        found.tasks = dict(self.tasks())
        found.phases = self.phases(found.tasks)
        self.board(found)
        found.solutions = list(self.iterate_sample_solutions())
        return found

    def tables(self, name: str) -> Iterator[tuple[int, DescriptionValues]]:
        rows = self.said.get(name)
        for number, row in enumerate(rows if isinstance(rows, list) else ()):
            if isinstance(row, dict):
                yield number, row

    def tasks(self) -> Iterator[tuple[int, BundleTask]]:
        for number, row in list(self.tables("tasks"))[:MAX_BUNDLE_TASKS]:
            place = f"tasks[{number}]"
            if row.get("key"):
                message = f"data by id ({row['key']}), which are on Codabench alone"
                raise ImportPrevented(f"{place}.key", message)
            index = row.get("index", number)
            name = " ".join(str(row.get("name") or f"Task {number + 1}").split())
            task = BundleTask(
                place=place,
                name=name[:100],
                description=str(row.get("description") or "").strip(),
                runs_code=bool(row.get("ingestion_program")),
            )
            read_task_data(task, row, self.files)
            yield index if isinstance(index, int) else number, task

    def phases(self, tasks: Mapping[int, BundleTask]) -> list[BundlePhase]:
        rows = [
            (row.get("index"), number, row) for number, row in self.tables("phases")
        ]
        rows.sort(
            key=lambda one: (one[0] if isinstance(one[0], int) else one[1], one[1])
        )
        phases = []
        for _index, number, row in rows[:MAX_BUNDLE_PHASES]:
            place = f"phases[{number}]"
            named = row.get("tasks")
            own = [one for one in named or () if one in tasks] if named else []
            if isinstance(named, list) and len(own) < len(named):
                self.report.add_needed_decision(
                    f"{place}.tasks", "a task that is not there"
                )
            phase = BundlePhase(
                place=place,
                title=" ".join(str(row.get("name") or f"Phase {number + 1}").split()),
                opens=self.opens(f"{place}.start", row.get("start")),
                closes=self.date(f"{place}.end", row.get("end")),
                runs_per_day=self.limit(
                    f"{place}.max_submissions_per_day",
                    row.get("max_submissions_per_day"),
                ),
                runs_in_total=self.limit(
                    f"{place}.max_submissions", row.get("max_submissions")
                ),
                tasks=list(dict.fromkeys(own)),
            )
            self.find_public_files_of_phase(phase, row)
            phases.append(phase)
        self.set_missing_phase_ends(phases)
        return phases

    def board(self, found: BundleCompetition) -> None:
        boards = [row for _, row in self.tables("leaderboards")]
        if not boards:
            self.report.add_needed_decision(
                "leaderboards", "there is no board; choose the measures"
            )
            return
        if len(boards) > 1:
            message = f"the first of {len(boards)} boards is read"
            self.report.add_needed_decision("leaderboards", message)
        board = boards[0]
        rule = str(board.get("submission_rule") or "Add")
        counting = COUNTING_BY_SUBMISSION_RULE.get(rule)
        if counting is None:
            message = f"“{rule[:40]}” is no rule; choose which run counts"
            self.report.add_needed_decision("leaderboards[].submission_rule", message)
        else:
            message = f"{rule}: `counting = {counting}`"
            self.report.add_understood_value("leaderboards[].submission_rule", message)
        found.counting = counting or "best"
        if board.get("hidden") is True:
            found.board = "organisers"
        columns = [row for row in board.get("columns") or () if isinstance(row, dict)]
        columns.sort(key=lambda row: _parse_phase_order(row.get("index")))
        for row in columns:
            key = str(row.get("key") or "")
            if row.get("computation"):
                continue
            sorting = row.get("sorting")
            found.columns.append(
                LeaderboardColumn(
                    key=key[:100],
                    title=" ".join(str(row.get("title") or key).split())[:60],
                    is_ascending=sorting == "asc" if sorting else None,
                )
            )

    def iterate_sample_solutions(self) -> Iterator[SampleSolution]:
        for number, row in self.tables("solutions"):
            place, path = f"solutions[{number}]", row.get("path")
            found = self.files.find_files_at_path(path) if path else []
            if not found:
                message = f"there are no files “{str(path)[:100]}”"
                self.report.left_out(place, message)
                continue
            tasks = [one for one in row.get("tasks") or () if isinstance(one, int)]
            yield SampleSolution(place=place, tasks=tasks, files=found)


class _CodaLabReader(_CompetitionReader):
    def read(self) -> BundleCompetition:
        html = self.said.get("html")
        names = html if isinstance(html, dict) else {}
        pages = [
            (str(name).replace("_", " ").capitalize(), self.page(f"html.{name}", path))
            for name, path in names.items()
            if name != "terms"
        ]
        found = BundleCompetition(
            layout=CODALAB,
            title=self.title(),
            summary=self.summary(pages),
            terms=self.page("html.terms", names["terms"])[:MAX_TOTAL_PAGE_LENGTH]
            if names.get("terms")
            else "",
            registration=self.registration(
                is_open=self.said.get("has_registration") is False
            ),
            counting="last"
            if self.said.get("force_submission_to_leaderboard") is True
            else "selected",
            shows_teams=self.said.get("anonymous_leaderboard") is not True,
        )
        self.report.add_understood_value("counting", f"`{found.counting}`")
        self.read_phases(found)
        self.board(found)
        return found

    def read_phases(self, found: BundleCompetition) -> None:
        phases = self.said.get("phases")
        rows = phases.items() if isinstance(phases, dict) else enumerate(phases or ())
        named = [(name, row) for name, row in rows if isinstance(row, dict)]
        named.sort(key=lambda one: _parse_phase_order(one[1].get("phasenumber")))
        for number, (name, row) in enumerate(named[:MAX_BUNDLE_PHASES]):
            place = f"phases.{name}"
            title = " ".join(str(row.get("label") or f"Phase {number + 1}").split())
            runs_code = bool(row.get("ingestion_program"))
            runs_code = runs_code or row.get("is_scoring_only") is False
            task = BundleTask(place=place, name=found.title[:100], runs_code=runs_code)
            read_task_data(task, row, self.files)
            found.tasks[number] = task
            phase = BundlePhase(
                place=place,
                title=title,
                opens=self.opens(f"{place}.start_date", row.get("start_date")),
                closes=None,
                runs_per_day=self.limit(
                    f"{place}.max_submissions_per_day",
                    row.get("max_submissions_per_day"),
                ),
                runs_in_total=self.limit(
                    f"{place}.max_submissions", row.get("max_submissions")
                ),
                tasks=[number],
                never_ends=row.get("phase_never_ends") is True,
            )
            self.find_public_files_of_phase(phase, row)
            found.phases.append(phase)
        if found.phases and not found.phases[-1].never_ends:
            found.phases[-1].closes = self.date("end_date", self.said.get("end_date"))
        self.set_missing_phase_ends(found.phases)

    def board(self, found: BundleCompetition) -> None:
        said = self.said.get("leaderboard")
        board = said if isinstance(said, dict) else {}
        boards, columns = (
            {str(key): row for key, row in part.items() if isinstance(row, dict)}
            if isinstance(part := board.get(name), dict)
            else {}
            for name in ("leaderboards", "columns")
        )
        labels = [str(row.get("label")) for row in boards.values()]
        if len(labels) > 1:
            message = f"the first of {len(labels)} boards is read: {labels[0][:60]}"
            self.report.add_needed_decision("leaderboard.leaderboards", message)
        rows = sorted(
            columns.items(), key=lambda one: _parse_phase_order(one[1].get("rank"))
        )
        for key, row in rows:
            own = row.get("leaderboard")
            label = own.get("label") if isinstance(own, dict) else None
            is_other = label is not None and labels and str(label) != labels[0]
            if row.get("computed") or is_other:
                continue
            sort = row.get("sort")
            title = " ".join(str(row.get("label") or key).split())[:60]
            found.columns.append(
                LeaderboardColumn(
                    key=key[:100],
                    title=title,
                    is_ascending=sort == "asc" if sort else None,
                )
            )
        if not found.columns:
            self.report.add_needed_decision(
                "leaderboard", "there is no column; choose the measures"
            )


def read_task_data(
    task: BundleTask, row: DescriptionValues, files: BundleFiles
) -> None:
    for key in ("reference_data", "scoring_program"):
        if not row.get(key):
            continue
        place = f"{task.place}.{key}"
        found = files.find_files_at_path(row[key], place)
        if key == "reference_data":
            task.reference = found
        else:
            task.program = found


def _format_date_with_minute(at: dt.datetime) -> str:
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def _parse_phase_order(value: object) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else 1e9  # type: ignore[arg-type]
