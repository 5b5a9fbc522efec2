"""Create and remove webhooks, renew their secrets, and repeat deliveries."""

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import ActForm, build_organiser_action
from tasks.delivery.webhooks import services as webhooks


class WebhookForm(ActForm):
    """The URL to which a webhook posts events."""

    url = forms.CharField(
        label=_("Address"),
        max_length=400,
        help_text=_("It begins with https:// and is posted to at each event."),
    )
    api = {"url": "It begins with https://."}


CREATE_WEBHOOK = build_organiser_action(
    webhooks.make_webhook,
    "Have a program posted to at each event of a season; for organisers.",
    form=WebhookForm,
    subject="season",
)
RENEW_WEBHOOK_SECRET = build_organiser_action(
    webhooks.renew_secret,
    "Give a webhook another secret; for organisers.",
    subject="webhook",
)
REMOVE_WEBHOOK = build_organiser_action(
    webhooks.remove_webhook,
    "Remove a webhook with its deliveries; for organisers.",
    _("The webhook is removed, and its deliveries with it."),
    subject="webhook",
)
REPEAT_WEBHOOK_DELIVERY = build_organiser_action(
    webhooks.repeat_delivery,
    "Post an event once more; for organisers.",
    _("It is posted again within seconds."),
    subject="delivery",
)
