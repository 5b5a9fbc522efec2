"""Actions that allow, pay for, ask and dismiss the LLM judges of a phase."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import ActForm, by_organisers, long_text
from citeboard.core import audit
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from scoring.judges.declared import ChatJudge
from scoring.judges.questions import MAX_ANSWER, MAX_PROMPT, Prompt
from scoring.models import BackgroundJob, PhaseJudge
from scoring.worker import judging
from tasks.models import Phase
from tasks.types.ledger import ENTAILS, NO, YES

DEFAULT = Prompt.default(ENTAILS)
MAX_BUDGET = 1_000_000


class JudgeConsentForm(ActForm):
    """The prompt of an LLM judge, its two answers, the budget, and the consent to send
    texts of runs and gold to the LLM.
    """

    prompt = long_text(
        _("Prompt"),
        MAX_PROMPT,
        8,
        required=False,
        help_text=_("It contains {premise} and {hypothesis}. Empty: the default."),
    )
    yes = forms.CharField(
        label=_("Answer for “entailed”"),
        max_length=MAX_ANSWER,
        required=False,
        help_text=_(
            "A reply counts if it contains exactly one of both answers as a whole word."
        ),
    )
    no = forms.CharField(
        label=_("Answer for “not entailed”"), max_length=MAX_ANSWER, required=False
    )
    budget = forms.DecimalField(
        label=_("Budget"),
        min_value=0,
        max_value=MAX_BUDGET,
        max_digits=14,
        decimal_places=6,
        required=False,
        help_text=_("The site asks nothing whose maximum cost would exceed it."),
    )
    consent = forms.BooleanField(
        label=_("I agree that the judge receives texts of runs and of the gold."),
        error_messages={
            "required": _("Without your consent no text is given to the judge.")
        },
    )
    api = {
        "prompt": "With {premise} and {hypothesis}; the default without it.",
        "yes": "Answer that stands for “entailed”.",
        "no": "Answer that stands for “not entailed”.",
        "budget": "In the currency of the judge's price.",
        "consent": "True: texts of runs and of the gold go to the judge.",
    }

    def __init__(self, data: Any = None, *, of: Any, **options: Any) -> None:
        super().__init__(data, of=of, auto_id=f"id_{of.pk}_%s", **options)
        if not isinstance(of, Phase):
            return
        row = of.phase_judges.filter(name=judging.named_judge(of)).first()
        answers = {
            label: word for word, label in (row.answers if row else {}).items()
        } or {label: word for word, label in DEFAULT.answers.items()}
        self.initial = {
            **self.initial,
            "prompt": row.prompt if row and row.prompt else DEFAULT.template,
            "yes": answers[YES],
            "no": answers[NO],
            "budget": row and row.budget,
        }
        judge = judging.offered_judges().judges.get(judging.named_judge(of))
        if judge is not None and not isinstance(judge, ChatJudge):
            for name in ("prompt", "yes", "no", "budget"):
                del self.fields[name]


def _agree_to_judge(
    *,
    phase: Phase,
    by: User,
    prompt: str = "",
    yes: str = "",
    no: str = "",
    budget: Decimal | None = None,
    consent: bool = False,
) -> PhaseJudge:
    if not consent:
        raise ValidationError(
            {"consent": gettext("Without your consent no text is given to the judge.")}
        )
    words = dict(zip((YES, NO), DEFAULT.answers, strict=True))
    asked = Prompt(
        ENTAILS,
        # CRLF is replaced by LF, because browsers send the line breaks of a form as
        # CRLF.
        prompt.replace("\r\n", "\n") or DEFAULT.template,
        {yes or words[YES]: YES, no or words[NO]: NO},
    )
    return judging.agree(phase=phase, prompt=asked, budget=budget, by=by)


def _consented_judge(phase: Phase) -> PhaseJudge:
    row = judging.agreed_judges(phase).first()
    if row is None:
        raise Refused(gettext("the site asks no judge for this phase"))
    return row


def _queue_judging(*, phase: Phase, by: User) -> BackgroundJob:
    row = _consented_judge(phase)
    audit.record(
        "judge-asked",
        actor=by,
        subject=row,
        place=phase.task.season,
        facts={"judge": row.name, "phase": phase},
    )
    return judging.ask_for_judging(row)


def _queue_estimate(*, phase: Phase, by: User) -> BackgroundJob:
    return judging.ask_for_estimate(_consented_judge(phase), by)


def _describe_agreed(
    phase_judge: PhaseJudge, filled: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    return gettext("The judge %(judge)s is asked for runs that wait."), {
        "judge": phase_judge.name
    }


AGREE_TO_JUDGE = by_organisers(
    _agree_to_judge,
    "Let the judge that the task names be asked about runs of a phase; for organisers.",
    _describe_agreed,
    form=JudgeConsentForm,
    subject="phase",
)
ASK_JUDGE = by_organisers(
    _queue_judging,
    "Ask the judge of a phase about the runs that wait, also what had no reply; for organisers.",
    subject="phase",
)
ESTIMATE_JUDGE = by_organisers(
    _queue_estimate,
    "Count the open questions to the judge of a phase and estimate their cost; for organisers.",
    subject="phase",
)
DISMISS_JUDGE = by_organisers(
    judging.dismiss,
    "Stop asking the judge of a phase; its judgements stay; for organisers.",
    _("The judge is not asked any more. Its judgements stay in the ledger."),
    subject="phase",
)
