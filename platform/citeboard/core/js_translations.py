"""What the scripts in `static/` say, for pages in another language than English."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

#: By what a script calls them, which is how they read in English.
WORDS: dict[str, str | Promise] = {
    "Copy": _("Copy"),
    "Copied": _("Copied"),
    "Not copied: select the text": _("Not copied: select the text"),
    "Or drop the file anywhere on this form.": _("Or drop the file anywhere on this form."),
    "The run did not reach the site. Nothing was stored or counted; try again.": _(
        "The run did not reach the site. Nothing was stored or counted; try again."
    ),
    "Exact times": _("Exact times"),
    "Times from now": _("Times from now"),
    "Dark colours": _("Dark colours"),
    "Light colours": _("Light colours"),
    "just now": _("just now"),
    "in less than a minute": _("in less than a minute"),
    "here": _("here"),
}
