"""Draft a season, which is a competition on the site, from a competition bundle in a
sandboxed process. A draft consists of the tables of a season file, the folders of
tasks, the gold files, and a report of the import. The function `draft` takes and
returns JSON values, and imports no Django.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

from citeboard.core.confined import UPLOAD_FILE_NAME
from scoring.exchange.bundles import answers as own_answers, official
from scoring.exchange.bundles.answers import (
    ANSWER_FIELDS_BY_FORM,
    ID_FIELD,
    INPUT_FIELD,
    ROW_FIELD,
    AnswerLines,
    AnswerLinesOrTable,
    AnswerTable,
)
from scoring.exchange.bundles.files import BundleFiles
from scoring.exchange.bundles.kits import SecretReferenceData, choose_starting_kit_files
from scoring.exchange.bundles.programs import (
    CONFIDENCE_LIKELY,
    RESOURCE_COLUMN_PATTERN,
    RecognisedMeasure,
    ScoringProgram,
    read_scoring_program,
)
from scoring.exchange.bundles.reading import (
    BundleCompetition,
    BundlePhase,
    BundleTask,
    read_competition,
)
from scoring.exchange.bundles.report import ImportPrevented, ImportReport
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from scoring.offline.proposing import draft_card, preview_board
from tasks.gold.packing import write_zip_archive
from tasks.types import InputRefused, TaskType, task_types
from tasks.types.declared.folder import TASK_CARD_FILE_NAME, TOML, read_declaration
from tasks.types.declared.official_program import PROGRAM_FILE_NAME as PROGRAM_FILE
from tasks.types.declared.proposals import (
    TaskProposal,
    format_task_toml,
    list_available_measures,
    propose_declaration,
)
from tasks.types.declared.recognised import UNSURE_CONFIDENCE
from tasks.types.files import STARTING_KIT_FOLDER, InputFile
from tasks.types.jsonlines import format_as_json_lines, replace_unpaired_surrogates
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run

DRAFTING_PROGRAM = "scoring.exchange.bundles.drafting:draft"
#: A lower value is better for each measure in LOWER_IS_BETTER_MEASURES.
LOWER_IS_BETTER_MEASURES = frozenset(
    {"mse", "rmse", "mae", "log_loss", "brier_score", "hamming_loss"}
)
MEASURES_OF_ONE_LABEL = ("precision", "recall", "f1")
PROGRAM_NOT_RECOGNISED_MESSAGE = "the scoring program is not recognised"
MAX_SAMPLE_RUNS_SCORED = 6
STARTING_KIT_SENTENCE = (
    "The archive of the inputs has files of the organisers in the folder "
    f"`{STARTING_KIT_FOLDER}`."
)
#: An organiser chooses a gold file by a key path, this separator and a file name.
GOLD_CHOICE_SEPARATOR = "="
SeasonFileValues = dict[str, Any]


def draft(given: Mapping[str, Any]) -> SeasonFileValues:
    """Return the report of an import, the tables of the season file, the texts of the
    task folders, and the paths of the gold files.
    """
    report = ImportReport()
    season: SeasonFileValues = {}
    drafting = None
    try:
        files = BundleFiles(Path(UPLOAD_FILE_NAME), given["filename"])
        competition = read_competition(files, report)
        drafting = _SeasonDrafter(files, competition, report, given.get("gold", []))
        season = drafting.season()
        drafting.report_unused_gold_choices()
    except ImportPrevented as prevented:
        report.add_preventing_reason(prevented)
    except InputRefused as refused:
        first = refused.problems[0]
        place = first.file or given["filename"]
        report.add_preventing_reason(
            ImportPrevented(place, f"{first.message} {first.expected}".strip())
        )
    if drafting is None or not season:
        told = _convert_to_storable_value(report.values())
        return {
            "report": told,
            "values": None,
            "files": {},
            "parts": {},
            "choices": [],
        }
    return {
        "report": _convert_to_storable_value(report.values()),
        "values": _convert_to_storable_value(season),
        "files": _convert_to_storable_value(drafting.files),
        "parts": drafting.parts,
        "choices": _convert_to_storable_value(list(drafting.choices.values())),
    }


def _convert_to_storable_value(value: Any) -> Any:
    if isinstance(value, str):
        return replace_unpaired_surrogates(value).replace("\0", "\ufffd")
    if isinstance(value, Mapping):
        return {name: _convert_to_storable_value(one) for name, one in value.items()}
    is_list = isinstance(value, list | tuple)
    return [_convert_to_storable_value(one) for one in value] if is_list else value


@dataclass
class _DraftedSplit:
    """The gold (reference answers) of one split of a task, and the phases whose runs
    are scored against this gold.
    """

    name: str
    source: BundleTask
    gold: AnswerLinesOrTable
    phases: list[BundlePhase] = field(default_factory=list)
    #: ``rows`` are records converted from files that declared tasks cannot read.
    files: list[InputFile] = field(default_factory=list)
    rows: list[SeasonFileValues] = field(default_factory=list)


@dataclass
class _DraftedTask:
    title: str
    description: str
    form: str
    program: ScoringProgram | None
    splits: list[_DraftedSplit] = field(default_factory=list)


class _SeasonDrafter:
    def __init__(
        self,
        bundle: BundleFiles,
        competition: BundleCompetition,
        report: ImportReport,
        chosen_gold: Sequence[str],
    ) -> None:
        self.bundle, self.competition, self.report = bundle, competition, report
        #: ``_chosen_gold`` maps key paths to the gold files that the organiser chose.
        self._chosen_gold = dict(map(self._parse_gold_choice, chosen_gold))
        #: ``choices`` maps key paths to the files that could be the gold.
        self.choices: dict[str, SeasonFileValues] = {}
        #: ``files`` maps file names of the drafted season to the texts of the files.
        #: ``parts`` maps names of season files to files in the working folder.
        self.files: dict[str, str] = {}
        self.parts: dict[str, str] = {}
        self._slugs = {"organise", "published", *task_types()}
        self._programs: dict[tuple[str, ...], ScoringProgram] = {}
        self._forms: dict[tuple[str, ...], str] = {}
        self._tasks: list[_DraftedTask] = []
        self._secrets: SecretReferenceData | None = None
        #: ``_with_kits`` has key paths of phases whose public files are in an archive.
        self._with_kits: set[str] = set()
        self.phase_slugs: dict[str, str] = {}
        for phase in competition.phases:
            self.phase_slugs[phase.place] = make_unused_slug(
                phase.title, "phase", {"published", *self.phase_slugs.values()}
            )

    def season(self) -> SeasonFileValues:
        own = self.competition
        if not own.phases:
            raise ImportPrevented("phases", "there are no phases")
        season: SeasonFileValues = {
            "slug": make_unused_slug(own.title, "season", set()),
            "title": own.title,
            "summary": own.summary,
            "registration": own.registration,
            "time_zone": "UTC",
            "public": False,
        }
        season |= {"terms": own.terms} if own.terms.strip() else {}
        self._tasks = self.tasks()
        tasks = [
            table for task in self._tasks if (table := self.table(task)) is not None
        ]
        if not tasks:
            season["planned_phases"] = [self.phase(one, "test") for one in own.phases]
            self.report.add_needed_decision(
                "tasks",
                "the draft has the phases and no task: make a task from its gold",
            )
        return {"season": season, "tasks": tasks}

    def tasks(self) -> list[_DraftedTask]:
        """Return the tasks of the drafted season. If phases of one task differ in their
        task form or measures, the phases with the same form and measures become a
        separate task.
        """
        phases, tasks = self.competition.phases, self.competition.tasks
        self._require_result_submissions()
        lines = max((len(phase.tasks) for phase in phases), default=0)
        found: list[_DraftedTask] = []
        for place in range(lines):
            own: dict[tuple[Any, ...], _DraftedTask] = {}
            for phase in phases:
                if place < len(phase.tasks):
                    self._add_phase_to_task(own, phase, tasks[phase.tasks[place]])
            found += own.values()
        return found

    def _require_result_submissions(self) -> None:
        tasks = self.competition.tasks.values()
        for task in tasks:
            if task.program:
                self.read_scoring_program_of_task(task)
        if not any(task.runs_code for task in tasks):
            return
        for task in tasks:
            gold = self.gold(task, is_noted=False)
            if gold is not None and self._has_sample_answers(gold):
                message = (
                    "participants may send programs there; the draft takes results"
                )
                self.report.add_needed_decision(task.place, message)
                return
        place = next(task.place for task in tasks if task.runs_code)
        message = (
            "code submission: participants send programs, which the site does not run,"
            " and the bundle has no sample of results"
        )
        raise ImportPrevented(place, message)

    def _has_sample_answers(self, gold: AnswerLinesOrTable) -> bool:
        if isinstance(gold, AnswerLines):
            return (
                next(
                    own_answers.find_sample_submissions(
                        self.bundle, self.list_starting_kit_files(), gold
                    ),
                    None,
                )
                is not None
            )
        return any(
            file.suffix == gold.file.suffix
            for solution in self.competition.solutions
            for file in solution.files
        )

    def read_scoring_program_of_task(self, task: BundleTask) -> ScoringProgram:
        names = tuple(f"{file.shown}/{file.name}" for file in task.program)
        if names not in self._programs:
            place = f"{task.place}.scoring_program"
            self._programs[names] = read_scoring_program(
                task.program, place, self.report
            )
        return self._programs[names]

    def gold(
        self, task: BundleTask, *, is_noted: bool = True
    ) -> AnswerLinesOrTable | None:
        place = f"{task.place}.reference_data"
        words = (
            self.read_scoring_program_of_task(task).words
            if task.program
            else frozenset()
        )
        found = own_answers.find_answer_files(task.reference, words)
        every = own_answers.find_answer_files(task.reference, frozenset())
        names = [one.file.name for one in every]
        own = self._chosen_gold.get(place, "")
        is_open = len(found) != 1 and len(every) > 1
        if is_open or own in names:
            self.choices[place] = {"place": place, "files": names, "chosen": own}
        if own in names:
            if is_noted:
                self.report.add_understood_value(
                    place, f"{own} is the gold, as you chose"
                )
            return every[names.index(own)]
        if own and is_noted:
            message = f"“{own[:100]}” is no file that could be the gold"
            self.report.add_needed_decision(place, message)
        if len(found) == 1:
            return found[0]
        if is_noted and not found:
            self.report.add_needed_decision(
                place, "no answers that can be read by line or field"
            )
        elif is_noted:
            shown = ", ".join(names[:8])
            message = f"{len(names)} files could be the gold ({shown}); choose one"
            self.report.add_needed_decision(place, message)
        return None

    def _parse_gold_choice(self, item: str) -> tuple[str, str]:
        """Split an organiser's choice `PLACE=FILE` into the key path and the name of
        the gold file. Key paths and file names may contain the separator. The key path
        is the longest one in the description, or else the text before the first
        separator.
        """
        parts = item.split(GOLD_CHOICE_SEPARATOR)
        places = self._list_gold_key_paths()
        for end in range(len(parts) - 1, 0, -1):
            place, file = (
                GOLD_CHOICE_SEPARATOR.join(parts[:end]),
                GOLD_CHOICE_SEPARATOR.join(parts[end:]),
            )
            if place.strip() in places and file.strip():
                return place.strip(), file.strip()
        return parts[0].strip(), GOLD_CHOICE_SEPARATOR.join(parts[1:]).strip()

    def _list_gold_key_paths(self) -> set[str]:
        return {
            f"{task.place}.reference_data" for task in self.competition.tasks.values()
        }

    def report_unused_gold_choices(self) -> None:
        for place in sorted(self._chosen_gold.keys() - self._list_gold_key_paths()):
            self.report.add_needed_decision(
                place, "the bundle has no such gold to choose"
            )

    def _add_phase_to_task(
        self,
        own: dict[tuple[Any, ...], _DraftedTask],
        phase: BundlePhase,
        source: BundleTask,
    ) -> None:
        program = self.read_scoring_program_of_task(source) if source.program else None
        gold = self.gold(source)
        if program is None:
            self.report.add_needed_decision(
                f"{source.place}.scoring_program", "there is none"
            )
        if gold is None:
            return
        measures = self.measures(program) if program else []
        form = (
            measures[0][0].form if measures else self._guess_answer_form(source, gold)
        )
        if (
            isinstance(gold, AnswerLines)
            and own_answers.answers_as_records(gold, form) is None
        ):
            message = f"{gold.file.name} has no answers of the form {form}"
            self.report.add_needed_decision(f"{source.place}.reference_data", message)
            return
        key: tuple[Any, ...] = (
            form,
            type(gold),
            *((one.name, title) for one, title in measures),
        )
        if isinstance(gold, AnswerLines):
            key = (*key, gold.width)
        title = source.name if not own else f"{source.name} ({phase.title})"
        task = own.setdefault(
            key, _DraftedTask(title, source.description, form, program)
        )
        for split in task.splits:
            if split.source is source:
                split.phases.append(phase)
                return
        split = _DraftedSplit(self.phase_slugs[phase.place], source, gold, [phase])
        split.files = self._build_gold_files(split, form)
        task.splits.append(split)

    def _guess_answer_form(self, source: BundleTask, gold: AnswerLinesOrTable) -> str:
        names = tuple(file.shown for file in source.program)
        form = (
            own_answers.guess_task_form(gold)
            if isinstance(gold, AnswerLines)
            else "labels"
        )
        return self._forms.setdefault(names, form)

    def _build_gold_files(self, split: _DraftedSplit, form: str) -> list[InputFile]:
        gold, place = split.gold, f"{split.source.place}.reference_data"
        if isinstance(gold, AnswerTable):
            self.report.add_understood_value(place, f"{gold.file.name}: a table")
            return [gold.file]
        rows = own_answers.answers_as_records(gold, form) or []
        count, width = len(gold.values), gold.width
        shape = f"vectors of {width}" if width > 1 else "one value each"
        named = "a first column of ids" if gold.ids else "ids are the line numbers"
        message = f"{gold.file.name}: {count:,} lines, {shape}; {named}"
        self.report.add_understood_value(place, message)
        inputs = own_answers.find_input_file(gold, self.public())
        if inputs is not None and (width == 1 or form == "labels"):
            for row, (text,) in zip(rows, inputs.values, strict=True):
                row[INPUT_FIELD] = text
        elif inputs is not None:
            texts = dict(
                zip(gold.names, (own for (own,) in inputs.values), strict=True)
            )
            for row in rows:
                row[INPUT_FIELD] = texts[row[ROW_FIELD]]
        if inputs is not None:
            message = f"participants see the lines of {inputs.file.name} as the inputs"
            self.report.add_needed_decision(
                place, f"{message}; look whether they belong together"
            )
        self._report_published_gold(split, gold)
        split.rows = rows
        return _build_gold_json_lines_file(rows)

    def public(self) -> list[InputFile]:
        return [file for phase in self.competition.phases for file in phase.public]

    def list_starting_kit_files(self) -> list[InputFile]:
        return [file for phase in self.competition.phases for file in phase.kit]

    def _report_published_gold(self, split: _DraftedSplit, gold: AnswerLines) -> None:
        for phase in self.competition.phases:
            for file in (*phase.public, *phase.kit):
                lines = own_answers.read_answer_lines(file)
                if lines is not None and lines.values == gold.values:
                    message = (
                        f"{file.name}, which participants get there, is the gold of"
                        f" “{split.name}”"
                    )
                    self.report.add_needed_decision(
                        f"{phase.place}.public_data", message
                    )

    def measures(self, program: ScoringProgram) -> list[tuple[RecognisedMeasure, str]]:
        """Return the measures of a scoring program with their titles, in the order of
        the leaderboard's columns.
        """
        columns = [own for own in self.competition.columns if own.key]
        rest, found = list(program.others), []
        own_columns = [
            one for one in columns if not RESOURCE_COLUMN_PATTERN.search(one.key)
        ]
        for column in columns:
            own = program.by_key.get(column.key)
            if own is None and column in own_columns and column is own_columns[0]:
                # The only measure of a program is that of the first column.
                every = [*program.by_key.values(), *rest]
                own = every[0] if len({one.name for one in every}) == 1 else None
            if own is None:
                continue
            found.append((own, column.title))
        if not found:
            found = [(own, "") for own in (*program.by_key.values(), *rest)]
        form = found[0][0].form if found else ""
        once: dict[str, tuple[RecognisedMeasure, str]] = {}
        for own, title in found:
            if own.form == form:
                once.setdefault(own.name, (own, title))
        return list(once.values())

    def table(self, task: _DraftedTask) -> SeasonFileValues | None:
        """Return the table of a task for the season file, and write the folder and gold
        of the task.

        The result is None if no task of the site can have this gold and these measures.
        """
        place = task.splits[0].source.place
        slug = make_unused_slug(task.title, "task", self._slugs)
        self._slugs.add(slug)
        try:
            found = self._guess_task_declaration(task, slug)
            split = task.splits[0]
            offered = self._offer_official_program(task, found.task["gold"])
            rules = [found.task["rules"][0]["name"]]
            texts = {TASK_CARD_FILE_NAME: draft_card(found)}
            if offered is not None:
                _add_official_program_to_table(found.task, offered)
                rules.append(official.OFFICIAL_PROGRAM_RULE_SET)
                head, mark, tail = texts[TASK_CARD_FILE_NAME].partition("## Citation")
                texts[TASK_CARD_FILE_NAME] = (
                    f"{head}{official.RULE_SET_CARD_SECTION}{mark}{tail}"
                )
                texts[PROGRAM_FILE] = offered.text
            texts[TOML] = format_task_toml(found.task)
            _, folder = preview_board(texts, found, split.files)
            task_type = read_declaration(folder)
        except InputRefused as refused:
            first = refused.problems[0]
            message = f"{first.file or ''} {first.message} {first.expected}".strip()
            self.report.add_needed_decision(place, f"the gold makes no task: {message}")
            return None
        self._report_recognised_measures(task, found.task)
        for split in task.splits:
            self._score_sample_runs(task_type, task, split)
        self.files |= {
            f"tasks/{slug}/{name}": text for name, text in sorted(folder.items())
        }
        golds = [self._write_gold_parts(slug, split) for split in task.splits]
        has_kit = any(
            len(gold["paths"]) > len(split.files)
            for gold, split in zip(golds, task.splits, strict=True)
        )
        phases = [
            self.phase(phase, split.name)
            for split in task.splits
            for phase in split.phases
        ]
        told = [task.description, STARTING_KIT_SENTENCE if has_kit else ""]
        text = "\n\n".join(one for one in told if one)
        summary = {"summary": text} if text else {}
        return {
            "slug": slug,
            "title": task.title[:100],
            "type": f"./tasks/{slug}",
            **summary,
            **({"rules": rules} if offered is not None else {}),
            "gold": golds,
            "phases": sorted(phases, key=lambda own: str(own["opens"])),
        }

    def _offer_official_program(
        self, task: _DraftedTask, fields: Mapping[str, Any]
    ) -> official.ProposedOfficialProgram | None:
        split = task.splits[0]
        if task.program is None or task.form not in ANSWER_FIELDS_BY_FORM:
            return None
        return official.propose_official_program(
            split.source.program,
            task.program,
            split.gold,
            self._find_sample_answer_file(split.gold),
            self.competition.columns,
            fields,
            f"{split.source.place}.scoring_program",
            self.report,
        )

    def _find_sample_answer_file(self, gold: AnswerLinesOrTable) -> InputFile | None:
        if isinstance(gold, AnswerTable):
            return next(
                (
                    file
                    for solution in self.competition.solutions
                    for file in solution.files
                    if file.suffix == gold.file.suffix
                ),
                None,
            )
        for solution in self.competition.solutions:
            if lines := own_answers.find_sample_answers(solution.files, gold):
                return lines.file
        found = own_answers.find_sample_submissions(
            self.bundle, self.list_starting_kit_files(), gold
        )
        lines = next((lines for _, lines in found), None)
        return replace(lines.file, name=lines.file.base) if lines else None

    def _guess_task_declaration(self, task: _DraftedTask, slug: str) -> TaskProposal:
        looks = [
            propose_declaration(task.form, slug, task.title, split.files)
            for split in task.splits
        ]
        found, table = looks[0], looks[0].task
        if found.lacks:
            raise InputRefused(found.lacks)
        unsure = [own for own in found.guesses if own.confidence == UNSURE_CONFIDENCE]
        for own in unsure:
            message = f"the guess “{own.value}” for {own.part}: {own.reason}"
            self.report.add_needed_decision(task.splits[0].source.place, message)
        if isinstance(task.splits[0].gold, AnswerLines):
            self._set_fields_for_answer_lines(task, table)
        elif "labels" in table["answer"]:
            labels = [one for own in looks for one in own.task["answer"]["labels"]]
            table["answer"]["labels"] = list(dict.fromkeys(labels))
        self._set_measures_in_task_table(task, table)
        return found

    def _set_fields_for_answer_lines(
        self, task: _DraftedTask, table: SeasonFileValues
    ) -> None:
        rows = [split.rows for split in task.splits]
        field_name = ANSWER_FIELDS_BY_FORM[task.form]
        has_inputs = any(INPUT_FIELD in row for own in rows for row in own)
        for split in task.splits if has_inputs else ():
            for row in split.rows:
                # Participants of a split without inputs get only instance ids.
                row.setdefault(INPUT_FIELD, "")
            split.files = _build_gold_json_lines_file(split.rows)
        table["gold"] = {
            ID_FIELD: ID_FIELD,
            "field": field_name,
            "shown": [INPUT_FIELD] if has_inputs else [],
        }
        table.pop("dimensions", None)
        table.pop("unit", None)
        is_vector = ROW_FIELD in rows[0][0]
        table |= {"unit": ROW_FIELD} if is_vector else {}
        if task.form == "labels":
            labels = sorted({row[field_name] for own in rows for row in own})
            answer = {"labels": labels, "probabilities": "optional"}
            if len(labels) == 2:
                answer |= {"positive": labels[1], "confidence": "optional"}
            table["answer"] = answer
            table["dimensions"] = [{"name": field_name, "field": field_name}]
        elif task.form == "numbers":
            # Codabench and CodaLab allow answers outside the range of the gold values.
            table["answer"] = {}

    def _set_measures_in_task_table(
        self, task: _DraftedTask, table: SeasonFileValues
    ) -> None:
        measures = self.measures(task.program) if task.program else []
        known = list_available_measures(table)
        if labels := table["answer"].get("labels"):
            self._set_positive_label(measures, table, labels)
            known = list_available_measures(table)
        own = [one for one in measures if one[0].name in known or "@" in one[0].name]
        if own:
            table["rules"][0]["measures"] = [one.name for one, _title in own]
            names = {one.name: title for one, title in own if title}
            table |= {"names": names} if names else {}

    def _set_positive_label(
        self,
        measures: Sequence[tuple[RecognisedMeasure, str]],
        table: SeasonFileValues,
        labels: Sequence[str],
    ) -> None:
        for own, _title in measures:
            label = own.options.get("label", "1")
            if own.name in MEASURES_OF_ONE_LABEL and label in labels:
                table["answer"]["positive"] = label
                return

    def _report_recognised_measures(
        self, task: _DraftedTask, table: SeasonFileValues
    ) -> None:
        place = task.splits[0].source.place
        used = table["rules"][0]["measures"]
        names = [one if isinstance(one, str) else one["name"] for one in used]
        measures = self.measures(task.program) if task.program else []
        own = {one.name: one for one, _title in measures if one.name in names}
        columns = {title: one for one, title in measures}
        for one in own.values():
            message = f"{one.call} ({one.place}) is `{one.name}` here"
            message += ", which the program shows times 100" if one.is_percent else ""
            if one.confidence == CONFIDENCE_LIKELY:
                self.report.add_needed_decision(f"{place}.scoring_program", message)
            else:
                self.report.add_understood_value(f"{place}.scoring_program", message)
        if not own:
            self.report.add_needed_decision(
                f"{place}.scoring_program",
                f"{PROGRAM_NOT_RECOGNISED_MESSAGE}; the draft ranks by `{names[0]}`, a proposal:"
                " choose the measure, or write one of your own",
            )
        for column in self.competition.columns:
            measure = columns.get(column.title)
            if measure is None or measure.name not in own:
                message = f"column “{column.title}” is no measure that was recognised"
                self.report.left_out(f"columns.{column.key}", message)
            elif column.is_ascending is not None:
                is_lower = measure.name in LOWER_IS_BETTER_MEASURES
                if is_lower != column.is_ascending:
                    better = "smaller" if is_lower else "larger"
                    message = (
                        f"column “{column.title}” is sorted the other way there; here"
                        f" the {better} `{measure.name}` is the better one"
                    )
                    self.report.add_needed_decision(f"columns.{column.key}", message)

    def _score_sample_runs(
        self, task_type: TaskType, task: _DraftedTask, split: _DraftedSplit
    ) -> None:
        gold = split.gold
        found: dict[str, list[InputFile]] = {}
        seen = set()
        index = next(
            (key for key, one in self.competition.tasks.items() if one is split.source),
            -1,
        )
        for solution in self.competition.solutions:
            if index not in solution.tasks:
                continue
            if isinstance(gold, AnswerTable):
                found[solution.place] = list(solution.files)
            elif lines := own_answers.find_sample_answers(solution.files, gold):
                found[f"{solution.place}/{lines.file.name}"] = (
                    _build_run_json_lines_file(lines, task.form)
                )
                seen.add(lines.values)
            else:
                message = (
                    f"has not the {len(gold.values):,} lines of “{split.name}”: the"
                    " next sample is tried"
                )
                self.report.left_out(solution.place, message)
        if isinstance(gold, AnswerLines):
            for name, lines in own_answers.find_sample_submissions(
                self.bundle, self.list_starting_kit_files(), gold
            ):
                if lines.values not in seen:
                    seen.add(lines.values)
                    found[name] = _build_run_json_lines_file(lines, task.form)
        content = task_type.gold_of(split.files, {})
        for name, files in list(found.items())[:MAX_SAMPLE_RUNS_SCORED]:
            self._score_sample_run(task_type, content, split, name, files)
        if not found:
            message = f"no sample of “{split.name}” to score: send one after the launch"
            self.report.left_out("samples", message)

    def _score_sample_run(
        self,
        task_type: TaskType,
        content: Any,
        split: _DraftedSplit,
        name: str,
        files: list[InputFile],
    ) -> None:
        try:
            run, problems = read_run(task_type, files, content.index, {}, name=name)
        except InputRefused as refused:
            run, problems = None, list(refused.problems)
        if wrong := select_fatal_problems(problems):
            message = f"is no run on “{split.name}”: {wrong[0].message}"
            self.report.left_out(name, message)
            return
        rules = task_type.default_rule_set
        scores = evaluate_pairs(
            task_type,
            task_type.pair(content, run, rules, {}),
            rules=rules,
            options={},
            gold=content.digest,
            resampling=IntervalSettings(resamples=0),
        )
        shown = [
            f"{metric} {_format_rounded_score(value.as_dict())}"
            for metric, value in scores.metrics.items()
            if value.as_dict()["value"] is not None
        ]
        message = f"scored on “{split.name}”: {', '.join(shown[:6])}"
        self.report.add_understood_value(name, message)

    def _write_gold_parts(self, slug: str, split: _DraftedSplit) -> SeasonFileValues:
        names = []
        for file in split.files:
            part = f"part-{len(self.parts)}"
            with Path(part).open("wb") as copy:
                copy.writelines(file.iterate_raw_chunks())
            name = f"gold/{slug}-{split.name}{file.suffix}"
            self.parts[name] = part
            names.append(name)
        if kit := self._choose_kit_files_of_split(split):
            part = f"part-{len(self.parts)}"
            write_zip_archive(Path(part), [(file.name, file.open) for file in kit])
            name = f"gold/{slug}-{split.name}-{STARTING_KIT_FOLDER}.zip"
            self.parts[name] = part
            names.append(name)
        return {"split": split.name, "paths": names}

    def _choose_kit_files_of_split(self, split: _DraftedSplit) -> list[InputFile]:
        done = frozenset(self._with_kits)
        phases = [phase for phase in split.phases if phase.place not in done]
        self._with_kits |= {phase.place for phase in phases}
        if not any(phase.public or phase.kit for phase in phases):
            return []
        return choose_starting_kit_files(
            split.phases, done, self.collect_secret_reference_data(), self.report
        )

    def collect_secret_reference_data(self) -> SecretReferenceData:
        if self._secrets is None:
            self._secrets = SecretReferenceData()
            for task in self.competition.tasks.values():
                self._secrets.add_files(task.reference)
                for gold in own_answers.find_answer_files(task.reference, frozenset()):
                    if isinstance(gold, AnswerLines):
                        self._secrets.add_gold(gold)
            for own in self._tasks:
                for split in own.splits:
                    if isinstance(split.gold, AnswerTable):
                        for name in _find_answer_field_names(own, split):
                            self._secrets.add_column(split.gold.file, name)
        return self._secrets

    def phase(self, phase: BundlePhase, split: str) -> SeasonFileValues:
        own = self.competition
        limits = {
            "runs_per_day": phase.runs_per_day,
            "runs_in_total": phase.runs_in_total,
        }
        table: SeasonFileValues = {
            "slug": self.phase_slugs[phase.place],
            "title": phase.title[:120],
            "split": split,
            "opens": phase.opens.isoformat(),
            **({"closes": phase.closes.isoformat()} if phase.closes else {}),
            "time_zone": "UTC",
            **{name: value for name, value in limits.items() if value is not None},
            "counting": own.counting,
        }
        table |= {"board": own.board} if own.board != "everyone" else {}
        return table | ({} if own.shows_teams else {"shows_teams": False})


def _find_answer_field_names(task: _DraftedTask, split: _DraftedSplit) -> list[str]:
    try:
        found = propose_declaration(task.form, "task", task.title, split.files)
    except InputRefused:
        return []
    fields = found.task["gold"].get("field", [])
    return [fields] if isinstance(fields, str) else list(map(str, fields))


def _add_official_program_to_table(
    table: SeasonFileValues, offered: official.ProposedOfficialProgram
) -> None:
    own = table["rules"][0]["measures"]
    names = [one if isinstance(one, str) else one["name"] for one in own]
    table["program"] = dict(offered.table)
    table["rules"].append(
        {
            "name": official.OFFICIAL_PROGRAM_RULE_SET,
            "measures": [*offered.measures, *own],
        }
    )
    titles = {
        name: title for name, title in offered.titles.items() if name not in names
    }
    if titles:
        table["names"] = {**table.get("names", {}), **titles}


def _build_gold_json_lines_file(rows: Sequence[SeasonFileValues]) -> list[InputFile]:
    return [
        InputFile(
            "gold.jsonl", "gold.jsonl", partial(BytesIO, format_as_json_lines(rows))
        )
    ]


def _build_run_json_lines_file(lines: AnswerLines, form: str) -> list[InputFile]:
    content = own_answers.answers_as_run_file(lines, form)
    if content is None:
        return []
    return [InputFile("run.jsonl", lines.file.name, partial(BytesIO, content))]


def _format_rounded_score(value: Mapping[str, Any]) -> str:
    return f"{value['value'] / (value['scale'] or 1):.6f}"


def make_unused_slug(title: str, other: str, taken: Iterable[str]) -> str:
    """Return a slug for the title that no other task or phase has."""
    text = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:50].strip("-") or other
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found
