"""Technical terms that pages explain at the first occurrence."""

from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _


class GlossaryTerm(NamedTuple):
    term: Promise
    meaning: Promise


GLOSSARY_TERMS = {
    "run": GlossaryTerm(
        _("run"), _("the file with a system's answers to the instances of a phase")
    ),
    "gold": GlossaryTerm(
        _("gold"),
        _("the right answers, which runs are compared with; v1 is their first version"),
    ),
    "citance": GlossaryTerm(
        _("citance"),
        _("the sentence, or the few sentences, by which one paper cites another"),
    ),
    "unit": GlossaryTerm(
        _("unit"),
        _(
            "a topic, paper or instance: tests ask how often so large a difference arises if two runs "
            "exchange their results unit by unit"
        ),
    ),
    "rules": GlossaryTerm(
        _("rules"),
        _(
            "how answers are matched and counted: “corrected” is this site's way, “official-2017” repeats "
            "the program of that year with its errors"
        ),
    ),
    "micro": GlossaryTerm(
        _("micro"),
        _(
            "counted over all instances together; macro is the mean of a number for each topic or class"
        ),
    ),
    "primary": GlossaryTerm(
        _("primary"),
        _(
            "the run by which a team takes part in the ranking; contrastive runs are scored beside it"
        ),
    ),
    "signature": GlossaryTerm(
        _("signature"),
        _(
            "the line that says how a number was computed: metric, rules, gold and versions"
        ),
    ),
}
