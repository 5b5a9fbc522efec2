"""What the history says, in the language of who reads it; what it keeps is English.

Each sentence stands here as gettext has it: what somebody else has put into it, such as a name, is in
parentheses after a per cent sign. What was kept is recognised by the sentence that leaves the least open.
"""

from __future__ import annotations

import re
from functools import cache

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_noop as _

from citeboard.core.language import ENGLISH
from citeboard.core.words import counted

#: Who acted, where it was nobody with a name here.
ACTORS = (
    _("The site's operator"),
    _("Somebody invited"),
    _("deleted account %(number)s"),
)
SENTENCES = (
    # Teams
    _("changed what the team says of itself"),
    _("made an invitation link"),
    _("renewed the invitation link"),
    _("revoked the invitation link"),
    _("invited somebody by e-mail"),
    _("withdrew an invitation by e-mail"),
    _("declined an invitation by e-mail"),
    _("joined"),
    _("left"),
    _("removed %(person)s"),
    _("handed the lead over to %(person)s"),
    _("removed the second factor of %(person)s"),
    _("asked to join"),
    _("took back asking to join"),
    _("accepted %(person)s, who had asked"),
    _("declined %(person)s, who had asked"),
    _("proposed that %(team)s merges into %(into)s"),
    _("dropped that %(team)s merges into %(into)s"),
    # Entering
    _("entered %(team)s"),
    _("asked for %(team)s to take part"),
    _("took back the entry of %(team)s"),
    _("made entering open to every team"),
    _("made entering by approval of an organiser"),
    _("made entering open to the addresses on a list"),
    _("made entering closed"),
    _("changed the list of who may enter to %(lines)s"),
    _("changed the limits of teams: %(limits)s"),
    _("published version %(version)s of the terms"),
    _("accepted version %(version)s of the terms"),
    # Seasons
    _("loaded the season file: %(changes)s"),
    _("changed the settings: %(changes)s"),
    _("made %(season)s from the preset “%(preset)s”"),
    _("cloned %(season)s as %(clone)s"),
    _("deleted the draft %(season)s (%(address)s)"),
    _("deleted the task %(name)s"),
    _("deleted the phase %(name)s"),
    _("deleted the %(kind)s %(name)s"),
    _("brought back %(name)s"),
    _("changed %(name)s in the admin: %(fields)s"),
    _("made %(person)s an organiser"),
    _("made %(person)s a helper"),
    _("removed %(person)s as an organiser"),
    _("removed %(person)s as a helper"),
    _("left as organiser"),
    _("left as helper"),
    _("announced: %(text)s"),
    _("edited an announcement: %(text)s"),
    _("removed the announcement"),
    _("asked a question"),
    _("answered a question in public"),
    _("answered a question to who asked it"),
    _("reported abuse"),
    _("closed a report"),
    _("queued %(mails)s again that had been given up"),
    _("made a webhook"),
    _("gave a webhook another secret"),
    _("removed a webhook"),
    _("asked for a delivery (%(kind)s) to be posted again"),
    # Phases and boards
    _("moved %(phase)s from %(before)s to %(after)s"),
    _("opened %(phase)s"),
    _("closed %(phase)s"),
    _("changed who sees the board of %(phase)s: %(audience)s"),
    _("changed who sees the board of %(phase)s: %(audience)s, from %(instant)s UTC %(then)s"),
    _("changed when the board of %(phase)s is frozen: it is not"),
    _("changed when the board of %(phase)s is frozen: from %(first)s until it is revealed"),
    _("changed when the board of %(phase)s is frozen: from %(first)s until %(last)s"),
    _("published an erratum of %(phase)s"),
    _("entered %(scores)s by hand as “%(name)s” of %(phase)s"),
    _("took away what was entered by hand as “%(name)s” of %(phase)s"),
    _("ended the confirmation of results of %(phase)s"),
    _("reopened the confirmation of results of %(phase)s"),
    _("had baselines of %(phase)s computed: %(names)s"),
    _("had %(phase)s scored again"),
    _("had %(run)s in %(phase)s scored again"),
    _("stopped scoring %(phase)s again"),
    # Runs
    _("confirmed the result of run %(number)s (%(system)s) of %(team)s in %(phase)s, gold v%(version)s"),
    _("contested the result of run %(number)s (%(system)s) of %(team)s in %(phase)s, gold v%(version)s"),
    _("described run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("emptied run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    # Labels and people's judgements
    _("brought %(labels)s labels of %(model)s"),
    _("shared %(labels)s labels of %(model)s with all seasons"),
    _("brought people's judgements of %(run)s"),
    _("put people's ratings of %(run)s on the board"),
    _("took people's ratings of %(run)s off the board"),
    _("made a sheet for human evaluation: %(instances)s of %(runs)s"),
    _("removed the annotator %(annotator)s with %(ratings)s"),
    _("lets annotators' ratings stand as they are on sheet %(sheet)s"),
    _("lets an adjudicator decide where ratings differ by %(distance)s or more on sheet %(sheet)s"),
    _("showed annotators the gold texts of sheet %(sheet)s"),
    _("wrote the data sheet of sheet %(sheet)s: %(names)s"),
    _("published a human evaluation"),
    _("published a human evaluation without waiting for %(names)s"),
    _("took a human evaluation off the board"),
)
#: After these a reason may follow, behind a colon.
WITH_REASON = (
    _("approved %(team)s"),
    _("refused %(team)s"),
    _("merged %(team)s into %(into)s, with %(runs)s"),
    _("gave %(tries)s to %(team)s in %(phase)s"),
    _("took back %(tries)s from %(team)s in %(phase)s"),
    _("made gold v%(version)s of %(task)s"),
    _("cancelled run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("withdrawn run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("accepted run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("chosen run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("disqualified run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("hidden run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("reinstated run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("given another priority run %(number)s (%(system)s) of %(team)s in %(phase)s"),
    _("acknowledged: the failure of %(run)s"),
    _("acknowledged: the scoring under %(rules)s of %(run)s"),
    _("not acknowledged: the failure of %(run)s"),
    _("not acknowledged: the scoring under %(rules)s of %(run)s"),
)
#: Parts that are words of the site themselves, as they are translated elsewhere.
_TRANSLATED = ("audience", "then")
#: Parts that are a number with its noun, by the noun.
_COUNTED = {
    "lines": ("line", ""),
    "mails": ("e-mail", ""),
    "scores": ("score", ""),
    "instances": ("instance", ""),
    "runs": ("run", ""),
    "ratings": ("rating", ""),
    "tries": ("more try", "more tries"),
}
_PART = re.compile(r"%\((\w+)\)s")
_NUMBER = re.compile(r"(no|[0-9][0-9\u2009]*) (.+)", re.DOTALL)


def translated(words: str) -> str:
    """What an entry says, after the name of who did it; as it is kept where nothing is known of it."""
    return words if get_language() == ENGLISH else _in_language(words, _sentences()) or words


def actor(name: str) -> str:
    return name if get_language() == ENGLISH else _in_language(name, _actors()) or name


def is_known(words: str) -> bool:
    return any(pattern.fullmatch(words) for _sentence, pattern in _sentences())


def _in_language(words: str, known: list[tuple[str, re.Pattern[str]]]) -> str:
    for sentence, pattern in known:
        if found := pattern.fullmatch(words):
            parts = {name: _part(name, own) for name, own in found.groupdict().items() if own is not None}
            reason = f": {parts['reason']}" if "reason" in parts else ""
            return gettext(sentence) % parts + reason
    return ""


def _part(name: str, words: str) -> str:
    if name in _TRANSLATED:
        return gettext(words)
    number = _NUMBER.fullmatch(words)
    if name not in _COUNTED or number is None:
        return words
    noun, plural = _COUNTED[name]
    if number[2] not in (noun, plural or f"{noun}s"):
        # A name before the number reads like one: what was kept tells more than the number.
        return words
    count = 0 if number[1] == "no" else int(number[1].replace("\u2009", ""))
    return counted(count, noun, plural)


@cache
def _sentences() -> list[tuple[str, re.Pattern[str]]]:
    known = [(sentence, "") for sentence in SENTENCES] + [
        (sentence, "(?:: (?P<reason>.*))?") for sentence in WITH_REASON
    ]
    # The least open first.
    known.sort(key=lambda own: -len(_PART.sub("", own[0])))
    return [(sentence, _pattern(sentence, end)) for sentence, end in known]


@cache
def _actors() -> list[tuple[str, re.Pattern[str]]]:
    return [(name, _pattern(name, "")) for name in ACTORS]


def _pattern(sentence: str, end: str) -> re.Pattern[str]:
    parts = _PART.split(sentence)
    text = "".join(f"(?P<{part}>.*?)" if at % 2 else re.escape(part) for at, part in enumerate(parts))
    return re.compile(text + end, re.DOTALL)
