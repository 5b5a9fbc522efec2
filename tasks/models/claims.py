"""If a season publishes texts and a later season publishes the same texts, the earlier
season has a claim, by which its embargo also applies to the later season.
"""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from citeboard.teams.models import User
from tasks.models.seasons import Season


class Claim(models.Model):
    """A claim of the season ``season`` on the season ``later``, which later published
    texts that hidden gold of ``season`` contains.
    """

    class State(models.TextChoices):
        OPEN = "open", _("binds nobody until it is decided on")
        BINDING = "binding", _("binds the later season")
        RELEASED = "released", _("the later season is released")

    season = models.ForeignKey(Season, on_delete=models.CASCADE, related_name="claims")
    later = models.ForeignKey(
        Season, on_delete=models.CASCADE, related_name="claims_on_it"
    )
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    made_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    reason = models.TextField(blank=True, default="")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["season", "later"], name="claim_once_a_pair"
            )
        ]

    def __str__(self) -> str:
        return f"the claim of {self.season} on texts of {self.later}"
