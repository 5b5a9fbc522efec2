"""Export a board in the file format that the last component of the URL names."""

import datetime as dt
import hashlib
import io
import json
import math
import uuid
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any

from django.http import Http404, HttpResponse
from django.template.loader import render_to_string
from xlsxwriter import Workbook

from scoring.exchange.citations import board_as_bibtex
from scoring.exchange.results import (
    BoardRowsForExport,
    build_hub_leaderboard_name,
    build_zip,
    find_content_type,
    format_as_yaml,
    make_safe_file_name,
)
from scoring.results.board.confirming import compute_confirmation_of_board
from scoring.results.board.exports import (
    board_as_csv,
    board_as_json,
    board_as_latex,
    build_csv_heads_and_rows,
    format_as_json,
)
from scoring.results.board.formatting import (
    display_name_of_metric,
    format_interval,
    format_score,
)
from scoring.results.board.manual_scores import load_team_figures_by_run
from scoring.results.board.query import UnknownColumn
from scoring.results.board.snapshots import save_cited_snapshot
from scoring.results.board.standings import (
    Board,
    BoardRow,
    BoardScoreColumn,
    ScoreCell,
    expand_rows_to_runs,
)
from scoring.results.board.visibility import is_current_board_public
from scoring.results.comparison.reading import DisplayedInstance, InstancePage
from tasks.models import Submission
from tasks.submissions.reading import RUN_CARD_METADATA_KEY

#: An Excel cell holds at most MAX_WORKBOOK_CELL_LENGTH characters, so longer texts are truncated.
MAX_WORKBOOK_CELL_LENGTH = 32_767


def build_workbook(
    title: str, at: dt.datetime, sheets: Mapping[str, Iterable[Iterable[object]]]
) -> bytes:
    """Return an Excel workbook, in which numbers are numeric cells, and texts that look
    like numbers or formulas are text cells.

    The first line of the first sheet contains the column heads. Equal tables always
    give workbooks with equal bytes.
    """
    out = io.BytesIO()
    with Workbook(
        out, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    ) as book:
        book.set_properties({"title": title[:255], "created": at.replace(tzinfo=None)})
        heads = book.add_format({"bold": True})
        for place, (name, lines) in enumerate(sheets.items()):
            sheet = book.add_worksheet(name)
            for number, line in enumerate(lines):
                sheet.write_row(
                    number,
                    0,
                    map(_convert_to_workbook_cell, line),
                    None if place or number else heads,
                )
            if not place:
                sheet.freeze_panes(1, 0)
    return out.getvalue()


def _convert_to_workbook_cell(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return (
        f"{value[: MAX_WORKBOOK_CELL_LENGTH - 1]}…"
        if isinstance(value, str) and len(value) > MAX_WORKBOOK_CELL_LENGTH
        else value
    )


def board_as_xlsx(results: BoardRowsForExport) -> bytes:
    """Return an Excel workbook with the table of the board's CSV file and a sheet that
    describes the board.
    """
    board = results.board
    heads, lines = build_csv_heads_and_rows(
        board, results.rows, load_team_figures_by_run(results.rows)
    )
    about = [
        ("board", results.title),
        ("address", results.address),
        ("rules", board.rules),
        (
            "gold",
            f"v{board.gold.number}, {board.gold.digest_name} {board.gold.digest}"
            if board.gold
            else "",
        ),
        *([("verdict", board.verdict.text)] if board.verdict else []),
        (),
        ("column", "metric", "scale", "higher is better", "key"),
        *map(
            attrgetter("name", "metric", "scale", "higher_is_better", "key"),
            board.columns,
        ),
    ]
    return build_workbook(
        results.title,
        board.updated_at,
        {"Board": chain([heads], lines), "About": about},
    )


EVERY_EVAL_EVER_VERSION = "0.3.0"
CONFIDENCE_LEVEL = 0.95


def board_as_every_eval_ever(results: BoardRowsForExport) -> bytes:
    """Return a record for each system of a board, in schema 0.3.0 of
    https://github.com/evaleval/every_eval_ever.
    """
    records = [
        build_every_eval_ever_record(results, row)
        for row in expand_rows_to_runs(results.rows)
    ]
    filled = [record for record in records if record["evaluation_results"]]
    return build_zip(
        [
            (f"{_build_record_path(results, record)}.json", format_as_json(record))
            for record in filled
        ]
    )


def _build_record_path(results: BoardRowsForExport, record: Mapping[str, Any]) -> str:
    folder = make_safe_file_name(f"{results.task.season.slug}-{results.task.slug}")
    digest = hashlib.sha256(record["evaluation_id"].encode()).digest()
    return f"data/{folder}/{record['model_info']['id']}/{uuid.UUID(bytes=digest[:16], version=4)}"


def every_eval_ever_record_with_samples(
    results: BoardRowsForExport,
    row: BoardRow,
    column: BoardScoreColumn,
    page: InstancePage,
) -> bytes:
    """Return the JSON record of one system, with the instances that the page selects
    and their values of one metric as samples.
    """
    record, reading = build_every_eval_ever_record(results, row), page.reading
    place = f"{_build_record_path(results, record)}_samples.jsonl"
    lines = []
    for one in reading.read(page.chosen):
        [answer], [value, *_others] = one.answers, one.values[column.metric]
        if math.isfinite(value):
            sample = _build_instance_sample(
                one, answer, value, is_correct=bool(reading.is_best(value))
            )
            names = {name: record[name] for name in ("schema_version", "evaluation_id")}
            result = {
                "evaluation_name": results.title,
                "evaluation_result_id": _build_result_id(row, column),
            }
            lines.append(
                {**names, "model_id": record["model_info"]["id"], **result, **sample}
            )
    samples = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    checksum = {
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(samples.encode()).hexdigest(),
    }
    facts = {
        "format": "jsonl",
        "file_path": place,
        **checksum,
        "total_rows": len(lines),
    }
    record["detailed_evaluation_results"] = facts
    return build_zip(
        [
            (f"{_build_record_path(results, record)}.json", format_as_json(record)),
            (place, samples),
        ]
    )


def _build_instance_sample(
    one: DisplayedInstance, answer: str, score: float, *, is_correct: bool
) -> dict[str, Any]:
    return {
        "sample_id": one.name,
        "interaction_type": "single_turn",
        "input": {"raw": one.given, "reference": [one.gold] if one.gold else []},
        "output": {"raw": [answer]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": answer,
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": score, "is_correct": is_correct},
    }


def _build_result_id(row: BoardRow, column: BoardScoreColumn) -> str:
    return f"{row.submission}/{column.name}"


def build_every_eval_ever_record(
    results: BoardRowsForExport, row: BoardRow
) -> dict[str, Any]:
    phase, season = results.phase, results.task.season
    model = f"{row.team_slug or row.kind}/{make_safe_file_name(row.system)}"
    at = f"{results.board.updated_at.timestamp():.6f}"
    return {
        "schema_version": EVERY_EVAL_EVER_VERSION,
        "evaluation_id": f"{season.slug}/{results.task.slug}/{phase.slug}/{row.submission}/{model}/{at}",
        "evaluation_timestamp": row.submitted_at.isoformat(),
        "retrieved_timestamp": at,
        "source_metadata": {
            "source_name": results.title,
            "source_type": "evaluation_run",
            "source_organization_name": str(season),
            "source_organization_url": results.address,
            "evaluator_relationship": "third_party"
            if row.is_competing
            else "first_party",
        },
        "eval_library": {
            "name": "citeboard",
            "version": "unknown",
            "additional_details": {
                "task_type": results.task.type,
                "rules": results.board.rules or "",
            },
        },
        "model_info": {
            "name": row.system,
            "id": model,
            "developer": row.display_name,
            "additional_details": {
                **dict.fromkeys(("deployment_type", "model_availability"), "unknown"),
                "kind": row.kind,
                "submission": str(row.submission),
                "page": results.build_address_of_row(row),
                **(
                    {}
                    if row.rank is None
                    else {"rank": results.board.format_rank_of_row(row)}
                ),
            },
        },
        "evaluation_results": [
            _build_result_record(results, row, column, cell, value)
            for column, cell, value in results.numbers(row)
            # Omit measures without a direction, which the schema requires.
            if column.higher_is_better is not None
        ],
    }


def _build_result_record(
    results: BoardRowsForExport,
    row: BoardRow,
    column: BoardScoreColumn,
    cell: ScoreCell,
    value: float,
) -> dict[str, Any]:
    score = results.find_stored_score(row, column)
    unit = {1: "proportion", 100: "percent"}.get(int(column.scale))
    uncertainty: dict[str, Any] = {}
    if cell.low is not None and cell.high is not None:
        interval = {
            "lower": cell.low,
            "upper": cell.high,
            "confidence_level": CONFIDENCE_LEVEL,
        }
        samples = {"num_samples": score.n} if score else {}
        uncertainty = {"uncertainty": {"confidence_interval": interval, **samples}}
    return {
        "evaluation_result_id": _build_result_id(row, column),
        "evaluation_name": results.title,
        "source_data": {
            "dataset_name": f"{results.task.season}, {results.task}",
            "source_type": "url",
            "url": [results.task_address],
        },
        "metric_config": {
            "metric_id": f"citeboard.{column.metric}",
            "metric_name": display_name_of_metric(column.metric),
            **({"metric_unit": unit} if unit else {}),
            "lower_is_better": not column.higher_is_better,
            "additional_details": {"column_key": column.key},
        },
        "score_details": {
            "score": value,
            **({"details": {"signature": score.signature}} if score else {}),
            **uncertainty,
        },
    }


def board_as_hugging_face(results: BoardRowsForExport, dataset: str = "") -> bytes:
    """Return a file `.eval_results/NAME.yaml` for the model of each system, as the
    Hugging Face Hub requires.

    Format: https://huggingface.co/docs/hub/eval-results
    """
    dataset = (
        dataset
        or results.task.hub_dataset
        or f"{results.task.season.slug}/{results.task.slug}"
    )
    name = make_safe_file_name(
        f"{results.task.season.slug}-{results.task.slug}-{results.phase.slug}"
    )
    files = []
    for row in expand_rows_to_runs(results.rows):
        if entries := [
            {
                "dataset": {
                    "id": dataset,
                    "task_id": build_hub_leaderboard_name(
                        results.phase.split, column.metric
                    ),
                },
                "value": value,
                "date": row.submitted_at.isoformat(),
                "source": {
                    "url": results.build_address_of_row(row),
                    "name": results.title,
                },
                "notes": column.key,
            }
            for column, _, value in results.numbers(row)
        ]:
            folder = f"{row.team_slug or row.kind}/{row.submission}-{make_safe_file_name(row.system)}"
            files.append(
                (f"{folder}/.eval_results/{name}.yaml", format_as_yaml(entries))
            )
    return build_zip(files)


def board_as_ir_metadata(results: BoardRowsForExport) -> bytes:
    """Return the metadata of each run in the format of https://www.ir-metadata.org.

    `tasks.submissions.ir_metadata` reads this format.
    """
    rows = expand_rows_to_runs(results.rows)
    runs = Submission.objects.in_bulk([row.submission for row in rows])
    files = []
    for row in rows:
        if not row.is_human:
            description = (
                runs[row.submission].description if row.may_show_team_texts else ""
            )
            content = format_as_yaml(build_ir_metadata(results, row, description))
            files.append(
                (f"{row.submission}-{make_safe_file_name(row.system)}.yaml", content)
            )
    return build_zip(files)


def build_ir_metadata(
    results: BoardRowsForExport, row: BoardRow, description: str
) -> Mapping[str, Any]:
    season, board = results.task.season, results.board
    return {
        "tag": row.system,
        "actor": {"team": row.display_name, "role": "experimenter"},
        "method": {"description": description} if description else {},
        # In the record, `repository` is the code address that the run card declares.
        **(
            {"implementation": {"source": {"repository": row.card["code"]}}}
            if "code" in row.card
            else {}
        ),
        **({RUN_CARD_METADATA_KEY: dict(row.card)} if row.card else {}),
        "research goal": {
            "venue": {"name": str(season)},
            "evaluation": {
                "reported measures": [
                    column.key for column, _, _ in results.numbers(row)
                ]
            },
            "publication": {
                "url": row.card.get("paper") or results.build_address_of_row(row)
            },
        },
        "data": {
            "test collection": {
                "name": f"{season}, {results.task}, {results.phase.split}",
                "source": results.task_address,
                **(
                    {
                        "qrels digest": f"{board.gold.public_digest_algorithm_slug}:{board.gold.digest}"
                    }
                    if board.gold
                    else {}
                ),
            }
        },
    }


def board_as_papers_with_code(results: BoardRowsForExport) -> str:
    """Return the board as JSON in the format of the site Papers with Code.

    Format: https://github.com/paperswithcode/sota-extractor
    """
    columns = results.board.columns
    table = {
        "task": str(results.task.task_type.title),
        "description": results.task.summary,
        **dict.fromkeys(("categories", "synonyms", "subtasks"), ()),
        "source_link": {"title": results.title, "url": results.address},
        "datasets": [
            {
                "dataset": results.title,
                "description": "\n".join(
                    f"{column.name} = {column.key}" for column in columns
                ),
                "dataset_links": [
                    {"title": str(results.task), "url": results.task_address}
                ],
                "dataset_citations": [],
                "subdatasets": [],
                "sota": {
                    "metrics": [column.name for column in columns],
                    "rows": [
                        {
                            "model_name": f"{row.system} ({row.display_name})",
                            **dict.fromkeys(("paper_title", "paper_url"), ""),
                            "paper_date": f"{row.submitted_at:%Y-%m-%d}",
                            "code_links": [],
                            "model_links": [
                                {
                                    "title": results.title,
                                    "url": results.build_address_of_row(row),
                                }
                            ],
                            "metrics": {
                                column.name: value
                                for column, _, value in results.numbers(row)
                            },
                            "uses_additional_data": False,
                        }
                        for row in results.rows
                    ],
                },
            }
        ],
    }
    return format_as_json([table])


BADGE_PADDING_PIXELS = 6
#: BADGE_LETTER_WIDTH_PIXELS slightly exceeds the mean width of a character in pixels, at font size 11.
#: The SVG scales each text to the resulting width.
BADGE_LETTER_WIDTH_PIXELS = 6.4
#: A badge truncates titles with more than MAX_BADGE_TITLE_LENGTH characters.
MAX_BADGE_TITLE_LENGTH = 40


def render_rank_badge(board: Board, row: BoardRow | None) -> str:
    """Return an SVG badge with a text such as `rank 2–4 of 18 · 0.612 [0.581, 0.640] ·
    preliminary`.

    The SVG badge contains no styles, scripts or fonts.
    """
    title = str(board.phase.task)
    left = (
        title
        if len(title) <= MAX_BADGE_TITLE_LENGTH
        else f"{title[: MAX_BADGE_TITLE_LENGTH - 1].rstrip()}…"
    )
    right = "not ranked"
    if row is not None and row.rank is not None:
        right = board.place_of(row)
        cell = row.scores.get(board.ranking.name) if board.ranking else None
        if cell is not None and board.ranking is not None:
            number = format_score(
                cell.value, board.ranking.scale, is_infinite=cell.is_infinite
            )
            right = f"{right} · {number} {format_interval(cell.low, cell.high, board.ranking.scale)}".rstrip()
        if (
            confirmation := compute_confirmation_of_board(board)
        ) is not None and confirmation.is_preliminary:
            right += " · preliminary"
    widths = [
        round(len(text) * BADGE_LETTER_WIDTH_PIXELS) + 2 * BADGE_PADDING_PIXELS
        for text in (left, right)
    ]
    whole, texts = sum(widths), zip((left, right), (0, widths[0]), widths, strict=True)
    facts = {
        "words": f"{left}: {right}",
        "whole": whole,
        "left": widths[0],
        "end": whole - 3,
        "texts": [
            (text, start + BADGE_PADDING_PIXELS, width - 2 * BADGE_PADDING_PIXELS)
            for text, start, width in texts
        ],
    }
    return render_to_string("boards/badge.svg", facts)


BOARD_FILE_WRITERS: Mapping[str, Callable[[BoardRowsForExport], str | bytes]] = {
    "csv": lambda b: board_as_csv(b.board, b.rows, load_team_figures_by_run(b.rows)),
    "json": lambda b: board_as_json(b.board, b.rows, load_team_figures_by_run(b.rows)),
    "xlsx": board_as_xlsx,
    "tex": lambda b: board_as_latex(b.board, b.rows, b.choice),
    # The citation links to a snapshot of the board, so `save_cited_snapshot` stores a snapshot.
    "bib": lambda b: board_as_bibtex(b, save_cited_snapshot(b.board)),
    "papers-with-code.json": board_as_papers_with_code,
    "every-eval-ever.zip": board_as_every_eval_ever,
    "hugging-face.zip": board_as_hugging_face,
    "ir-metadata.zip": board_as_ir_metadata,
}


def build_board_file_response(results: BoardRowsForExport, name: str) -> HttpResponse:
    """Return the board in the file format with this name. Raises Http404 if the query
    names an unknown column of the board.
    """
    try:
        content = BOARD_FILE_WRITERS[name](results)
    except UnknownColumn as unknown:
        raise Http404(str(unknown)) from unknown
    return build_board_download_response(content, results.board, name)


def build_board_download_response(
    content: str | bytes, board: Board, suffix: str
) -> HttpResponse:
    response = HttpResponse(content, content_type=find_content_type(suffix))
    name = f"{board.phase.task.season.slug}-{board.phase.task.slug}-{board.phase.slug}.{suffix}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    if is_current_board_public(board.phase):
        response["Cache-Control"] = "no-cache"
    return response
