"""Sentences for users about the results of background jobs."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from citeboard.core.words import counted, listed


def imported_labels(made: Mapping[str, Any], model: str) -> str:
    facts = {
        "labels": counted(made["added"], "label"),
        "model": made.get("judge") or model,
    }
    message = _("%(labels)s of %(model)s added.") % facts
    if made["known"]:
        facts["others"] = counted(made["known"], "other")
        message = _("%(labels)s of %(model)s added, %(others)s were there.") % facts
    if not made["resumed"]:
        return message
    resumed = _("%(scorings)s continued.") % {
        "scorings": counted(made["resumed"], "scoring")
    }
    return f"{message} {resumed}"


def judging_outcome(made: Mapping[str, Any]) -> str:
    if "questions" in made:
        questions = counted(made["questions"], "question")
        if not made["currency"]:
            return _("%(questions)s would be asked, without a price.") % {
                "questions": questions
            }
        return _(
            "%(questions)s would be asked, for about %(cost)s and at most %(most)s %(currency)s."
        ) % {**made, "questions": questions}
    sentences = [
        _("%(labels)s stored.") % {"labels": counted(made.get("labels", 0), "label")}
    ]
    if made.get("unlabelled"):
        sentences.append(
            _("%(questions)s had no single answer in two replies.")
            % {"questions": counted(made["unlabelled"], "question")}
        )
    if made.get("failed"):
        sentences.append(
            _("%(questions)s had no reply.")
            % {"questions": counted(made["failed"], "question")}
        )
    if made.get("is_over_budget"):
        sentences.append(_("The budget does not suffice for the next question."))
    return " ".join(sentences)


def old_runs_outcome(made: Mapping[str, Any]) -> str:
    sentences = [
        _("%(queued)s queued.") % {"queued": counted(len(made["runs"]), "run")}
    ]
    if made["present"]:
        sentences.append(
            _("%(runs)s were there before.") % {"runs": counted(made["present"], "run")}
        )
    if made["refused"]:
        sentences.append(
            _("%(runs)s not taken.") % {"runs": counted(made["refused"], "run")}
        )
    if made["measures"]:
        sentences.append(
            _("Beside the board: %(names)s.") % {"names": listed(made["measures"])}
        )
    return " ".join(sentences)
