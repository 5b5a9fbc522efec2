"""Store people's preferences from published sheets of pairs in the judgement ledger, as
rows of the kind `prefers`.
"""

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from citeboard.teams.models import User
from scoring.models import JudgementImport, Preference, Sheet
from scoring.offline.ledger import format_header_line, format_row_line
from scoring.results.board.battles import build_judge_names_for_export
from scoring.worker import ledger
from tasks.types.ledger import PREFERS_KIND, Judgement, compute_text_digest


def store_sheet_judgements(sheet: Sheet, by: User) -> JudgementImport | None:
    """Store the judgements of a sheet of pairs in the season's judgement ledger. Return
    None if the sheet has no texts, because its judgements were imported from a file.
    """
    rows = list(_iterate_ledger_judgements(sheet))
    if not rows:
        return None
    name = _build_ledger_judge_name(sheet)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
        file.write(format_header_line(PREFERS_KIND, name, name))
        file.writelines(map(format_row_line, rows))
        file.flush()
        given = ledger.read_judgement_file(
            Path(file.name), f"sheet-{sheet.pk}.jsonl", "", None
        )
    return ledger.store_judgements(given, season=sheet.phase.task.season, by=by).source


def withdraw_sheet_judgements(sheet: Sheet, by: User) -> None:
    if sheet.ledger_rows is not None:
        reason = f"{_build_ledger_judge_name(sheet)} was unpublished"
        season = sheet.phase.task.season
        ledger.withdraw_judgements(
            source=sheet.ledger_rows, reason=reason, by=by, season=season
        )


def _build_ledger_judge_name(sheet: Sheet) -> str:
    return f"sheet {sheet.pk}"


def _iterate_ledger_judgements(sheet: Sheet) -> Iterator[Judgement]:
    """Yield a row of the judgement ledger for each judgement of a sheet of pairs. The
    two texts of a row are in the order in which the judge saw the texts, and a
    pseudonym replaces the judge's name.

    If a judge compared the same texts several times, ``repeat`` numbers these
    judgements. The time of a judgement is omitted, because the time could reveal who
    judged.
    """
    judges = build_judge_names_for_export(Sheet.objects.filter(pk=sheet.pk))
    seen: Counter[tuple[str, str]] = Counter()
    judged = Preference.objects.filter(annotator__sheet=sheet, pair__isnull=False)
    columns = ("instance__name", "pair__left__text", "pair__right__text")
    for topic, left, right, label, judge in judged.order_by("pk").values_list(
        *columns, "label", "annotator"
    ):
        items = " ".join(map(compute_text_digest, (topic, left, right)))
        by = judges[judge]
        yield Judgement(
            PREFERS_KIND,
            _build_ledger_judge_name(sheet),
            _build_ledger_judge_name(sheet),
            items,
            by,
            seen[items, by],
            label,
        )
        seen[items, by] += 1
