"""What is kept of the history in words is read once and kept as facts; what no sentence fits stays as it is.

The sentences are those of release 0.3.0, by the action and which of its sentences it is.
"""

import re

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SENTENCES = {
    "team-described": "changed what the team says of itself",
    "invitation-renewed/first": "made an invitation link",
    "invitation-renewed": "renewed the invitation link",
    "invitation-revoked": "revoked the invitation link",
    "invitation-mailed": "invited somebody by e-mail",
    "invitation-withdrawn": "withdrew an invitation by e-mail",
    "invitation-declined": "declined an invitation by e-mail",
    "member-joined": "joined",
    "member-left": "left",
    "member-removed": "removed %(person)s",
    "lead-handed-over": "handed the lead over to %(person)s",
    "second-factor-removed": "removed the second factor of %(person)s",
    "join-asked": "asked to join",
    "join-taken-back": "took back asking to join",
    "join-accepted": "accepted %(person)s, who had asked",
    "join-declined": "declined %(person)s, who had asked",
    "merge-proposed": "proposed that %(team)s merges into %(into)s",
    "merge-dropped": "dropped that %(team)s merges into %(into)s",
    "teams-merged": "merged %(team)s into %(into)s, with %(runs)s",
    "team-entered": "entered %(team)s",
    "team-entered/asked": "asked for %(team)s to take part",
    "team-approved": "approved %(team)s",
    "team-refused": "refused %(team)s",
    "entry-taken-back": "took back the entry of %(team)s",
    "entry-changed/open": "made entering open to every team",
    "entry-changed/approval": "made entering by approval of an organiser",
    "entry-changed/list": "made entering open to the addresses on a list",
    "entry-changed/closed": "made entering closed",
    "list-changed": "changed the list of who may enter to %(lines)s",
    "team-limits": "changed the limits of teams: %(limits)s",
    "terms-published": "published version %(version)s of the terms",
    "terms-accepted": "accepted version %(version)s of the terms",
    "season-loaded": "loaded the season file: %(changes)s",
    "settings-changed": "changed the settings: %(changes)s",
    "phase-changed": "changed the settings: %(changes)s",
    "season-made": "made %(season)s from the preset “%(preset)s”",
    "season-cloned": "cloned %(season)s as %(clone)s",
    "season-deleted": "deleted the draft %(season)s (%(address)s)",
    "deleted/task": "deleted the task %(name)s",
    "deleted/phase": "deleted the phase %(name)s",
    "deleted": "deleted the %(kind)s %(name)s",
    "restored": "brought back %(name)s",
    "changed-in-admin": "changed %(name)s in the admin: %(fields)s",
    "organiser-added": "made %(person)s an organiser",
    "helper-added": "made %(person)s a helper",
    "organiser-removed": "removed %(person)s as an organiser",
    "helper-removed": "removed %(person)s as a helper",
    "organiser-left": "left as organiser",
    "helper-left": "left as helper",
    "announced": "announced: %(text)s",
    "announced/removed": "removed the announcement",
    "announcement-edited": "edited an announcement: %(text)s",
    "question-asked": "asked a question",
    "question-answered/public": "answered a question in public",
    "question-answered": "answered a question to who asked it",
    "reported": "reported abuse",
    "report-closed": "closed a report",
    "mails-queued-again": "queued %(mails)s again that had been given up",
    "webhook-made": "made a webhook",
    "webhook-renewed": "gave a webhook another secret",
    "webhook-removed": "removed a webhook",
    "webhook-repeated": "asked for a delivery (%(kind)s) to be posted again",
    "phase-moved": "moved %(phase)s from %(before)s to %(after)s",
    "phase-opened": "opened %(phase)s",
    "phase-closed": "closed %(phase)s",
    "board-changed": "changed who sees the board of %(phase)s: %(audience)s",
    "board-changed/later": "changed who sees the board of %(phase)s: %(audience)s, from %(instant)s UTC %(then)s",
    "board-frozen/not": "changed when the board of %(phase)s is frozen: it is not",
    "board-frozen": "changed when the board of %(phase)s is frozen: from %(first)s until it is revealed",
    "board-frozen/until": "changed when the board of %(phase)s is frozen: from %(first)s until %(last)s",
    "erratum": "published an erratum of %(phase)s",
    "outside-scores": "entered %(scores)s by hand as “%(name)s” of %(phase)s",
    "outside-scores/removed": "took away what was entered by hand as “%(name)s” of %(phase)s",
    "confirmation-ended": "ended the confirmation of results of %(phase)s",
    "confirmation-reopened": "reopened the confirmation of results of %(phase)s",
    "baselines-asked": "had baselines of %(phase)s computed: %(names)s",
    "rescore-asked": "had %(phase)s scored again",
    "run-rescored": "had %(run)s in %(phase)s scored again",
    "rescore-stopped": "stopped scoring %(phase)s again",
    "gold-added": "made gold v%(version)s of %(task)s",
    "result-confirmed": "confirmed the result of run %(number)s (%(system)s) of %(team)s in %(phase)s, gold v%(version)s",
    "result-contested": "contested the result of run %(number)s (%(system)s) of %(team)s in %(phase)s, gold v%(version)s",
    "run-described": "described run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-emptied": "emptied run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-cancelled": "cancelled run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-withdrawn": "withdrawn run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-accepted": "accepted run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-chosen": "chosen run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-disqualified": "disqualified run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-hidden": "hidden run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-reinstated": "reinstated run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "run-given another priority": "given another priority run %(number)s (%(system)s) of %(team)s in %(phase)s",
    "tries-given": "gave %(tries)s to %(team)s in %(phase)s",
    "tries-taken-back": "took back %(tries)s from %(team)s in %(phase)s",
    "failure-acknowledged": "acknowledged: the failure of %(run)s",
    "failure-acknowledged/rules": "acknowledged: the scoring under %(rules)s of %(run)s",
    "failure-not-acknowledged": "not acknowledged: the failure of %(run)s",
    "failure-not-acknowledged/rules": "not acknowledged: the scoring under %(rules)s of %(run)s",
    "labels-imported": "brought %(labels)s labels of %(model)s",
    "labels-shared": "shared %(labels)s labels of %(model)s with all seasons",
    "judgements-imported": "brought people's judgements of %(run)s",
    "judgements-imported/published": "put people's ratings of %(run)s on the board",
    "judgements-imported/removed": "took people's ratings of %(run)s off the board",
    "sheet": "made a sheet for human evaluation: %(instances)s of %(runs)s",
    "annotator-removed": "removed the annotator %(annotator)s with %(ratings)s",
    "sheet-adjudication/none": "lets annotators' ratings stand as they are on sheet %(sheet)s",
    "sheet-adjudication": "lets an adjudicator decide where ratings differ by %(distance)s or more on sheet %(sheet)s",
    "sheet-references": "showed annotators the gold texts of sheet %(sheet)s",
    "data-sheet": "wrote the data sheet of sheet %(sheet)s: %(names)s",
    "sheet/published": "published a human evaluation",
    "sheet/published early": "published a human evaluation without waiting for %(names)s",
    "sheet/removed": "took a human evaluation off the board",
}
#: After these a reason may follow, behind a colon.
WITH_REASON = {
    "teams-merged",
    "team-approved",
    "team-refused",
    "gold-added",
    "run-cancelled",
    "run-withdrawn",
    "run-accepted",
    "run-chosen",
    "run-disqualified",
    "run-hidden",
    "run-reinstated",
    "run-given another priority",
    "tries-given",
    "tries-taken-back",
    "failure-acknowledged",
    "failure-acknowledged/rules",
    "failure-not-acknowledged",
    "failure-not-acknowledged/rules",
}
#: Parts that are a number with its noun, in one and in many.
NOUNS = {
    "lines": ("line", "lines"),
    "mails": ("e-mail", "e-mails"),
    "scores": ("score", "scores"),
    "instances": ("instance", "instances"),
    "runs": ("run", "runs"),
    "ratings": ("rating", "ratings"),
    "tries": ("more try", "more tries"),
}
PART = re.compile(r"%\((\w+)\)s")
MAX_AT_ONCE = 1000


def keep_facts(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    entries = apps.get_model("core", "AuditEntry").objects
    patterns = patterns_by_action()
    carried = []
    for entry in (
        entries.filter(facts__isnull=True).only("action", "text").order_by("pk").iterator(MAX_AT_ONCE)
    ):
        entry.facts = facts_of(entry.text, patterns.get(entry.action, []))
        if entry.facts is not None:
            carried.append(entry)
        if len(carried) == MAX_AT_ONCE:
            entries.bulk_update(carried, ["facts"])
            carried = []
    entries.bulk_update(carried, ["facts"])


def patterns_by_action() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """Which of the action's sentences, and how it reads; those that leave the least open come first."""
    patterns: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for key, sentence in sorted(SENTENCES.items(), key=lambda item: -len(PART.sub("", item[1]))):
        action, _, variant = key.partition("/")
        pieces = PART.split(sentence)
        text = "".join(open_part(piece) if at % 2 else re.escape(piece) for at, piece in enumerate(pieces))
        text += "(?:: (?P<reason>.*))?" if key in WITH_REASON else ""
        patterns.setdefault(action, []).append((variant, re.compile(text, re.DOTALL)))
    return patterns


def open_part(name: str) -> str:
    if name not in NOUNS:
        return f"(?P<{name}>.*?)"
    one, many = NOUNS[name]
    return f"(?P<{name}>1 {one}|(?:no|[0-9][0-9\u2009]*) {many})"


def facts_of(words: str, patterns: list[tuple[str, re.Pattern[str]]]) -> dict[str, str | int] | None:
    """None where no sentence fits."""
    for variant, pattern in patterns:
        if fits := pattern.fullmatch(words):
            facts = {
                name: number_in(part) if name in NOUNS else part
                for name, part in fits.groupdict().items()
                if part is not None
            }
            return {**facts, "variant": variant} if variant else facts
    return None


def number_in(part: str) -> int:
    number = part.partition(" ")[0].replace("\u2009", "")
    return 0 if number == "no" else int(number)


class Migration(migrations.Migration):
    dependencies = [("core", "0006_audit_facts")]

    operations = [migrations.RunPython(keep_facts, migrations.RunPython.noop)]
