"""Sentences that describe the entries of the audit history.

The database stores the key and the facts of each action, and no sentence. Pages render
the sentence of a history entry in the reader's language.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext, gettext_noop as _

from citeboard.core.instants import localize_times_in_history_value
from citeboard.core.words import count_with_noun, truncate_text

#: The sentence of a history entry has at most MAX_SENTENCE_LENGTH characters.
MAX_SENTENCE_LENGTH = 400

#: The history names OPERATOR_ACTOR_NAME as the actor of commands without a signed-in user.
OPERATOR_ACTOR_NAME = _("The site's operator")
INVITED_ACTOR_NAME = _("Somebody invited")

ACTION_SENTENCES = {
    # Teams
    "team-described": _("changed what the team says of itself"),
    "invitation-renewed/first": _("made an invitation link"),
    "invitation-renewed": _("renewed the invitation link"),
    "invitation-revoked": _("revoked the invitation link"),
    "invitation-mailed": _("invited somebody by e-mail"),
    "invitation-withdrawn": _("withdrew an invitation by e-mail"),
    "invitation-declined": _("declined an invitation by e-mail"),
    "member-joined": _("joined"),
    "member-left": _("left"),
    "member-removed": _("removed %(person)s"),
    "lead-handed-over": _("handed the lead over to %(person)s"),
    "first-organiser": _("made the first account that may organise"),
    "seasons-allowed": _("gave %(person)s the right to create seasons"),
    "seasons-allowed/not": _("took the right to create seasons from %(person)s"),
    "second-factor-removed": _("removed the second factor of %(person)s"),
    "join-asked": _("asked to join"),
    "join-taken-back": _("took back asking to join"),
    "join-accepted": _("accepted %(person)s, who had asked"),
    "join-declined": _("declined %(person)s, who had asked"),
    "merge-proposed": _("proposed that %(team)s merges into %(into)s"),
    "merge-dropped": _("dropped that %(team)s merges into %(into)s"),
    "teams-merged": _("merged %(team)s into %(into)s, with %(runs)s"),
    # Entering
    "team-entered": _("entered %(team)s"),
    "team-entered/asked": _("asked for %(team)s to take part"),
    "team-approved": _("approved %(team)s"),
    "team-refused": _("refused %(team)s"),
    "entry-taken-back": _("took back the entry of %(team)s"),
    "entry-changed/open": _("made entering open to every team"),
    "entry-changed/approval": _("made entering by approval of an organiser"),
    "entry-changed/list": _("made entering open to the addresses on a list"),
    "entry-changed/closed": _("made entering closed"),
    "list-changed": _("changed the list of who may enter to %(lines)s"),
    "team-limits": _("changed the limits of teams: %(limits)s"),
    "terms-published": _("published version %(version)s of the terms"),
    "terms-accepted": _("accepted version %(version)s of the terms"),
    # Seasons
    "season-exported": _("took the season with its gold, as season.zip"),
    "season-loaded": _("loaded the season file: %(changes)s"),
    "bundle-imported": _("made the draft of the bundle %(file)s: %(decisions)s"),
    "runs-scored-again": _("had %(runs)s of another site scored again in %(phase)s"),
    "settings-changed": _("changed the settings: %(changes)s"),
    "phase-changed": _("changed the settings: %(changes)s"),
    "declared-anew": _("declared %(task)s anew: %(declaration)s"),
    "season-made": _("made %(season)s from the preset “%(preset)s”"),
    "season-cloned": _("cloned %(season)s as %(clone)s"),
    "season-deleted": _("deleted the draft %(season)s (%(address)s)"),
    "deleted/task": _("deleted the task %(name)s"),
    "deleted/phase": _("deleted the phase %(name)s"),
    "deleted": _("deleted the %(kind)s %(name)s"),
    "restored": _("brought back %(name)s"),
    "changed-in-admin": _("changed %(name)s in the admin: %(fields)s"),
    "mail-tested": _("sent a mail to see whether mails arrive"),
    "organiser-added": _("made %(person)s an organiser"),
    "helper-added": _("made %(person)s a helper"),
    "organiser-removed": _("removed %(person)s as an organiser"),
    "helper-removed": _("removed %(person)s as a helper"),
    "organiser-left": _("left as organiser"),
    "helper-left": _("left as helper"),
    "announced": _("announced: %(text)s"),
    "announced/removed": _("removed the announcement"),
    "announcement-edited": _("edited an announcement: %(text)s"),
    "teams-mailed": _("sent a mail, “%(subject)s”, to %(group)s: %(teams)s"),
    "question-asked": _("asked a question"),
    "question-answered/public": _("answered a question in public"),
    "question-answered": _("answered a question to who asked it"),
    "reported": _("reported abuse"),
    "report-closed": _("closed a report"),
    "measures-brought": _(
        "brought measures of a task's own (%(digest)s), which wait for approval"
    ),
    "measures-brought/approved": _("brought measures of a task's own (%(digest)s)"),
    "measures-approved": _("approved measures of a task's own (%(digest)s)"),
    "measures-withdrawn": _(
        "withdrew the approval of measures of a task's own (%(digest)s)"
    ),
    "program-brought": _(
        "brought the official program of a task (%(digest)s), which waits for approval"
    ),
    "program-brought/approved": _(
        "brought the official program of a task (%(digest)s)"
    ),
    "program-approved": _("approved the official program of a task (%(digest)s)"),
    "program-withdrawn": _(
        "withdrew the approval of the official program of a task (%(digest)s)"
    ),
    "measures-failed": _("could not compute measures of %(task)s: %(why)s"),
    "claim-bound": _(
        "let the later of two seasons with the same texts follow the earlier one: %(reason)s"
    ),
    "claim-released": _(
        "released the later of two seasons with the same texts: %(reason)s"
    ),
    "mails-queued-again": _("queued %(mails)s again that had been given up"),
    "webhook-made": _("made a webhook"),
    "webhook-renewed": _("gave a webhook another secret"),
    "webhook-removed": _("removed a webhook"),
    "webhook-repeated": _("asked for a delivery (%(kind)s) to be posted again"),
    # Phases and boards
    "phase-moved": _("moved %(phase)s from %(before)s to %(after)s"),
    "phase-opened": _("opened %(phase)s"),
    "phase-closed": _("closed %(phase)s"),
    "board-changed": _("changed who sees the board of %(phase)s: %(audience)s"),
    "board-changed/later": _(
        "changed who sees the board of %(phase)s: %(audience)s, from %(instant)s UTC %(then)s"
    ),
    "board-frozen/not": _("changed when the board of %(phase)s is frozen: it is not"),
    "board-frozen": _(
        "changed when the board of %(phase)s is frozen: from %(first)s until it is revealed"
    ),
    "board-frozen/until": _(
        "changed when the board of %(phase)s is frozen: from %(first)s until %(last)s"
    ),
    "erratum": _("published an erratum of %(phase)s"),
    "outside-scores": _("entered %(scores)s by hand as “%(name)s” of %(phase)s"),
    "outside-scores/removed": _(
        "took away what was entered by hand as “%(name)s” of %(phase)s"
    ),
    "confirmation-ended": _("ended the confirmation of results of %(phase)s"),
    "confirmation-reopened": _("reopened the confirmation of results of %(phase)s"),
    "baselines-asked": _("had baselines of %(phase)s computed: %(names)s"),
    "rescore-asked": _("had %(phase)s scored again"),
    "run-rescored": _("had %(run)s in %(phase)s scored again"),
    "rescore-stopped": _("stopped scoring %(phase)s again"),
    "went-on": _("went on: %(what)s"),
    "taken-back": _("took back: %(what)s"),
    "let-out": _("let out before its time: %(what)s"),
    "part-drawn-again": _("drew the public part of %(phase)s again"),
    "gold-sealed": _("sealed gold v%(version)s of %(task)s"),
    "gold-deleted": _("deleted gold v%(version)s of %(task)s"),
    "gold-added": _("made gold v%(version)s of %(task)s"),
    "kit-changed": _(
        "changed the files given out beside gold v%(version)s of %(task)s (files: %(files)s)"
    ),
    # Runs
    "result-confirmed": _(
        "confirmed the result of run %(number)s (%(system)s) of %(team)s in %(phase)s, gold v%(version)s"
    ),
    "result-contested": _(
        "contested the result of run %(number)s (%(system)s) of %(team)s in %(phase)s, gold v%(version)s"
    ),
    "run-described": _(
        "described run %(number)s (%(system)s) of %(team)s in %(phase)s"
    ),
    "run-emptied": _("emptied run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    "run-cancelled": _(
        "cancelled run %(number)s (%(system)s) of %(team)s in %(phase)s"
    ),
    "run-withdrawn": _(
        "withdrawn run %(number)s (%(system)s) of %(team)s in %(phase)s"
    ),
    "run-accepted": _("accepted run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    "run-chosen": _("chosen run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    "run-disqualified": _(
        "disqualified run %(number)s (%(system)s) of %(team)s in %(phase)s"
    ),
    "run-hidden": _("hidden run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    "run-reinstated": _(
        "reinstated run %(number)s (%(system)s) of %(team)s in %(phase)s"
    ),
    "run-given another priority": _(
        "given another priority run %(number)s (%(system)s) of %(team)s in %(phase)s"
    ),
    "run-declared a seed": _(
        "changed of which system run %(number)s (%(system)s) of %(team)s in %(phase)s is a seed"
    ),
    "tries-given": _("gave %(tries)s to %(team)s in %(phase)s"),
    "tries-taken-back": _("took back %(tries)s from %(team)s in %(phase)s"),
    "failure-acknowledged": _("acknowledged: the failure of %(run)s"),
    "failure-acknowledged/rules": _(
        "acknowledged: the scoring under %(rules)s of %(run)s"
    ),
    "failure-not-acknowledged": _("not acknowledged: the failure of %(run)s"),
    "failure-not-acknowledged/rules": _(
        "not acknowledged: the scoring under %(rules)s of %(run)s"
    ),
    # Labels and people's judgements
    "labels-imported": _("brought %(labels)s labels of %(model)s"),
    "judgements-withdrawn": _("withdrew %(labels)s judgements of %(model)s: %(why)s"),
    "judge-agreed": _(
        "lets the judge %(judge)s read texts of %(phase)s; they go to %(host)s"
    ),
    "judge-dismissed": _("does not let the judge %(judge)s read texts of %(phase)s"),
    "pairs-left-out": _(
        "left out %(pairs)s of %(phase)s to which the judge %(judge)s gave no label"
    ),
    "judge-asked": _("asked the judge %(judge)s about runs of %(phase)s"),
    "labels-shared": _("shared %(labels)s labels of %(model)s with all seasons"),
    "judgements-imported": _("brought people's judgements of %(run)s"),
    "judgements-imported/published": _("put people's ratings of %(run)s on the board"),
    "judgements-imported/removed": _("took people's ratings of %(run)s off the board"),
    "sheet": _("made a sheet for human evaluation: %(instances)s of %(runs)s"),
    "annotator-added": _("added the annotator %(annotator)s to sheet %(sheet)s"),
    "ratings-brought": _("brought %(ratings)s of %(annotator)s for sheet %(sheet)s"),
    "annotator-removed": _("removed the annotator %(annotator)s with %(ratings)s"),
    "sheet-adjudication/none": _(
        "lets annotators' ratings stand as they are on sheet %(sheet)s"
    ),
    "sheet-adjudication": _(
        "lets an adjudicator decide where ratings differ by %(distance)s or more on sheet %(sheet)s"
    ),
    "sheet-references": _("showed annotators the gold texts of sheet %(sheet)s"),
    "data-sheet": _("wrote the data sheet of sheet %(sheet)s: %(names)s"),
    "sheet/published": _("published a human evaluation"),
    "sheet/published early": _(
        "published a human evaluation without waiting for %(names)s"
    ),
    "sheet-of-pairs": _("made a sheet of %(pairs)s of %(runs)s"),
    "battles-brought": _("brought %(judgements)s of pairs as sheet %(sheet)s"),
    "battles/published": _(
        "published the judgements of sheet %(sheet)s on the board of battles"
    ),
    "battles/removed": _(
        "took the judgements of sheet %(sheet)s off the board of battles"
    ),
    "sheet-reopened": _("reopened sheet %(sheet)s to its judges"),
    "estimate-sheet": _("made a sheet of %(judgements)s for estimates of %(runs)s"),
    "estimate-sheet/disagreements": _(
        "made a sheet of %(pairs)s on which two judges disagree, of %(runs)s"
    ),
    "estimate-sheet/labels": _("brought people's labels for estimate sheet %(sheet)s"),
    "estimate-sheet/published": _(
        "published the estimated scores of estimate sheet %(sheet)s"
    ),
    "estimate-sheet/removed": _(
        "took the estimated scores of estimate sheet %(sheet)s off the board"
    ),
    "sheet/removed": _("took a human evaluation off the board"),
}
#: Pages translate the facts in _TRANSLATED_VALUE_NAMES, which the database stores in English.
_TRANSLATED_VALUE_NAMES = ("audience", "then", "group")
#: Facts in _TIME_VALUE_NAMES contain times in UTC, which pages format for the reader.
_TIME_VALUE_NAMES = ("instant", "first", "last", "before", "after")
#: Pages add a noun to each fact in _COUNT_FORMATTERS_BY_VALUE_NAME, which the database stores as a number.
_COUNT_FORMATTERS_BY_VALUE_NAME: dict[str, Callable[[int], str]] = {
    "lines": lambda number: count_with_noun(number, "line"),
    "mails": lambda number: count_with_noun(number, "e-mail"),
    "scores": lambda number: count_with_noun(number, "score"),
    "instances": lambda number: count_with_noun(number, "instance"),
    "runs": lambda number: count_with_noun(number, "run"),
    "ratings": lambda number: count_with_noun(number, "rating"),
    "judgements": lambda number: count_with_noun(number, "judgement"),
    "pairs": lambda number: count_with_noun(number, "pair"),
    "decisions": lambda number: count_with_noun(
        number, "thing to decide", "things to decide"
    ),
    "tries": lambda number: count_with_noun(number, "more try", "more tries"),
}
#: The value of the fact SENTENCE_VARIANT_KEY selects one of several sentences for an action.
SENTENCE_VARIANT_KEY = "variant"


def render_action_sentence(action: str, facts: Mapping[str, Any]) -> str:
    sentence = ACTION_SENTENCES[
        f"{action}/{facts[SENTENCE_VARIANT_KEY]}"
        if SENTENCE_VARIANT_KEY in facts
        else action
    ]
    parts = {
        name: _COUNT_FORMATTERS_BY_VALUE_NAME[name](fact)
        if name in _COUNT_FORMATTERS_BY_VALUE_NAME
        else gettext(fact)
        if name in _TRANSLATED_VALUE_NAMES
        else localize_times_in_history_value(fact)
        if name in _TIME_VALUE_NAMES
        else fact
        for name, fact in facts.items()
    }
    words = gettext(sentence) % parts + (
        f": {facts['reason']}" if facts.get("reason") else ""
    )
    return truncate_text(words, MAX_SENTENCE_LENGTH)


def translate_actor_name(name: str) -> str:
    what, _space, number = name.rpartition(" ")
    if what == "deleted account" and number.isdecimal():
        return gettext("deleted account %(number)s") % {"number": number}
    return gettext(name) if name in (OPERATOR_ACTOR_NAME, INVITED_ACTOR_NAME) else name
