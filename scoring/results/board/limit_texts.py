"""Explain how limits on leaks of gold affect scores, and which signs suggest that a run
probes for the gold.
"""

from collections.abc import Iterator

from django.utils.timezone import now
from django.utils.translation import gettext as _, ngettext

from citeboard.core.words import count_with_noun
from scoring.results.board.monthly_ranks import count_rank_publications_per_year
from tasks.models import Phase


def iterate_leak_limit_sentences(phase: Phase) -> Iterator[str]:
    if phase.public_part and now() < phase.accepts_runs_until:
        share = {"share": phase.public_part}
        yield _("Scores are of a public part, %(share)s %% of the split.") % share
        if phase.has_end:
            yield _("When the phase has ended, runs are ranked by the rest.")
        else:
            yield _format_rank_publication_count(
                count_rank_publications_per_year(phase)
            )
    if phase.ladder and now() < phase.accepts_runs_until:
        yield _(
            "While runs are accepted a team sees a new score only if its run is better "
            "than its best one by more than a standard error, rounded to that."
        )
    if phase.min_answered_share:
        share = {"share": phase.min_answered_share}
        yield (
            _(
                "A run that answers less than %(share)s %% of the instances gets no "
                "score."
            )
            % share
        )
    if phase.min_answered:
        few = {"instances": count_with_noun(phase.min_answered, "instance")}
        yield (
            _("Classes in which a run answers fewer than %(instances)s are not shown.")
            % few
        )
    if phase.shares_tries:
        yield _("Runs to other phases on the same gold use up tries of this one.")


def _format_rank_publication_count(times: int) -> str:
    if not times:
        return _(
            "The rest is too small to rank runs while they are taken; the rows go by their public scores."
        )
    every = ngettext(
        "The rest ranks, and its ranks are drawn up on the first of each month.",
        "The rest ranks, and its ranks are drawn up every %(months)s months from January on, on the first.",
        12 // times,
    )
    return every % {"months": 12 // times}


def describe_probe_sign(probe: str) -> str:
    way, *numbers = probe.split()
    if way == "few":
        return _("It answers %(count)s of %(total)s instances.") % dict(
            zip(("count", "total"), numbers, strict=True)
        )
    if way == "copy":
        names = ("run", "count", "total")
        words = _(
            "Its scores differ from those of run %(run)s in %(count)s of %(total)s rows."
        )
        return words % dict(zip(names, numbers, strict=True))
    words = _(
        "What it has right is unrelated to what %(runs)s earlier runs have, as with random answers."
    )
    return words % {"runs": numbers[0]}
