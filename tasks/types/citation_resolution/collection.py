"""The gold of Citation Resolution, which contains contexts with their cited references,
and the reference list of each paper.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tasks.types.base import OFFICIAL, Index, Options, Pairs, Split
from tasks.types.citation_resolution import (
    CITATIONS,
    CONTEXTS,
    INLINKS,
    PAPERS,
    REFERENCES,
)
from tasks.types.columns import Classes
from tasks.types.files import Files, InputFile
from tasks.types.jsonlines import Record
from tasks.types.problems import Problem, refuse
from tasks.types.ranking import records
from tasks.types.ranking.lists import Lists, index_of
from tasks.types.ranking.runs import RankedRun, RunLimits, read_ranked_run
from tasks.types.run_forms import RANKED_TABLE, text_of_document, text_of_topic
from tasks.types.tables import read_with_tables

#: The fields in `SHOWN` of a context, a reference and a paper are public.
#: Fields of the gold files that are not in `SHOWN` are secret or unused.
SHOWN = (
    "context_id",
    "paper_id",
    "section",
    "before",
    "sentence",
    "after",
    "n_markers",
)
SHOWN_OF_REFERENCE = (
    "paper_id",
    "ref_id",
    "raw",
    "title",
    "abstract",
    "text",
    "authors",
    "year",
    "venue",
    "doi",
    "arxiv_ids",
    "openalex_id",
)
SHOWN_OF_INLINK = ("ref_id", "citing", "before", "sentence", "after")


@dataclass(frozen=True, kw_only=True)
class Resolution(records.Collection):
    """The parsed collection of contexts and references.

    ``gold`` contains candidate numbers, which are positions in the reference list of
    the context's paper. Human annotators assigned the zones of the contexts.
    """

    candidates: Mapping[str, tuple[str, ...]]
    #: `choices` is the number of candidates of each context.
    choices: NDArray[np.int32]
    citing_papers: "CitingPapers | None"

    def with_candidates(self, gold: Lists, index: Index) -> Self:
        papers = (paper for (paper,) in self.papers)
        paper_of_pool = dict(zip(index["pool_of"], papers, strict=True))
        ordered = {
            paper: tuple(index["pools"][pool]) for pool, paper in paper_of_pool.items()
        }
        return replace(self, gold=gold, candidates={**self.candidates, **ordered})


def read_gold(files: Files, options: Options) -> Split:
    """Read the gold (cited references) of a split. Contexts whose cited references are
    all missing from the reference list are left out.

    Raises InputRefused with all problems.
    """
    problems: list[Problem] = []
    candidates = read_candidates(files, problems)
    disciplines: dict[str, str | None] = {}
    for rows in (records.Rows(file, problems) for file in records.named(files, PAPERS)):
        for record in rows:
            if paper := rows.name(record, "paper_id"):
                disciplines[paper] = records.label(record, "discipline")
    reader = _ResolutionContextsReader(candidates, disciplines)
    file = records.the_file(files, CONTEXTS, "the contexts")
    reader.read(records.Rows(file, problems))
    if not reader.ids and not problems:
        problems.append(file.problem("no context cites a reference of its paper"))
    tested = set(reader.paper_of)
    for rows in (
        records.Rows(file, problems) for file in records.named(files, INLINKS)
    ):
        for record in rows:
            citing, cited = rows.name(record, "citing"), rows.name(record, "ref_id")
            # Sentences of test papers are refused, since they reveal the gold.
            if citing in tested:
                rows.wrong(
                    f"“{citing}”, which cites “{cited}” here, is a paper under test"
                )
    citing_papers = read_citing_papers(files, problems)
    refuse(problems)
    # The order of a paper's candidates breaks ties between equal scores.
    # The digest under rule 1 therefore depends on the order of candidates.
    others = [
        records.canonical(
            sorted([paper, list(ids)] for paper, ids in candidates.items())
        )
    ]
    unordered = [
        records.canonical(
            sorted([paper, sorted(ids)] for paper, ids in candidates.items())
        )
    ]
    if citing_papers is not None:
        others.append(citing_papers.digest)
        unordered.append(citing_papers.digest)
    notes = [
        f"{reader.unresolvable} contexts cite no reference of their paper and are left out"
    ]
    return Split(
        content=reader.resolution(citing_papers),
        instances=len(reader.ids),
        rows=len(reader.ids) + reader.unresolvable,
        index=_make_candidates_index(reader.ids, reader.paper_of, candidates),
        digest=records.sorted_digest(reader.facts_by_name, *unordered),
        earlier_digests={1: reader.facts_digest(*others)},
        notes=tuple(notes) if reader.unresolvable else (),
    )


def instance_names(file: InputFile, of_file: Sequence[Record]) -> Iterator[str | None]:
    return (
        str(record.value["context_id"]) if "context_id" in record.value else None
        for record in of_file
    )


def read_candidates(
    files: Files, problems: list[Problem]
) -> dict[str, tuple[str, ...]]:
    """Return the distinct references of each citing paper, in the order of the file."""
    candidates: dict[str, dict[str, None]] = {}
    rows = records.Rows(
        records.the_file(files, REFERENCES, "each paper's references"), problems
    )
    for record in rows:
        paper, reference = rows.name(record, "paper_id"), rows.name(record, "ref_id")
        if paper is not None and reference is not None:
            candidates.setdefault(paper, {})[reference] = None
    return {paper: tuple(ids) for paper, ids in candidates.items()}


def read_inputs(files: Files, options: Options) -> Index:
    """Build the index, which validates runs, from the public inputs."""
    problems: list[Problem] = []
    candidates = read_candidates(files, problems)
    contexts: dict[str, str] = {}
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), problems)
    for record in rows:
        name, paper = rows.name(record, "context_id"), rows.name(record, "paper_id")
        if name is not None and paper is not None:
            contexts[name] = paper
    refuse(problems)
    return _make_candidates_index(list(contexts), list(contexts.values()), candidates)


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the contexts without gold, and the reference lists of their papers.
    Contexts without a resolvable reference are left out.
    """
    candidates = read_candidates(files, [])
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])

    def can_be_resolved(record: Mapping[str, Any]) -> bool:
        own = candidates.get(str(record["paper_id"]), ())
        return not set(rows.cited(record, "gold", own) or ()).isdisjoint(own)

    yield CONTEXTS, records.shown_lines(filter(can_be_resolved, rows), SHOWN)
    references = records.Rows(
        records.the_file(files, REFERENCES, "each paper's references"), []
    )
    yield REFERENCES, records.shown_lines(references, SHOWN_OF_REFERENCE)
    for file in records.named(files, INLINKS):
        yield INLINKS, records.shown_lines(records.Rows(file, []), SHOWN_OF_INLINK)


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        cited = sorted(rows.names(record, "gold") or ())
        yield [record.get(name) for name in ("before", "sentence", "after")], cited


def unreachable(files: Files, split: Split) -> Iterator[str]:
    """Yield cited papers that are not among the references of the context's paper."""
    candidates = {
        paper: set(names) for paper, names in split.content.candidates.items()
    }
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        own = candidates.get(str(record["paper_id"]), set())
        for name in rows.cited(record, "gold", own) or ():
            if name not in own:
                yield f"{record['context_id']}: {name}"


def _make_candidates_index(
    ids: Sequence[str],
    paper_of: Sequence[str],
    candidates: Mapping[str, tuple[str, ...]],
) -> Index:
    papers = {paper: number for number, paper in enumerate(dict.fromkeys(paper_of))}
    pools = [candidates.get(paper, ()) for paper in papers]
    return index_of(ids, pools, [papers[paper] for paper in paper_of])


class _ResolutionContextsReader(records.ContextsBuilder):
    def __init__(
        self,
        candidates: Mapping[str, tuple[str, ...]],
        disciplines: Mapping[str, str | None],
    ) -> None:
        super().__init__({"section": records.SECTIONS, "zone": (), "discipline": ()})
        self._candidates, self._disciplines = candidates, disciplines
        self.paper_of: list[str] = []
        self.facts_by_name = bytearray()
        self.unresolvable = 0

    def read(self, rows: records.Rows) -> None:
        seen: set[str] = set()
        paper = ""
        numbers: dict[str, int] = {}
        for record in rows:
            name, citing = (
                rows.name(record, "context_id"),
                rows.name(record, "paper_id"),
            )
            own = self._candidates.get(citing or "", ())
            cited = rows.cited(record, "gold", own)
            if name is None or citing is None or cited is None:
                continue
            if name in seen:
                rows.wrong(f"context “{name}” stands here a second time")
            seen.add(name)
            if citing != paper:
                # The paper's references are encoded once for all contexts of the paper.
                paper = citing
                numbers = {
                    candidate: n
                    for n, candidate in enumerate(self._candidates.get(paper, ()))
                }
            gold = [numbers[reference] for reference in cited if reference in numbers]
            if not gold:
                self.unresolvable += 1
                continue
            section = records.section_class(records.label(record, "section"))
            discipline = self._disciplines.get(paper)
            zone = records.label(record, "zone")
            classes = zip(self.numbers, (section, zone, discipline), strict=True)
            others = [section, discipline, *([zone] if zone else [])]
            facts = [name, paper, gold, *others]
            resolved = [reference for reference in cited if reference in numbers]
            by_name = records.canonical([name, paper, resolved, *others])
            self.facts_by_name += records.digest_of(by_name)
            self.paper_of.append(paper)
            codes = [[own[label]] for own, label in classes]
            self.add(
                [name],
                [paper],
                gold,
                [len(gold)],
                codes,
                [records.canonical(facts).decode()],
            )

    def resolution(self, citing_papers: "CitingPapers | None") -> Resolution:
        sizes = (len(self._candidates[paper]) for paper in self.paper_of)
        return Resolution(
            **self.columns(),
            candidates=self._candidates,
            choices=np.fromiter(sizes, dtype=np.int32),
            citing_papers=citing_papers,
        )


@dataclass(frozen=True)
class CitingPapers:
    """The papers that cite each candidate, from the citation graph of the collection.
    ``digest`` is the digest of the sorted citation edges.
    """

    papers: dict[str, frozenset[str]]
    digest: bytes

    def cocited(self, first: str, second: str, *, without: str) -> float:
        """Return the co-citation probability, which is the number of papers that cite
        both candidates, divided by the number of papers that cite at least one.

        The paper ``without``, which is the paper of the context, is not counted. The
        co-citation probability of a candidate with itself is 1. The co-citation
        probability is 0 if no counted paper cites either candidate.
        """
        if first == second:
            return 1.0
        one = self.papers.get(first, frozenset()) - {without}
        other = self.papers.get(second, frozenset()) - {without}
        either = len(one | other)
        return len(one & other) / either if either else 0.0


def read_citing_papers(files: Files, problems: list[Problem]) -> CitingPapers | None:
    """Read the citation graph from JSON lines with the keys `citing` and `cited`.
    Return None if the gold files contain no citation graph.
    """
    cites: dict[str, set[str]] = {}
    for rows in (
        records.Rows(file, problems) for file in records.named(files, CITATIONS)
    ):
        for record in rows:
            citing, cited = rows.name(record, "citing"), rows.name(record, "cited")
            if citing is not None and cited is not None:
                cites.setdefault(cited, set()).add(citing)
    if not cites:
        return None
    edges = json.dumps(
        [[cited, sorted(citing)] for cited, citing in sorted(cites.items())]
    )
    papers = {cited: frozenset(citing) for cited, citing in cites.items()}
    return CitingPapers(papers, records.digest_of(edges.encode()))


def topics(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.Rows(records.the_file(files, CONTEXTS, "the contexts"), []):
        yield str(record["context_id"]), text_of_topic(record)


def documents(files: Files) -> Iterator[tuple[str, str]]:
    """Yield each document once, with the text of its first record."""
    seen = set()
    for record in records.Rows(
        records.the_file(files, REFERENCES, "each paper's references"), []
    ):
        name = _format_document_id(record["paper_id"], record["ref_id"])
        if name not in seen:
            seen.add(name)
            yield name, text_of_document(record)


def candidates(files: Files) -> Iterator[tuple[str, Sequence[str]]]:
    of_papers = read_candidates(files, [])
    for record in records.Rows(records.the_file(files, CONTEXTS, "the contexts"), []):
        paper = str(record["paper_id"])
        yield (
            str(record["context_id"]),
            [_format_document_id(paper, name) for name in of_papers.get(paper, ())],
        )


def qrels(files: Files) -> Iterator[tuple[str, str, int]]:
    """Yield a relevance judgement for each cited paper that is in the reference list of
    the context's paper.
    """
    of_papers = read_candidates(files, [])
    rows = records.Rows(records.the_file(files, CONTEXTS, "the contexts"), [])
    for record in rows:
        paper = str(record["paper_id"])
        own = set(of_papers.get(paper, ()))
        for name in rows.cited(record, "gold", own) or []:
            if name in own:
                yield str(record["context_id"]), _format_document_id(paper, name), 1


def _format_document_id(paper: object, reference: object) -> str:
    return f"{paper}/{reference}"


#: A paper of the published test set has at least eight references in the collection.
MIN_CANDIDATES = 8

GROUPS = ("1", "2", "3", "4 or more")
CHOICES = ("1 to 9", "10 to 19", "20 to 49", "50 to 99", "100 or more")
CHOICE_BOUNDS = (10, 20, 50, 100)


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[RankedRun, list[Problem]]:
    """Return the rankings of a run, and all problems of the files.

    The order of the run's answers is the ranking. If the order comes from scores, equal
    scores are ordered by candidate number.
    """
    limits = RunLimits(ties_by_candidate=True)
    return read_with_tables(
        files, RANKED_TABLE, lambda lines: read_ranked_run(lines, index, limits)
    )


def pair(split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
    """Return one row of gold and answer per context (text around a citation). A context
    may contain a group of several citations.

    The citing paper is the resampling unit, since all its contexts have the same
    candidates. The official rules use only papers with at least eight candidates.
    """
    resolution: Resolution = split.content
    rows: NDArray[np.intp] = np.arange(split.instances)
    if rules == OFFICIAL:
        rows = np.flatnonzero(resolution.choices >= MIN_CANDIDATES)
        resolution = replace(
            resolution,
            ids=[resolution.ids[row] for row in rows.tolist()],
            gold=resolution.gold.take(rows),
            papers=resolution.papers.take(rows),
            classes={
                name: column.take(rows) for name, column in resolution.classes.items()
            },
            choices=resolution.choices[rows],
        )
    answers = run.lists.take(rows)
    sizes = np.minimum(resolution.gold.lengths, len(GROUPS)) - 1
    features = {
        "group_size": Classes(GROUPS, sizes.astype(np.int32)),
        "candidates": Classes(
            CHOICES, np.digitize(resolution.choices, CHOICE_BOUNDS).astype(np.int32)
        ),
        **resolution.classes,
    }
    return Pairs(
        gold=resolution.gold,
        answers=Resolutions(answers, cocited_probabilities(resolution, answers)),
        units=resolution.papers,
        features={
            name: classes for name, classes in features.items() if not classes.is_empty
        },
        names=resolution.ids,
        scores=run.scores,
        notes={
            **RankedRun(answers, run.ties).notes,
            "tied_at_cut": tied_at_cut(resolution.gold, answers),
            "contexts_left_out": split.instances - len(rows),
        },
    )


class Resolutions(Lists):
    """The run's ranking of candidates for each context. ``cocited`` contains
    co-citation probabilities, or NaN without a citation graph.
    """

    def __init__(self, lists: Lists, cocited: NDArray[np.float64]) -> None:
        super().__init__(lists.values, lists.offsets, lists.present, lists.tied)
        self.cocited = cocited


def cocited_probabilities(
    resolution: Resolution, answers: Lists
) -> NDArray[np.float64]:
    """Return for each context the mean co-citation probability of the first n answers
    and the n cited references.

    The source is “Context-aware Citation Recommendation” by He and others (WWW 2010). A
    missing answer has co-citation probability 0.
    """
    graph = resolution.citing_papers
    if graph is None:
        return np.full(len(answers), np.nan)
    chances = np.zeros(len(answers))
    for row, (gold, ranked) in enumerate(zip(resolution.gold, answers, strict=True)):
        paper = resolution.papers[row][0]
        names = resolution.candidates[paper]
        wanted = [names[number] for number in gold or ()]
        first = [names[number] for number in (ranked or ())[: len(wanted)]]
        shares = [
            graph.cocited(one, other, without=paper)
            for one in first
            for other in wanted
        ]
        chances[row] = sum(shares) / len(wanted) ** 2
    return chances


def tied_at_cut(gold: Lists, answers: Lists) -> int:
    """Count the contexts in which tied scores may decide which candidates are among the
    first n, where n is the number of cited references.
    """
    if answers.tied is None or not len(answers.values):
        return 0
    cut = gold.lengths
    reached = answers.lengths >= cut
    places = np.where(reached, answers.offsets[:-1] + cut - 1, 0)
    is_tied = answers.tied[places]
    followed = answers.lengths > cut
    is_tied |= followed & answers.tied[np.minimum(places + 1, len(answers.values) - 1)]
    return int((reached & is_tied).sum())
