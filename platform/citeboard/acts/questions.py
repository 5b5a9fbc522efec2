"""Ask the organisers of a season, and answer questions."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    build_helper_action,
    build_long_text_field,
    build_reader_action,
)
from tasks import models
from tasks.seasons import announcements as news


class QuestionForm(ActForm):
    """A question to the organisers of a season."""

    text = forms.CharField(
        label=_("Your question"),
        max_length=news.MAX_MESSAGE_CHARACTERS,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_(
            "Organisers read it, with your name. If they answer in public, everybody reads question "
            "and answer, without your name."
        ),
    )


PUBLIC_ANSWER_OPTION, PRIVATE_ANSWER_OPTION = "public", "private"


class AnswerForm(ActForm):
    """The answer to a question, and the audience of the question and the answer."""

    answer = build_long_text_field(_("Answer"), news.MAX_MESSAGE_CHARACTERS, 8)
    how = forms.ChoiceField(
        label=_("Who reads it"),
        choices=[
            (
                PUBLIC_ANSWER_OPTION,
                _("everybody, with the question and without the name of who asked"),
            ),
            (PRIVATE_ANSWER_OPTION, _("who asked, alone")),
        ],
    )
    api = {"answer": "Markdown."}
    begins_with = {"answer": "answer"}
    only_on_pages = ("how",)
    only_in_api = {"is_public": forms.BooleanField()}

    def __init__(
        self, data: Any = None, files: Any = None, *, of: models.Question
    ) -> None:
        super().__init__(data, of=of)
        self.initial["how"] = (
            PRIVATE_ANSWER_OPTION
            if of.answered_at and not of.is_public
            else PUBLIC_ANSWER_OPTION
        )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        cleaned["is_public"] = (
            cleaned.pop("how", PUBLIC_ANSWER_OPTION) == PUBLIC_ANSWER_OPTION
        )
        return cleaned


ASK_ORGANISERS = build_reader_action(
    news.ask,
    "Ask the organisers of a season.",
    _("The organisers have your question. You get a message when they answer."),
    form=QuestionForm,
    subject="season",
)
ANSWER_QUESTION = build_helper_action(
    lambda question, answer, is_public, by: news.answer_question(
        question=question, text=answer, is_public=is_public, by=by
    ),
    "Answer a question; for organisers.",
    _("The question is answered."),
    form=AnswerForm,
    subject="question",
)
