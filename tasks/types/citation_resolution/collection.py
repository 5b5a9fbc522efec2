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
    CITATION_GRAPH_FILE_NAME,
    CONTEXTS_FILE_NAME,
    INLINKS_FILE_NAME,
    PAPERS_FILE_NAME,
    REFERENCES_FILE_NAME,
)
from tasks.types.columns import ClassColumn
from tasks.types.files import Files, InputFile
from tasks.types.jsonlines import JsonRecord
from tasks.types.problems import Problem, raise_if_any_problem_is_fatal
from tasks.types.ranking import records
from tasks.types.ranking.lists import ListColumn, build_ranking_index
from tasks.types.ranking.runs import RankedRun, RankingReadingSettings, read_ranked_run
from tasks.types.run_forms import RANKED_RUN_COLUMNS, get_document_text, get_topic_text
from tasks.types.tables import read_run_with_tables

#: The fields in `PUBLIC_FIELDS` of a context, a reference and a paper are public.
#: Fields of the gold files that are not in `PUBLIC_FIELDS` are secret or unused.
PUBLIC_FIELDS = (
    "context_id",
    "paper_id",
    "section",
    "before",
    "sentence",
    "after",
    "n_markers",
)
PUBLIC_REFERENCE_FIELDS = (
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
PUBLIC_INLINK_FIELDS = ("ref_id", "citing", "before", "sentence", "after")


@dataclass(frozen=True, kw_only=True)
class ResolutionCollection(records.CitationContextCollection):
    """The parsed collection of contexts and references.

    ``gold`` contains candidate numbers, which are positions in the reference list of
    the context's paper. Human annotators assigned the zones of the contexts.
    """

    candidates: Mapping[str, tuple[str, ...]]
    #: `choices` is the number of candidates of each context.
    choices: NDArray[np.int32]
    citing_papers: "CitingPapersByCandidate | None"

    def with_reordered_candidates(self, gold: ListColumn, index: Index) -> Self:
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
    candidates = read_references_of_papers(files, problems)
    disciplines: dict[str, str | None] = {}
    for rows in (
        records.ValidatedRecords(file, problems)
        for file in records.select_files_named(files, PAPERS_FILE_NAME)
    ):
        for record in rows:
            if paper := rows.name(record, "paper_id"):
                disciplines[paper] = records.convert_class_to_text(record, "discipline")
    reader = _ResolutionContextsReader(candidates, disciplines)
    file = records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts")
    reader.read(records.ValidatedRecords(file, problems))
    if not reader.ids and not problems:
        problems.append(file.make_problem("no context cites a reference of its paper"))
    tested = set(reader.paper_of)
    for rows in (
        records.ValidatedRecords(file, problems)
        for file in records.select_files_named(files, INLINKS_FILE_NAME)
    ):
        for record in rows:
            citing, cited = rows.name(record, "citing"), rows.name(record, "ref_id")
            # Sentences of test papers are refused, since they reveal the gold.
            if citing in tested:
                rows.wrong(
                    f"“{citing}”, which cites “{cited}” here, is a paper under test"
                )
    citing_papers = read_citing_papers(files, problems)
    raise_if_any_problem_is_fatal(problems)
    # The order of a paper's candidates breaks ties between equal scores.
    # The digest under rule 1 therefore depends on the order of candidates.
    others = [
        records.encode_canonical_json(
            sorted([paper, list(ids)] for paper, ids in candidates.items())
        )
    ]
    unordered = [
        records.encode_canonical_json(
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
        content=reader.build_collection(citing_papers),
        instances=len(reader.ids),
        rows=len(reader.ids) + reader.unresolvable,
        index=_make_candidates_index(reader.ids, reader.paper_of, candidates),
        digest=records.compute_digest_of_sorted_digests(
            reader.facts_by_name, *unordered
        ),
        earlier_digests={1: reader.compute_contexts_digest(*others)},
        notes=tuple(notes) if reader.unresolvable else (),
    )


def instance_names(
    file: InputFile, of_file: Sequence[JsonRecord]
) -> Iterator[str | None]:
    return (
        str(record.value["context_id"]) if "context_id" in record.value else None
        for record in of_file
    )


def read_references_of_papers(
    files: Files, problems: list[Problem]
) -> dict[str, tuple[str, ...]]:
    """Return the distinct references of each citing paper, in the order of the file."""
    candidates: dict[str, dict[str, None]] = {}
    rows = records.ValidatedRecords(
        records.get_single_file_named(
            files, REFERENCES_FILE_NAME, "each paper's references"
        ),
        problems,
    )
    for record in rows:
        paper, reference = rows.name(record, "paper_id"), rows.name(record, "ref_id")
        if paper is not None and reference is not None:
            candidates.setdefault(paper, {})[reference] = None
    return {paper: tuple(ids) for paper, ids in candidates.items()}


def read_inputs(files: Files, options: Options) -> Index:
    """Build the index, which validates runs, from the public inputs."""
    problems: list[Problem] = []
    candidates = read_references_of_papers(files, problems)
    contexts: dict[str, str] = {}
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"),
        problems,
    )
    for record in rows:
        name, paper = rows.name(record, "context_id"), rows.name(record, "paper_id")
        if name is not None and paper is not None:
            contexts[name] = paper
    raise_if_any_problem_is_fatal(problems)
    return _make_candidates_index(list(contexts), list(contexts.values()), candidates)


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the contexts without gold, and the reference lists of their papers.
    Contexts without a resolvable reference are left out.
    """
    candidates = read_references_of_papers(files, [])
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )

    def can_be_resolved(record: Mapping[str, Any]) -> bool:
        own = candidates.get(str(record["paper_id"]), ())
        return not set(rows.read_cited_ids(record, "gold", own) or ()).isdisjoint(own)

    yield (
        CONTEXTS_FILE_NAME,
        records.format_public_lines(filter(can_be_resolved, rows), PUBLIC_FIELDS),
    )
    references = records.ValidatedRecords(
        records.get_single_file_named(
            files, REFERENCES_FILE_NAME, "each paper's references"
        ),
        [],
    )
    yield (
        REFERENCES_FILE_NAME,
        records.format_public_lines(references, PUBLIC_REFERENCE_FIELDS),
    )
    for file in records.select_files_named(files, INLINKS_FILE_NAME):
        yield (
            INLINKS_FILE_NAME,
            records.format_public_lines(
                records.ValidatedRecords(file, []), PUBLIC_INLINK_FIELDS
            ),
        )


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )
    for record in rows:
        cited = sorted(rows.names(record, "gold") or ())
        yield [record.get(name) for name in ("before", "sentence", "after")], cited


def unreachable(files: Files, split: Split) -> Iterator[str]:
    """Yield cited papers that are not among the references of the context's paper."""
    candidates = {
        paper: set(names) for paper, names in split.content.candidates.items()
    }
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )
    for record in rows:
        own = candidates.get(str(record["paper_id"]), set())
        for name in rows.read_cited_ids(record, "gold", own) or ():
            if name not in own:
                yield f"{record['context_id']}: {name}"


def _make_candidates_index(
    ids: Sequence[str],
    paper_of: Sequence[str],
    candidates: Mapping[str, tuple[str, ...]],
) -> Index:
    papers = {paper: number for number, paper in enumerate(dict.fromkeys(paper_of))}
    pools = [candidates.get(paper, ()) for paper in papers]
    return build_ranking_index(ids, pools, [papers[paper] for paper in paper_of])


class _ResolutionContextsReader(records.CitationContextsBuilder):
    def __init__(
        self,
        candidates: Mapping[str, tuple[str, ...]],
        disciplines: Mapping[str, str | None],
    ) -> None:
        super().__init__(
            {"section": records.SECTION_CLASSES, "zone": (), "discipline": ()}
        )
        self._candidates, self._disciplines = candidates, disciplines
        self.paper_of: list[str] = []
        self.facts_by_name = bytearray()
        self.unresolvable = 0

    def read(self, rows: records.ValidatedRecords) -> None:
        seen: set[str] = set()
        paper = ""
        numbers: dict[str, int] = {}
        for record in rows:
            name, citing = (
                rows.name(record, "context_id"),
                rows.name(record, "paper_id"),
            )
            own = self._candidates.get(citing or "", ())
            cited = rows.read_cited_ids(record, "gold", own)
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
            section = records.classify_section_title(
                records.convert_class_to_text(record, "section")
            )
            discipline = self._disciplines.get(paper)
            zone = records.convert_class_to_text(record, "zone")
            classes = zip(self.numbers, (section, zone, discipline), strict=True)
            others = [section, discipline, *([zone] if zone else [])]
            facts = [name, paper, gold, *others]
            resolved = [reference for reference in cited if reference in numbers]
            by_name = records.encode_canonical_json([name, paper, resolved, *others])
            self.facts_by_name += records.compute_sha256_of_parts(by_name)
            self.paper_of.append(paper)
            codes = [[own[label]] for own, label in classes]
            self.add(
                [name],
                [paper],
                gold,
                [len(gold)],
                codes,
                [records.encode_canonical_json(facts).decode()],
            )

    def build_collection(
        self, citing_papers: "CitingPapersByCandidate | None"
    ) -> ResolutionCollection:
        sizes = (len(self._candidates[paper]) for paper in self.paper_of)
        return ResolutionCollection(
            **self.columns(),
            candidates=self._candidates,
            choices=np.fromiter(sizes, dtype=np.int32),
            citing_papers=citing_papers,
        )


@dataclass(frozen=True)
class CitingPapersByCandidate:
    """The papers that cite each candidate, from the citation graph of the collection.
    ``digest`` is the digest of the sorted citation edges.
    """

    papers: dict[str, frozenset[str]]
    digest: bytes

    def compute_cocitation_probability(
        self, first: str, second: str, *, without: str
    ) -> float:
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


def read_citing_papers(
    files: Files, problems: list[Problem]
) -> CitingPapersByCandidate | None:
    """Read the citation graph from JSON lines with the keys `citing` and `cited`.
    Return None if the gold files contain no citation graph.
    """
    cites: dict[str, set[str]] = {}
    for rows in (
        records.ValidatedRecords(file, problems)
        for file in records.select_files_named(files, CITATION_GRAPH_FILE_NAME)
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
    return CitingPapersByCandidate(
        papers, records.compute_sha256_of_parts(edges.encode())
    )


def topics(files: Files) -> Iterator[tuple[str, str]]:
    for record in records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    ):
        yield str(record["context_id"]), get_topic_text(record)


def documents(files: Files) -> Iterator[tuple[str, str]]:
    """Yield each document once, with the text of its first record."""
    seen = set()
    for record in records.ValidatedRecords(
        records.get_single_file_named(
            files, REFERENCES_FILE_NAME, "each paper's references"
        ),
        [],
    ):
        name = _format_document_id(record["paper_id"], record["ref_id"])
        if name not in seen:
            seen.add(name)
            yield name, get_document_text(record)


def candidates(files: Files) -> Iterator[tuple[str, Sequence[str]]]:
    of_papers = read_references_of_papers(files, [])
    for record in records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    ):
        paper = str(record["paper_id"])
        yield (
            str(record["context_id"]),
            [_format_document_id(paper, name) for name in of_papers.get(paper, ())],
        )


def qrels(files: Files) -> Iterator[tuple[str, str, int]]:
    """Yield a relevance judgement for each cited paper that is in the reference list of
    the context's paper.
    """
    of_papers = read_references_of_papers(files, [])
    rows = records.ValidatedRecords(
        records.get_single_file_named(files, CONTEXTS_FILE_NAME, "the contexts"), []
    )
    for record in rows:
        paper = str(record["paper_id"])
        own = set(of_papers.get(paper, ()))
        for name in rows.read_cited_ids(record, "gold", own) or []:
            if name in own:
                yield str(record["context_id"]), _format_document_id(paper, name), 1


def _format_document_id(paper: object, reference: object) -> str:
    return f"{paper}/{reference}"


#: A paper of the published test set has at least eight references in the collection.
MIN_REFERENCES_OF_TEST_PAPER = 8

CITATION_GROUP_CLASSES = ("1", "2", "3", "4 or more")
CANDIDATE_COUNT_CLASSES = ("1 to 9", "10 to 19", "20 to 49", "50 to 99", "100 or more")
CANDIDATE_COUNT_CLASS_BOUNDS = (10, 20, 50, 100)


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[RankedRun, list[Problem]]:
    """Return the rankings of a run, and all problems of the files.

    The order of the run's answers is the ranking. If the order comes from scores, equal
    scores are ordered by candidate number.
    """
    limits = RankingReadingSettings(ties_by_candidate=True)
    return read_run_with_tables(
        files, RANKED_RUN_COLUMNS, lambda lines: read_ranked_run(lines, index, limits)
    )


def pair(split: Split, run: RankedRun, rules: str, options: Options) -> Pairs:
    """Return one row of gold and answer per context (text around a citation). A context
    may contain a group of several citations.

    The citing paper is the resampling unit, since all its contexts have the same
    candidates. The official rules use only papers with at least eight candidates.
    """
    resolution: ResolutionCollection = split.content
    rows: NDArray[np.intp] = np.arange(split.instances)
    if rules == OFFICIAL:
        rows = np.flatnonzero(resolution.choices >= MIN_REFERENCES_OF_TEST_PAPER)
        resolution = replace(
            resolution,
            ids=[resolution.ids[row] for row in rows.tolist()],
            gold=resolution.gold.select_rows(rows),
            papers=resolution.papers.select_rows(rows),
            classes={
                name: column.select_rows(rows)
                for name, column in resolution.classes.items()
            },
            choices=resolution.choices[rows],
        )
    answers = run.lists.select_rows(rows)
    sizes = np.minimum(resolution.gold.list_lengths, len(CITATION_GROUP_CLASSES)) - 1
    features = {
        "group_size": ClassColumn(CITATION_GROUP_CLASSES, sizes.astype(np.int32)),
        "candidates": ClassColumn(
            CANDIDATE_COUNT_CLASSES,
            np.digitize(resolution.choices, CANDIDATE_COUNT_CLASS_BOUNDS).astype(
                np.int32
            ),
        ),
        **resolution.classes,
    }
    return Pairs(
        gold=resolution.gold,
        answers=RankingsWithCocitation(
            answers, compute_cocitation_probabilities(resolution, answers)
        ),
        units=resolution.papers,
        features={
            name: classes for name, classes in features.items() if not classes.is_empty
        },
        names=resolution.ids,
        scores=run.scores,
        notes={
            **RankedRun(answers, run.ties).notes,
            "tied_at_cut": count_contexts_tied_at_cutoff(resolution.gold, answers),
            "contexts_left_out": split.instances - len(rows),
        },
    )


class RankingsWithCocitation(ListColumn):
    """The run's ranking of candidates for each context. ``cocited`` contains
    co-citation probabilities, or NaN without a citation graph.
    """

    def __init__(self, lists: ListColumn, cocited: NDArray[np.float64]) -> None:
        super().__init__(lists.values, lists.offsets, lists.present, lists.tied)
        self.cocited = cocited


def compute_cocitation_probabilities(
    resolution: ResolutionCollection, answers: ListColumn
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
            graph.compute_cocitation_probability(one, other, without=paper)
            for one in first
            for other in wanted
        ]
        chances[row] = sum(shares) / len(wanted) ** 2
    return chances


def count_contexts_tied_at_cutoff(gold: ListColumn, answers: ListColumn) -> int:
    """Count the contexts in which tied scores may decide which candidates are among the
    first n, where n is the number of cited references.
    """
    if answers.tied is None or not len(answers.values):
        return 0
    cut = gold.list_lengths
    reached = answers.list_lengths >= cut
    places = np.where(reached, answers.offsets[:-1] + cut - 1, 0)
    is_tied = answers.tied[places]
    followed = answers.list_lengths > cut
    is_tied |= followed & answers.tied[np.minimum(places + 1, len(answers.values) - 1)]
    return int((reached & is_tied).sum())
