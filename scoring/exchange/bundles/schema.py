"""List the keys of a bundle's `competition.yaml`, and the importer's treatment of each
key. The tables in `docs/bundles.md` contain the same keys and treatments.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.exchange.bundles.report import (
    VERDICT_LEFT_OUT,
    VERDICT_NEEDS_DECISION,
    VERDICT_UNDERSTOOD,
    ImportReport,
)

CODABENCH, CODALAB = "Codabench", "CodaLab"
#: In key paths, the asterisk replaces a key that the author of the bundle chooses.
ANY_KEY_PLACEHOLDER = "*"


@dataclass(frozen=True)
class BundleDescriptionKey:
    path: str
    verdict: str
    words: str


def _build_keys_with_verdict(
    verdict: str, **words: str
) -> tuple[BundleDescriptionKey, ...]:
    return tuple(
        BundleDescriptionKey(path, verdict, text) for path, text in words.items()
    )


_OWN_LIMITS_NOTE = "the site's own limits of computing time and memory hold"
_PUBLIC_DATA_NOTE = (
    "given out in the folder `starting-kit/public_data` of the inputs; as the inputs of"
    " instances where its lines are those of the gold"
)
_STARTING_KIT_NOTE = (
    "given out in the folder `starting-kit` of the inputs; archives that are not looked "
    "into are dropped"
)
_NO_PROGRAMS_NOTE = (
    "the site runs no programs of participants; the bundle is imported if it also takes"
    " results"
)
_DOCKER_NOTE = "a program runs with the packages of the site"
_SAMPLE_NAMES_NOTE = "sample runs are named after their paths"
_OUTPUT_PAGE_NOTE = (
    "the site shows scores and classes by itself, and no page of a program"
)
CODABENCH_KEYS = (
    *(
        BundleDescriptionKey(path, VERDICT_UNDERSTOOD, words)
        for path, words in {
            "version": "the layout",
            "title": "title and address of the season",
            "description": "first paragraph of the summary",
            "registration_auto_approve": "`registration`: open, otherwise approval",
            "terms": "terms that participants accept",
            "contact_email": "a line of the summary",
            "reward": "a line of the summary",
            "pages[].title": "heading in the summary",
            "pages[].file": "section of the summary; HTML becomes Markdown",
            "tasks[].index": "the number by which phases name the task",
            "tasks[].name": "title of the task",
            "tasks[].description": "summary of the task",
            "tasks[].reference_data": "gold of a split",
            "tasks[].scoring_program": "measures recognised in its source, and the official program",
            "solutions[].index": "the number of the solution",
            "solutions[].path": "sample run, whose scores the report shows",
            "solutions[].tasks[]": "the gold that the sample run is scored on",
            "phases[].index": "order of the phases",
            "phases[].name": "title and address of the phase",
            "phases[].start": "`opens`; month first, ISO, or with a zone; UTC without one",
            "phases[].end": "`closes`; without one the next phase, or no end",
            "phases[].tasks[]": "the tasks that have this phase",
            "phases[].max_submissions": "`runs_in_total`",
            "phases[].max_submissions_per_day": "`runs_per_day`",
            "phases[].public_data": _PUBLIC_DATA_NOTE,
            "phases[].starting_kit": _STARTING_KIT_NOTE,
            "phases[].accepts_only_result_submissions": "the site takes results alone",
            "leaderboards[].columns[].key": "measure that the program writes under it",
            "leaderboards[].columns[].title": "name of the measure",
            "leaderboards[].columns[].index": "order of the measures; the first ranks",
            "leaderboards[].submission_rule": "`counting`",
            "leaderboards[].hidden": "`board`: organisers",
        }.items()
    ),
    *(
        BundleDescriptionKey(path, VERDICT_LEFT_OUT, words)
        for path, words in {
            "image": "seasons have no picture",
            "docker_image": _DOCKER_NOTE,
            "competition_type": "a season is a competition and a benchmark",
            "queue": "scorings wait in the queues of the site",
            "make_programs_available": "an official program is given out with the task",
            "make_input_data_available": "phases set when inputs are given out",
            "enable_detailed_results": _OUTPUT_PAGE_NOTE,
            "show_detailed_results_in_submission_panel": _OUTPUT_PAGE_NOTE,
            "show_detailed_results_in_leaderboard": _OUTPUT_PAGE_NOTE,
            "auto_run_submissions": "every run is scored at once",
            "can_participants_make_submissions_public": "teams' runs stay closed",
            "forum_enabled": "the season's page takes questions",
            "tasks[].is_public": "a task belongs to its season",
            "tasks[].input_data": "input of participants' programs",
            "solutions[].key": "data by id are on Codabench alone",
            "solutions[].name": _SAMPLE_NAMES_NOTE,
            "solutions[].description": _SAMPLE_NAMES_NOTE,
            "phases[].description": "phases have a title alone",
            "phases[].solutions[]": "solutions name their tasks themselves",
            "phases[].execution_time_limit": _OWN_LIMITS_NOTE,
            "phases[].execution_time_limit_ms": _OWN_LIMITS_NOTE,
            "phases[].hide_output": "logs of a scoring are shown to nobody",
            "phases[].hide_prediction_output": "no program makes predictions",
            "phases[].hide_score_output": "`own_scores` of a phase says what teams learn",
            "leaderboards[].index": "a task has one board",
            "leaderboards[].title": "a board is named after its task and phase",
            "leaderboards[].key": "a task has one board",
            "leaderboards[].columns[].sorting": "the measure itself says which is better",
            "leaderboards[].columns[].precision": "boards show the digits of the measure",
            "leaderboards[].columns[].decimal_count": "boards show the digits of the measure",
            "leaderboards[].columns[].hidden": "`shown_measures` of a task says it",
        }.items()
    ),
    *(
        BundleDescriptionKey(path, VERDICT_NEEDS_DECISION, words)
        for path, words in {
            "fact_sheet": "choose among the fields of the run card, `card_required`",
            "tasks[].key": "give the data: they are on Codabench alone",
            "tasks[].ingestion_program": _NO_PROGRAMS_NOTE,
            "tasks[].ingestion_only_during_scoring": _NO_PROGRAMS_NOTE,
            "phases[].auto_migrate_to_this_phase": "teams send their runs again",
            "leaderboards[].columns[].computation": "a mean of columns is no measure here",
            "leaderboards[].columns[].computation_indexes": "as above",
        }.items()
    ),
)
CODALAB_KEYS = (
    *(
        BundleDescriptionKey(path, VERDICT_UNDERSTOOD, words)
        for path, words in {
            "title": "title and address of the season",
            "description": "first paragraph of the summary",
            "has_registration": "`registration`: approval, otherwise open",
            "end_date": "`closes` of the last phase",
            "contact_email": "a line of the summary",
            "reward": "a line of the summary",
            "html.terms": "terms that participants accept",
            "html.*": "section of the summary; HTML becomes Markdown",
            "anonymous_leaderboard": "`shows_teams`",
            "force_submission_to_leaderboard": "`counting`: last, otherwise selected",
            "phases.*.phasenumber": "order of the phases",
            "phases.*.label": "title and address of the phase",
            "phases.*.start_date": "`opens`; the phase before closes then",
            "phases.*.phase_never_ends": "no `closes`",
            "phases.*.max_submissions": "`runs_in_total`",
            "phases.*.max_submissions_per_day": "`runs_per_day`",
            "phases.*.reference_data": "gold of a split",
            "phases.*.scoring_program": "measures recognised in its source, and the official program",
            "phases.*.public_data": _PUBLIC_DATA_NOTE,
            "phases.*.starting_kit": _STARTING_KIT_NOTE,
            "phases.*.is_scoring_only": "the site takes results; without them code is sent",
            "leaderboard.columns.*.label": "name of the measure",
            "leaderboard.columns.*.rank": "order of the measures; the first ranks",
            "leaderboard.columns.*.leaderboard": "columns of the first board are read",
            "leaderboard.leaderboards.*.label": "the first board is read",
            "leaderboard.leaderboards.*.rank": "the first board is read",
        }.items()
    ),
    *(
        BundleDescriptionKey(path, VERDICT_LEFT_OUT, words)
        for path, words in {
            "image": "seasons have no picture",
            "start_date": "phases have dates of their own",
            "competition_docker_image": _DOCKER_NOTE,
            "queue": "scorings wait in the queues of the site",
            "make_programs_available": "an official program is given out with the task",
            "make_input_data_available": "phases set when inputs are given out",
            "auto_run_submissions": "every run is scored at once",
            "show_detailed_results_in_submission_panel": _OUTPUT_PAGE_NOTE,
            "show_detailed_results_in_leaderboard": _OUTPUT_PAGE_NOTE,
            "hide_top_three": "the season's page shows no winners apart from the board",
            "hide_chart": "a board has its charts below the table",
            "enable_detailed_results": _OUTPUT_PAGE_NOTE,
            "enable_forum": "the season's page takes questions",
            "enable_per_submission_metadata": "runs have run cards",
            "allow_public_submissions": "teams' runs stay closed",
            "disallow_leaderboard_modifying": "`counting` of a phase says which run counts",
            "show_datasets_from_yaml": "link data sets in the summary",
            "phases.*.color": "phases have no colour",
            "phases.*.description": "phases have a title alone",
            "phases.*.execution_time_limit": _OWN_LIMITS_NOTE,
            "phases.*.max_submission_size": "the site's own limit of the size of runs holds",
            "phases.*.participant_max_storage_use": "the site's own limit of the size of runs holds",
            "phases.*.delete_submissions_except_best_and_last": "every run stays",
            "phases.*.default_docker_image": _DOCKER_NOTE,
            "phases.*.disable_custom_docker_image": _DOCKER_NOTE,
            "phases.*.scoring_program_docker_image": _DOCKER_NOTE,
            "phases.*.ingestion_program_docker_image": _DOCKER_NOTE,
            "phases.*.hide_output": "logs of a scoring are shown to nobody",
            "phases.*.hide_prediction_output": "no program makes predictions",
            "phases.*.hide_score_output": "`own_scores` of a phase says what teams learn",
            "phases.*.input_data": "input of participants' programs",
            "leaderboard.column_groups": "measures have no groups",
            "leaderboard.columns.*.column_group": "measures have no groups",
            "leaderboard.columns.*.numeric_format": "boards show the measure's digits",
            "leaderboard.columns.*.sort": "the measure itself says which is better",
            "leaderboard.columns.*.selection_default": "the first column ranks",
            "leaderboard.columns.*.hidden": "`shown_measures` of a task says it",
        }.items()
    ),
    *(
        BundleDescriptionKey(path, VERDICT_NEEDS_DECISION, words)
        for path, words in {
            "admin_names": "add their accounts under *People*",
            "allow_teams": "people enter as teams; `max_team_size` limits them",
            "require_team_approval": "people enter as teams; `registration` may require approval",
            "allow_organizer_teams": "people enter as teams; make theirs yourself",
            "phases.*.datasets": "link data sets in the summary",
            "phases.*.auto_migration": "teams send their runs again",
            "phases.*.force_best_submission_to_leaderboard": "set `counting = best` of the phase",
            "phases.*.leaderboard_management_mode": "set `board` of the phase to hide results",
            "phases.*.is_parallel_parent": "phases beside each other are phases of tasks here",
            "phases.*.parent_phasenumber": "phases beside each other are phases of tasks here",
            "phases.*.ingestion_program_only_during_scoring": _NO_PROGRAMS_NOTE,
            "phases.*.ingestion_program": _NO_PROGRAMS_NOTE,
            "leaderboard.columns.*.computed": "a mean of columns is no measure here",
        }.items()
    ),
)
KEYS_BY_PLATFORM: Mapping[str, tuple[BundleDescriptionKey, ...]] = {
    CODABENCH: CODABENCH_KEYS,
    CODALAB: CODALAB_KEYS,
}
#: The keys below the paths in _PATHS_WITH_AUTHOR_CHOSEN_KEYS are arbitrary names that the author chooses.
_PATHS_WITH_AUTHOR_CHOSEN_KEYS = (
    "html",
    "phases",
    "phases.*.datasets",
    "leaderboard.leaderboards",
    "leaderboard.columns",
    "leaderboard.column_groups",
)
MAX_DESCRIPTION_KEY_PATHS = 20_000


def iterate_key_paths(description: Any, layout: str) -> Iterator[tuple[str, Any]]:
    """Yield the key path and value of each entry of a bundle's description, up to a
    maximum number of entries. The yielded key paths have the same notation as in
    CODABENCH_KEYS.
    """
    known = {key.path for key in KEYS_BY_PLATFORM[layout]}
    waiting: list[tuple[str, Any]] = [("", description)]
    count = 0
    while waiting and count < MAX_DESCRIPTION_KEY_PATHS:
        path, value = waiting.pop()
        count += 1
        is_below = isinstance(value, dict | list) and path not in known
        if not is_below:
            yield path, value
        elif isinstance(value, list):
            waiting += [(f"{path}[]", inner) for inner in reversed(value)]
        else:
            for name, inner in reversed(value.items()):
                chosen = path in _PATHS_WITH_AUTHOR_CHOSEN_KEYS and layout == CODALAB
                own = (
                    f"{path}.{ANY_KEY_PLACEHOLDER}"
                    if chosen
                    else f"{path}.{name}".strip(".")
                )
                exact = f"{path}.{name}"
                waiting.append((exact if exact in known else own, inner))


def report_keys_needing_attention(
    description: Any, layout: str, report: ImportReport
) -> None:
    """Add each key of a bundle's description to the report if the importer ignores the
    key, does not know the key, or needs a decision on the key.
    """
    known = {key.path: key for key in KEYS_BY_PLATFORM[layout]}
    for path, value in iterate_key_paths(description, layout):
        key = known.get(path)
        if key is None:
            shown = f"“{str(value)[:60]}”" if not isinstance(value, dict | list) else ""
            report.left_out(path, f"no key that the importer knows {shown}".rstrip())
        elif _is_empty_value(value) or key.verdict == VERDICT_UNDERSTOOD:
            continue
        elif key.verdict == VERDICT_NEEDS_DECISION:
            report.add_needed_decision(path, key.words)
        else:
            report.left_out(path, key.words)


def _is_empty_value(value: Any) -> bool:
    return value in (None, False, "", [], {})
