"""Citation Resolution: contexts and rankings side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tasks.types.base import OFFICIAL, Index, Options, Pairs, Split
from tasks.types.citation_resolution.collection import Resolution
from tasks.types.columns import Classes
from tasks.types.files import InputFile
from tasks.types.problems import Problem
from tasks.types.ranking.gathering import RankedRun, RunLimits
from tasks.types.ranking.lists import Lists
from tasks.types.ranking.runs import read_ranked_run

#: The published test set has only papers with so many references inside the collection.
MIN_CANDIDATES = 8

GROUPS = ("1", "2", "3", "4 or more")
CHOICES = ("1 to 9", "10 to 19", "20 to 49", "50 to 99", "100 or more")
CHOICE_BOUNDS = (10, 20, 50, 100)


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[RankedRun, list[Problem]]:
    """The rankings, and everything that is wrong with the files.

    The order is the submitter's. Where scores make it, equal ones stand in the order of the candidates.
    """
    return read_ranked_run(files, index, RunLimits(ties_by_candidate=True))


def pair(split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
    """One row a context; a group of citations is one context.

    A citing paper is the unit that is resampled, since all its contexts choose among the same candidates.
    Under the official rules only papers with at least eight candidates count.
    """
    resolution: Resolution = split.content
    rows = np.arange(split.instances)
    if rules == OFFICIAL:
        rows = np.flatnonzero(resolution.choices >= MIN_CANDIDATES)
        resolution = _only(resolution, rows)
    answers = run.lists.take(rows)
    return Pairs(
        gold=resolution.gold,
        answers=Resolutions(answers, cocited_probabilities(resolution, answers)),
        units=resolution.papers,
        features=_features(resolution),
        names=resolution.ids,
        notes={
            "missing_answers": int((~answers.present).sum()),
            "empty_rankings": int((answers.present & (answers.lengths == 0)).sum()),
            "tied_scores": run.ties,
            "tied_at_cut": tied_at_cut(resolution.gold, answers),
            "contexts_left_out": split.instances - len(rows),
        },
    )


def _only(resolution: Resolution, rows: NDArray[np.intp]) -> Resolution:
    return replace(
        resolution,
        ids=[resolution.ids[row] for row in rows],
        gold=resolution.gold.take(rows),
        papers=resolution.papers.take(rows),
        sections=resolution.sections.take(rows),
        zones=resolution.zones.take(rows),
        disciplines=resolution.disciplines.take(rows),
        choices=resolution.choices[rows],
    )


def _features(resolution: Resolution) -> dict[str, Classes]:
    sizes = np.minimum(resolution.gold.lengths, len(GROUPS)) - 1
    features = {
        "group_size": Classes(GROUPS, sizes.astype(np.int32)),
        "candidates": Classes(CHOICES, np.digitize(resolution.choices, CHOICE_BOUNDS).astype(np.int32)),
        "section": resolution.sections,
        "zone": resolution.zones,
        "discipline": resolution.disciplines,
    }
    return {name: classes for name, classes in features.items() if not classes.is_empty}


class Resolutions(Lists):
    """A ranking for each context; ``cocited`` is NaN where the citation graph is not known."""

    def __init__(self, lists: Lists, cocited: NDArray[np.float64]) -> None:
        super().__init__(lists.values, lists.offsets, lists.present, lists.tied)
        self.cocited = cocited


def cocited_probabilities(resolution: Resolution, answers: Lists) -> NDArray[np.float64]:
    """For each context the mean over the first n answers and the n references of its group.

    After He et al. 2010, Context-aware Citation Recommendation (WWW). A missing answer counts 0.
    """
    graph = resolution.citing_papers
    if graph is None:
        return np.full(len(answers), np.nan)
    found = np.zeros(len(answers))
    for row, (gold, ranked) in enumerate(zip(resolution.gold, answers, strict=True)):
        paper = resolution.papers[row][0]
        names = resolution.candidates[paper]
        wanted = [names[number] for number in gold or ()]
        first = [names[number] for number in (ranked or ())[: len(wanted)]]
        shares = [graph.cocited(one, other, without=paper) for one in first for other in wanted]
        found[row] = sum(shares) / len(wanted) ** 2
    return found


def tied_at_cut(gold: Lists, answers: Lists) -> int:
    """In how many contexts the n-th answer has the score of an answer beside it, where ties decide."""
    if answers.tied is None or not len(answers.values):
        return 0
    cut = gold.lengths
    reached = answers.lengths >= cut
    places = np.where(reached, answers.offsets[:-1] + cut - 1, 0)
    is_tied = answers.tied[places]
    followed = answers.lengths > cut
    is_tied |= followed & answers.tied[np.minimum(places + 1, len(answers.values) - 1)]
    return int((reached & is_tied).sum())
