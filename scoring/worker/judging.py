"""Manage the judges that the site may ask, the organisers' consent to ask these judges,
and the questions that a judge has not answered.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.judges.asking import MAX_REPLIES_PER_QUESTION
from scoring.judges.declared import ChatJudge, DeclaredJudge, read_judges_file
from scoring.judges.questions import (
    JudgePrompt,
    JudgePromptRefused,
    JudgeQuestion,
    build_chat_judge_signature,
    hash_signature,
)
from scoring.models import (
    BackgroundJob,
    Judge,
    Judgement,
    PendingLabels,
    PendingPair,
    PhaseJudge,
)
from scoring.worker.background import BackgroundJobKind, queue_background_job
from scoring.worker.entailment_labels import (
    build_judge_filter,
    count_open_pairs,
    find_jobs_waiting_for_labels,
    iterate_open_pairs,
    parse_asked_item,
    resume_jobs_waiting_for_judge,
)
from scoring.worker.ledger import (
    append_judgements,
    close_judgement_import,
    create_judgement_import,
    look_up_labels,
    split_into_batches,
)
from tasks.models import Job, Phase, Season
from tasks.types.ledger import (
    ENTAILS_KIND,
    KINDS_THAT_ALLOW_NO_LABEL,
    NO_VALID_LABEL,
    ORGANISERS_PSEUDONYM,
    SUPPORTS_KIND,
    Judgement as LedgerRow,
)
from tasks.types.problems import InputRefused, SoftwareUnavailable
from tasks.types.stored_judges import LedgerJudge, list_ledger_judges


@dataclass(frozen=True)
class JudgesOfferedByOperator:
    """The judges that the operator's file declares, or the error if the file is
    invalid.
    """

    judges: Mapping[str, DeclaredJudge]
    fault: str = ""


def read_judges_offered_by_operator() -> JudgesOfferedByOperator:
    """Read the operator's file. If the operator has no file of judges, the site offers
    no judge.
    """
    path = settings.JUDGES_FILE
    if not path.exists():
        return JudgesOfferedByOperator({})
    try:
        return JudgesOfferedByOperator(read_judges_file(path))
    except (InputRefused, SoftwareUnavailable) as fault:
        return JudgesOfferedByOperator({}, str(fault))


def find_judge_in_task_options(phase: Phase, kind: str = "") -> LedgerJudge | None:
    """Return the judge in the task's options, or None if the options name no judge.

    Tasks can take several kinds of labels from judges. ``kind`` may be empty if the
    options name one judge alone. Raises Refused if the options do not determine the
    judge.
    """
    judges = list_ledger_judges(phase.task.options)
    kinds = ", ".join(judge.kind for judge in judges)
    if not kind and len(judges) > 1:
        words = _("the task takes labels of several kinds; name the kind: %(kinds)s")
        raise ActionRefused(words % {"kinds": kinds})
    if not kind:
        return judges[0] if judges else None
    for judge in judges:
        if judge.kind == kind:
            return judge
    words = _("the task takes no labels of the kind “%(kind)s” from a judge")
    raise ActionRefused(words % {"kind": kind[:80]})


def find_judges_with_consent(phase: Phase) -> QuerySet[PhaseJudge]:
    """Return the judges that the organisers of the phase allow the site to ask."""
    named = list_ledger_judges(phase.task.options)
    return phase.phase_judges.with_current_consent().filter(build_judge_filter(named))


def find_judge_with_consent(phase: Phase, kind: str = "") -> QuerySet[PhaseJudge]:
    """Return the judge of one kind of labels that the organisers of the phase allow the
    site to ask. Raises Refused if the options do not determine the judge.
    """
    judge = find_judge_in_task_options(phase, kind)
    return find_judges_with_consent(phase).filter(kind=judge.kind if judge else "")


def record_judge_consent(
    *,
    phase: Phase,
    prompt: JudgePrompt | None,
    budget: Decimal | None,
    by: User | None,
    kind: str = "",
) -> PhaseJudge:
    """Record the organisers' consent that the site asks the judge in the options of the
    phase's task.

    If only the budget has changed, the date of the consent does not change, and neither
    does the set of runs whose texts may be sent. Raises Refused if the operator does
    not offer the judge, or if the season has answers of the judge to another prompt.
    """
    named = find_judge_in_task_options(phase, kind)
    judge = read_judges_offered_by_operator().judges.get(named.name) if named else None
    if named is None or judge is None:
        raise ActionRefused(_("the operator of the site offers no judge of this name"))
    terms = _build_judge_terms(judge, named.kind, prompt, budget)
    now = timezone.now()
    with transaction.atomic():
        row, is_new = PhaseJudge.objects.select_for_update().get_or_create(
            phase=phase,
            name=judge.name,
            kind=named.kind,
            defaults={**terms, "agreed_at": now},
        )
        is_same = row.ended_at is None and row.signature == terms["signature"]
        if is_new or not is_same:
            refuse_changed_judge_settings(row, terms["digest"])
            _refuse_different_judge_settings(row, terms["digest"])
            row.agreed_at, row.ended_at, row.source = now, None, None
            row.agreed_by = by
        elif not row.sends_texts_to_other_server:
            # Keep the stored digest, which a worker computed from the weights.
            terms["digest"] = row.digest
        for name, value in terms.items():
            setattr(row, name, value)
        row.save()
        audit.record_action(
            "judge-agreed",
            actor=by,
            subject=row,
            place=phase.task.season,
            facts={"judge": row.name, "phase": phase, "host": row.host or _("no host")},
        )
    queue_judging_job(row)
    return row


def _build_judge_terms(
    judge: DeclaredJudge, kind: str, prompt: JudgePrompt | None, budget: Decimal | None
) -> dict[str, Any]:
    terms: dict[str, Any] = {
        "instrument": judge.kind,
        "model": judge.model_name,
        "currency": judge.price.currency if judge.price else "",
        "budget": budget if judge.price else None,
    }
    if not isinstance(judge, ChatJudge):
        if kind == SUPPORTS_KIND:
            raise ActionRefused(
                _(
                    "an entailment model answers yes or no, and this task asks for full, partial or no "
                    "support; name a chat endpoint or import labels"
                )
            )
        if kind != ENTAILS_KIND:
            raise ActionRefused(
                _(
                    "an entailment model answers yes or no, and this task asks whether reports contain "
                    "nuggets in full, in part or not; name a chat endpoint or import labels"
                )
            )
        signature: dict[str, Any] = {"kind": judge.kind, "model": judge.model_name}
        return {
            **terms,
            "host": "",
            "signature": signature,
            "digest": "",
            "prompt": "",
            "answers": {},
        }
    if judge.price and budget is None:
        raise ActionRefused(_("a judge with a price needs a budget"))
    prompt = prompt or JudgePrompt.default(kind)
    try:
        prompt.check()
    except JudgePromptRefused as refused:
        raise ActionRefused(str(refused)) from refused
    signature = build_chat_judge_signature(judge, prompt)
    return {
        **terms,
        "host": judge.host,
        "signature": signature,
        "digest": hash_signature(signature),
        "prompt": prompt.template,
        "answers": dict(prompt.answers),
    }


def refuse_changed_judge_settings(row: PhaseJudge, digest: str) -> None:
    """Raise Refused if the season has answers of this judge with another prompt or
    model.

    A board must not mix judgements that result from different prompts or models.
    """
    others = Judgement.objects.standing().filter(
        judge__name=row.name, judge__kind=row.kind, judge__season=row.phase.task.season
    )
    others = others.exclude(judge__digest="").exclude(judge__digest=digest)
    if digest and others.exists():
        raise ActionRefused(
            _(
                "the season has judgements of this judge by another prompt or model; withdraw their imports "
                "first"
            )
        )


def _refuse_different_judge_settings(row: PhaseJudge, digest: str) -> None:
    others = PhaseJudge.objects.with_current_consent().filter(
        name=row.name, kind=row.kind, phase__task__season=row.phase.task.season
    )
    others = others.exclude(pk=row.pk).exclude(digest="").exclude(digest=digest)
    for other in others.select_related("phase__task"):
        named = list_ledger_judges(other.phase.task.options)
        if digest and any(
            (one.name, one.kind) == (row.name, row.kind) for one in named
        ):
            words = _(
                "%(phase)s of %(task)s asks this judge with another prompt or model; stop asking it there "
                "first"
            )
            raise ActionRefused(
                words % {"phase": other.phase, "task": other.phase.task}
            )


def dismiss(*, phase: Phase, by: User, kind: str = "") -> PhaseJudge:
    """Withdraw the organisers' consent that the site asks the judge of the phase. The
    judgement ledger keeps the answers that the judge has already given. Raises Refused.
    """
    with transaction.atomic():
        row = find_judge_with_consent(phase, kind).select_for_update().first()
        if row is None:
            raise ActionRefused(_("the site asks no judge for this phase"))
        row.ended_at = timezone.now()
        row.save(update_fields=["ended_at"])
        audit.record_action(
            "judge-dismissed",
            actor=by,
            subject=row,
            place=phase.task.season,
            facts={"judge": row.name, "phase": phase},
        )
    return row


def queue_judging_job(row: PhaseJudge) -> BackgroundJob:
    """Queue a job that asks a judge all unanswered questions, or return the judge's job
    if one is unfinished.

    The job has no user, because equal jobs of one user are merged and each judge should
    have at most one job.
    """
    season = row.phase.task.season
    given = {"judge": row.pk}
    return queue_background_job(
        BackgroundJobKind.JUDGE,
        season,
        given,
        by=None,
        phase=row.phase,
        queue=Job.JUDGES,
    )


def queue_judging_cost_estimate(row: PhaseJudge, by: User) -> BackgroundJob:
    """Queue a job that counts the judge's unanswered questions and estimates their
    cost. The job sends no question to the judge.
    """
    given = {"judge": row.pk, "dry_run": True}
    season = row.phase.task.season
    return queue_background_job(
        BackgroundJobKind.JUDGE, season, given, by=by, phase=row.phase, queue=Job.JUDGES
    )


def queue_judging_where_consented(job: Job) -> None:
    """After a run has started to wait for labels, queue questions to the judge if the
    organisers have consented.
    """
    for row in find_judges_with_consent(job.submission.phase):
        queue_judging_job(row)


def find_runs_waiting_for_judge(row: PhaseJudge) -> QuerySet[PendingLabels]:
    """Return the waiting runs about whose pairs the site may ask the judge.

    An external judge receives only texts of runs that were submitted after the
    organisers' consent, because only the teams of these runs could know of the consent.
    """
    waiting = find_jobs_waiting_for_labels().filter(
        judge__name=row.name, judge__kind=row.kind, job__submission__phase=row.phase
    )
    if row.sends_texts_to_other_server:
        waiting = waiting.filter(job__submission__submitted_at__gte=row.agreed_at)
    return waiting


def count_open_pairs_of_judge(row: PhaseJudge) -> int:
    """Return the number of pairs of waiting runs about which the site may ask the
    judge.
    """
    return count_open_pairs(find_runs_waiting_for_judge(row))


def find_pairs_without_usable_reply(
    phase: Phase, kind: str = ""
) -> QuerySet[PendingPair, str]:
    """Return the pairs that runs of the phase wait for although the judge has replied,
    because no reply has a label. Raises Refused if the options do not determine the
    judge.
    """
    named, season = find_judge_in_task_options(phase, kind), phase.task.season
    items = PendingPair.objects.values_list("items", flat=True)
    if named is None:
        return items.none()
    deciding = Judge.objects.deciding(named.name, season, named.kind)
    said = Judgement.objects.standing().filter(
        judge__in=deciding.values("pk"), items=OuterRef("items")
    )
    replies = said
    if any(
        row.sends_texts_to_other_server for row in find_judge_with_consent(phase, kind)
    ):
        # After one reply without a label, the judge will be asked once more.
        replies = said.filter(repeat__gte=MAX_REPLIES_PER_QUESTION - 1)
    waiting = find_jobs_waiting_for_labels().filter(
        judge__name=named.name, judge__kind=named.kind, job__submission__phase=phase
    )
    pairs = items.filter(
        Exists(replies),
        ~Exists(said.filter(by=ORGANISERS_PSEUDONYM)),
        waits__in=waiting.values("pk"),
    )
    return pairs.order_by("items").distinct()


def leave_pairs_out(*, phase: Phase, by: User, kind: str = "") -> int:
    """Let the pairs without a label count neither way, and score the runs that waited
    for these pairs alone. Return the number of pairs.

    The ledger stores the decision as a judgement by ORGANISERS_PSEUDONYM without a label, so that
    it can be withdrawn. A label that comes later replaces the decision. Raises Refused.
    """
    named, season = find_judge_in_task_options(phase, kind), phase.task.season
    pairs = list(find_pairs_without_usable_reply(phase, kind))
    if named is None or not pairs:
        raise ActionRefused(
            _("no run waits for a pair that the judge left without a label")
        )
    if named.kind not in KINDS_THAT_ALLOW_NO_LABEL:
        raise ActionRefused(
            _("a claim has no score without a label of each pair; let people decide")
        )
    deciding = list(Judge.objects.deciding(named.name, season, named.kind))
    rows: defaultdict[Judge, list[LedgerRow]] = defaultdict(list)
    digests = {judge.pk: judge.digest for judge in deciding if judge.season_id}
    with transaction.atomic():
        for items, found in look_up_labels(deciding, pairs):
            # Judgements that all seasons share stay as they are.
            digest = digests.get(found.judge, "")
            judge, _is_new = Judge.objects.get_or_create(
                kind=named.kind, name=named.name, digest=digest, season=season
            )
            rows[judge].append(
                LedgerRow(
                    named.kind,
                    named.name,
                    digest,
                    items,
                    ORGANISERS_PSEUDONYM,
                    0,
                    NO_VALID_LABEL,
                )
            )
        for judge, own in rows.items():
            source = create_judgement_import(judge, phase.slug, "", by)
            for some in split_into_batches(own):
                append_judgements(source, some)
            close_judgement_import(source)
        audit.record_action(
            "pairs-left-out",
            actor=by,
            subject=phase,
            place=season,
            facts={"pairs": len(pairs), "judge": named.name, "phase": phase},
        )
    for judge in rows:
        # Another form of a document may have the label under which a run waits.
        resume_jobs_waiting_for_judge(judge, is_unsure=True)
    return len(pairs)


def count_runs_before_consent(row: PhaseJudge) -> int:
    """Return the number of waiting runs that were submitted before the organisers
    consented to an external judge. Runs that were submitted before the consent are not
    sent to an external judge.
    """
    if not row.sends_texts_to_other_server:
        return 0
    waiting = find_jobs_waiting_for_labels().filter(
        judge__name=row.name, judge__kind=row.kind, job__submission__phase=row.phase
    )
    earlier = waiting.filter(job__submission__submitted_at__lt=row.agreed_at)
    return earlier.values("job__submission").distinct().count()


def find_texts_that_instruct_judge(phase: Phase, kind: str) -> list[str]:
    """Return the texts that seem to instruct the judge of one kind of labels, which
    recent jobs of the phase found in runs.
    """
    jobs = BackgroundJob.objects.filter(
        kind=BackgroundJobKind.JUDGE, phase=phase
    ).order_by("-pk")
    rows = set(phase.phase_judges.filter(kind=kind).values_list("pk", flat=True))
    own = (job for job in jobs if job.given["judge"] in rows)
    texts = (text for job in own for text in job.result.get("addressing", ()))
    return list(dict.fromkeys(texts))


def iterate_open_questions(row: PhaseJudge) -> Iterator[JudgeQuestion]:
    """Yield the pairs that the scorers of waiting runs need next and that the judge was
    not yet asked about.
    """
    pairs = iterate_open_pairs(
        list(find_runs_waiting_for_judge(row)), is_next_only=True
    )
    for some in split_into_batches(pairs):
        asked = [parse_asked_item(pair) for pair in some]
        questions = [JudgeQuestion(one.kind, one.texts) for one in asked]
        yield from _iterate_unanswered_questions(row, questions)


def _iterate_unanswered_questions(
    row: PhaseJudge, questions: Sequence[JudgeQuestion]
) -> Iterator[JudgeQuestion]:
    rows = (
        Judgement.objects.standing()
        .filter(
            judge__kind=row.kind,
            judge__name=row.name,
            judge__digest=row.digest,
            judge__season=row.phase.task.season_id,
            items__in=[question.items for question in questions],
        )
        .exclude(by=ORGANISERS_PSEUDONYM)
    )
    replies, decided = Counter[str](), set[str]()
    for items, label in rows.values_list("items", "label"):
        if label == NO_VALID_LABEL:
            replies[items] += 1
        else:
            decided.add(items)
    most = MAX_REPLIES_PER_QUESTION if row.sends_texts_to_other_server else 1
    for one in questions:
        if one.items not in decided and replies[one.items] < most:
            yield replace(one, replies=replies[one.items])


def list_phases_with_judges(season: Season) -> list[Phase]:
    """Return the phases of tasks whose options name a judge whose labels the site
    stores.
    """
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    return [
        phase
        for phase in phases.order_by("task", "pk")
        if list_ledger_judges(phase.task.options)
    ]
