"""Actions that allow, pay for, ask and dismiss the LLM judges of a phase."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    build_long_text_field,
    build_organiser_action,
)
from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.judges.declared import ChatJudge
from scoring.judges.questions import (
    MAX_PROMPT_ANSWER_CHARACTERS,
    MAX_PROMPT_CHARACTERS,
    JudgePrompt,
)
from scoring.models import BackgroundJob, PhaseJudge
from scoring.worker import judging
from tasks.models import Phase
from tasks.types.ledger import (
    ASSIGNS_KIND,
    ENTAILS_KIND,
    JUDGEMENT_KINDS_BY_NAME,
    SUPPORTS_KIND,
)
from tasks.types.stored_judges import list_ledger_judges

#: The kinds of labels that the site asks judges for; a field has the name of its label.
JUDGED_LABEL_KINDS = (ENTAILS_KIND, SUPPORTS_KIND, ASSIGNS_KIND)
JUDGE_LABELS = tuple(
    label
    for kind in JUDGED_LABEL_KINDS
    for label in JUDGEMENT_KINDS_BY_NAME[kind].labels
)
PROMPT_HELP_TEXTS_BY_LABEL_KIND = {
    ENTAILS_KIND: _("It contains {premise} and {hypothesis}. Empty: the default."),
    SUPPORTS_KIND: _("It contains {sentence} and {document}. Empty: the default."),
    ASSIGNS_KIND: _("It contains {topic}, {nugget} and {report}. Empty: the default."),
}
MAX_JUDGE_BUDGET = 1_000_000


def _build_judge_answer_field(label: Any, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        max_length=MAX_PROMPT_ANSWER_CHARACTERS,
        required=False,
        help_text=help_text,
    )


def build_label_kind_field() -> forms.CharField:
    return forms.CharField(
        label=_("Kind of labels"),
        max_length=10,
        required=False,
        widget=forms.HiddenInput,
    )


KIND_FIELD_HELP_IN_API = (
    "Kind of labels; needed if the task takes several kinds from judges."
)


class JudgeKindForm(ActForm):
    """The kind of labels, if a task takes several kinds of labels from judges."""

    kind = build_label_kind_field()
    api = {"kind": KIND_FIELD_HELP_IN_API}


class JudgeConsentForm(ActForm):
    """The prompt of an LLM judge, its answers, the budget, and the consent to send texts
    of runs and gold to the LLM.
    """

    kind = build_label_kind_field()
    prompt = build_long_text_field(
        _("Prompt"),
        MAX_PROMPT_CHARACTERS,
        8,
        required=False,
        help_text=PROMPT_HELP_TEXTS_BY_LABEL_KIND[ENTAILS_KIND],
    )
    yes = _build_judge_answer_field(
        _("Answer for “entailed”"),
        _("A reply counts if it contains exactly one of both answers as a whole word."),
    )
    no = _build_judge_answer_field(_("Answer for “not entailed”"))
    full = _build_judge_answer_field(
        _("Answer for “full support”"),
        _(
            "A reply counts if it contains exactly one of the three answers as a whole word."
        ),
    )
    partial = _build_judge_answer_field(_("Answer for “partial support”"))
    none = _build_judge_answer_field(_("Answer for “no support”"))
    support = _build_judge_answer_field(
        _("Answer for “the report contains the nugget”"),
        _(
            "A reply counts if it contains exactly one of the three answers as a whole word."
        ),
    )
    partial_support = _build_judge_answer_field(_("Answer for “contains it in part”"))
    not_support = _build_judge_answer_field(_("Answer for “does not contain it”"))
    budget = forms.DecimalField(
        label=_("Budget"),
        min_value=0,
        max_value=MAX_JUDGE_BUDGET,
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
        "kind": KIND_FIELD_HELP_IN_API,
        "prompt": "With {premise} and {hypothesis}, or for cited reports with {sentence} and {document}, or "
        "with {topic}, {nugget} and {report}; the default without it.",
        "yes": "Answer that stands for “entailed”.",
        "no": "Answer that stands for “not entailed”.",
        "full": "Answer that stands for “full support”, for cited reports.",
        "partial": "Answer that stands for “partial support”, for cited reports.",
        "none": "Answer that stands for “no support”, for cited reports.",
        "support": "Answer that stands for “the report contains the nugget”.",
        "partial_support": "Answer that stands for “contains it in part”.",
        "not_support": "Answer that stands for “does not contain it”.",
        "budget": "In the currency of the judge's price.",
        "consent": "True: texts of runs and of the gold go to the judge.",
    }

    def __init__(
        self, data: Any = None, *, of: Any, kind: str = "", **options: Any
    ) -> None:
        kind = kind or (data or {}).get("kind", "")
        judges = list_ledger_judges(of.task.options) if isinstance(of, Phase) else []
        judge = next(
            (one for one in judges if one.kind == kind), next(iter(judges), None)
        )
        name, kind = (judge.name, judge.kind) if judge else ("", ENTAILS_KIND)
        super().__init__(data, of=of, auto_id=f"id_{of.pk}_{kind}_%s", **options)
        self.labels_kind = kind
        if not isinstance(of, Phase):
            return
        default = JudgePrompt.default(kind)
        row = of.phase_judges.filter(name=name, kind=kind).first()
        answers = row.answers if row and row.answers else default.answers
        self.initial = {
            **self.initial,
            "kind": kind,
            "prompt": row.prompt if row and row.prompt else default.template,
            **{label: word for word, label in answers.items()},
            "budget": row and row.budget,
        }
        self.fields["prompt"].help_text = PROMPT_HELP_TEXTS_BY_LABEL_KIND[kind]
        for label in {*JUDGE_LABELS} - {*JUDGEMENT_KINDS_BY_NAME[kind].labels}:
            del self.fields[label]
        declared = judging.read_judges_offered_by_operator().judges.get(name)
        if declared is not None and not isinstance(declared, ChatJudge):
            for name in ("prompt", *JUDGEMENT_KINDS_BY_NAME[kind].labels, "budget"):
                del self.fields[name]


def _consent_to_judge(
    *,
    phase: Phase,
    by: User,
    kind: str = "",
    prompt: str = "",
    budget: Decimal | None = None,
    consent: bool = False,
    **answers: str,
) -> PhaseJudge:
    if not consent:
        raise ValidationError(
            {"consent": gettext("Without your consent no text is given to the judge.")}
        )
    named = judging.find_judge_in_task_options(phase, kind)
    asked_kind = named.kind if named else ENTAILS_KIND
    default = JudgePrompt.default(asked_kind)
    labels = JUDGEMENT_KINDS_BY_NAME[asked_kind].labels
    # `Prompt.check` refuses answers that stand for labels of another kind.
    foreign = {answers[name]: name for name in answers if name not in labels}
    asked = JudgePrompt(
        asked_kind,
        # The prompt gets LF line breaks, because browsers send CRLF in forms.
        prompt.replace("\r\n", "\n") or default.template,
        {answers.get(label) or word: label for word, label in default.answers.items()}
        | {word: label for word, label in foreign.items() if word},
    )
    return judging.record_judge_consent(
        phase=phase, prompt=asked, budget=budget, by=by, kind=kind
    )


def _find_consented_judge(phase: Phase, kind: str) -> PhaseJudge:
    row = judging.find_judge_with_consent(phase, kind).first()
    if row is None:
        raise ActionRefused(gettext("the site asks no judge for this phase"))
    return row


def _queue_judge_questions(*, phase: Phase, by: User, kind: str = "") -> BackgroundJob:
    row = _find_consented_judge(phase, kind)
    audit.record_action(
        "judge-asked",
        actor=by,
        subject=row,
        place=phase.task.season,
        facts={"judge": row.name, "phase": phase},
    )
    return judging.queue_judging_job(row)


def _queue_judge_cost_estimate(
    *, phase: Phase, by: User, kind: str = ""
) -> BackgroundJob:
    return judging.queue_judging_cost_estimate(_find_consented_judge(phase, kind), by)


def _judge_consent_message(
    phase_judge: PhaseJudge, filled: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    return gettext("The judge %(judge)s is asked for runs that wait."), {
        "judge": phase_judge.name
    }


CONSENT_TO_JUDGE = build_organiser_action(
    _consent_to_judge,
    "Let the judge that the task names be asked about runs of a phase; for organisers.",
    _judge_consent_message,
    form=JudgeConsentForm,
    subject="phase",
)
QUEUE_JUDGE_QUESTIONS = build_organiser_action(
    _queue_judge_questions,
    "Ask the judge of a phase about the runs that wait, also what had no reply; for organisers.",
    form=JudgeKindForm,
    subject="phase",
)
ESTIMATE_JUDGE_COST = build_organiser_action(
    _queue_judge_cost_estimate,
    "Count the open questions to the judge of a phase and estimate their cost; for organisers.",
    form=JudgeKindForm,
    subject="phase",
)
EXCLUDE_UNLABELLED_PAIRS = build_organiser_action(
    judging.leave_pairs_out,
    "Let pairs that the judge of a phase left without a label count neither way; for organisers.",
    _(
        "The pairs without a label are left out. Runs that wait for no other pair are scored."
    ),
    form=JudgeKindForm,
    subject="phase",
)
DISMISS_JUDGE = build_organiser_action(
    judging.dismiss,
    "Stop asking the judge of a phase; its judgements stay; for organisers.",
    _("The judge is not asked any more. Its judgements stay in the ledger."),
    form=JudgeKindForm,
    subject="phase",
)
