"""What allauth says with "du" in German: the site says "Sie", in a catalogue that comes before allauth's."""

from django.utils.translation import gettext_noop

WORDS = (
    gettext_noop(
        "An account already exists with this email address. Please sign in to that account first, then "
        "connect your %s account."
    ),
    gettext_noop("Be patient, you are sending too many requests."),
    gettext_noop("Please type your current password."),
    gettext_noop("You cannot add more than %d email addresses."),
    gettext_noop("You cannot remove your primary email address (%(email)s)."),
    gettext_noop("You cannot remove your primary email address."),
    gettext_noop("You have confirmed %(email)s."),
    gettext_noop("You have signed out."),
    gettext_noop("You must type the same email each time."),
    gettext_noop("You must type the same password each time."),
    gettext_noop("Your account has no password set up."),
    gettext_noop("Your account has no verified email address."),
    gettext_noop("Your primary email address must be verified."),
)
