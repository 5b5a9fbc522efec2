"""Sentences for users about the results of background jobs."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun, join_names


def describe_label_import(made: Mapping[str, Any], model: str) -> str:
    facts = {
        "labels": count_with_noun(made["added"], "label"),
        "model": made.get("judge") or model,
    }
    message = _("%(labels)s of %(model)s added.") % facts
    if made["known"]:
        facts["others"] = count_with_noun(made["known"], "other")
        message = _("%(labels)s of %(model)s added, %(others)s were there.") % facts
    if not made["resumed"]:
        return message
    resumed = _("%(scorings)s continued.") % {
        "scorings": count_with_noun(made["resumed"], "scoring")
    }
    return f"{message} {resumed}"


def describe_judging_result(made: Mapping[str, Any]) -> str:
    if "questions" in made:
        questions = count_with_noun(made["questions"], "question")
        if not made["currency"]:
            return _("%(questions)s would be asked, without a price.") % {
                "questions": questions
            }
        return _(
            "%(questions)s would be asked, for about %(cost)s and at most %(most)s %(currency)s."
        ) % {**made, "questions": questions}
    sentences = [
        _("%(labels)s stored.")
        % {"labels": count_with_noun(made.get("labels", 0), "label")}
    ]
    if made.get("unlabelled"):
        sentences.append(
            _("%(questions)s had no single answer in two replies.")
            % {"questions": count_with_noun(made["unlabelled"], "question")}
        )
    if made.get("failed"):
        sentences.append(
            _("%(questions)s had no reply.")
            % {"questions": count_with_noun(made["failed"], "question")}
        )
    if made.get("is_over_budget"):
        sentences.append(_("The budget does not suffice for the next question."))
    return " ".join(sentences)


def describe_old_runs_result(made: Mapping[str, Any]) -> str:
    sentences = [
        _("%(queued)s queued.") % {"queued": count_with_noun(len(made["runs"]), "run")}
    ]
    if made["present"]:
        sentences.append(
            _("%(runs)s were there before.")
            % {"runs": count_with_noun(made["present"], "run")}
        )
    if made["refused"]:
        sentences.append(
            _("%(runs)s not taken.") % {"runs": count_with_noun(made["refused"], "run")}
        )
    if made["measures"]:
        sentences.append(
            _("Beside the board: %(names)s.") % {"names": join_names(made["measures"])}
        )
    return " ".join(sentences)
