"""Format the results of drills as a Markdown table."""

from __future__ import annotations

from citeboard.ops.drill.faults import InjectedFault
from citeboard.ops.drill.playing import FaultObservations
from citeboard.ops.drill.site_copy import SiteResponse

MARKDOWN_TABLE_HEAD = (
    "| away | upload | page | probe | doctor | alarm after minutes | recovery |\n"
    "| --- | --- | --- | --- | --- | --- | --- |"
)
#: Recovery times vary between drills, so the table rounds them up to values of ROUNDING_STEPS_SECONDS.
ROUNDING_STEPS_SECONDS = (5, 15, 30, 60, 120, 300)


def format_table_row(fault: InjectedFault, outcome: FaultObservations) -> str:
    recovery = (
        f"uploads within {_round_up_seconds(outcome.ready_after)} s, "
        f"scores within {_round_up_seconds(outcome.scored_after)} s"
    )
    cells = (
        fault.what,
        _format_response_cell(outcome.upload),
        _format_response_cell(outcome.page),
        _format_probe_cell(outcome.probe),
        "; ".join(outcome.doctor_finding_texts) or "nothing",
        _format_alerts_cell(outcome.alarms),
        recovery,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _format_response_cell(answer: SiteResponse) -> str:
    if not answer.status:
        return "no answer"
    detail = answer.facts.get("detail", "")
    return f"{answer.status}: {detail}" if detail else str(answer.status)


def _format_probe_cell(answer: SiteResponse) -> str:
    if not answer.status:
        return "no answer"
    missing = [part["reason"] for part in answer.facts.get("missing", ())]
    return f"{answer.status}: {'; '.join(missing)}" if missing else str(answer.status)


def _format_alerts_cell(alarms: dict[str, int] | None) -> str:
    if alarms is None:
        return "not looked at without promtool"
    named = sorted(alarms.items(), key=lambda item: (item[1], item[0]))
    return ", ".join(f"{name} {minutes}" for name, minutes in named) or "none"


def _round_up_seconds(seconds: float) -> int:
    return next(
        (step for step in ROUNDING_STEPS_SECONDS if seconds <= step),
        ROUNDING_STEPS_SECONDS[-1],
    )
