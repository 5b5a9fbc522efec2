"""The options and metrics of cited reports."""

from pathlib import Path

from tasks.types.base import (
    ACCEPT_OPTION_NAME,
    CORRECTED,
    OFFICIAL,
    Option,
    OptionRefused,
    Options,
)
from tasks.types.cited_reports.judgements import (
    ASSIGNS_KIND,
    SUPPORTS_KIND,
    read_judge_of_ledger_file,
)
from tasks.types.cited_reports.tracks import (
    FINDING_CATEGORIES,
    NO_TRACK,
    TRACKS_BY_NAME,
)
from tasks.types.ledger import LEDGER_JUDGE_PREFIX
from tasks.types.references import make_metric_ref

TRACK_OPTION = Option(
    name="track",
    default=NO_TRACK,
    summary="The track whose rules a run must satisfy.",
    choices=tuple(TRACKS_BY_NAME),
)
ACCEPT_OPTION = Option(
    name=ACCEPT_OPTION_NAME,
    default="",
    summary="Categories of findings that are warnings here although the track refuses them, such as "
    "missing_topics,narrative.",
)
ASSIGNMENTS_OPTION = Option(
    name="assignments",
    default="",
    summary="A file of judgements that say which nuggets each report has: rows of kind assigns, or "
    "castorini's form. Judgements may also lie among the gold. On a site also store:JUDGE, the labels of "
    "that judge in the ledger, in place of all of these.",
    may_be_file=True,
    asks=ASSIGNS_KIND,
)
SUPPORTS_OPTION = Option(
    name="supports",
    default="",
    summary="A file of judgements that say whether cited documents support sentences: rows of kind supports. "
    "Judgements may also lie among the gold. On a site also store:JUDGE, the labels of that judge in the "
    "ledger, in place of all of these.",
    may_be_file=True,
    asks=SUPPORTS_KIND,
)
MAX_CITATIONS_OPTION = Option(
    name="max_citations",
    default="",
    summary="The most citations of a sentence that are judged, in the order given or, where they have "
    "scores, the highest first; the track's limit where nothing is said.",
)
OPTIONS = (
    TRACK_OPTION,
    ACCEPT_OPTION,
    ASSIGNMENTS_OPTION,
    SUPPORTS_OPTION,
    MAX_CITATIONS_OPTION,
)
#: `JUDGEMENT_KINDS_BY_OPTION` maps each option that names a file to the kind of judgements in the file.
JUDGEMENT_KINDS_BY_OPTION = {
    ASSIGNMENTS_OPTION.name: ASSIGNS_KIND,
    SUPPORTS_OPTION.name: SUPPORTS_KIND,
}


def get_ledger_judge_name(options: Options, option: str) -> str:
    """Return the judge of a site's ledger whose labels count, or an empty text. The
    option names the judge, or a file that a site wrote. Raises OptionRefused.
    """
    value = options.get(option, "")
    source, colon, name = value.partition(":")
    if source != LEDGER_JUDGE_PREFIX or not colon:
        return read_judge_of_ledger_file(Path(value)) if value else ""
    if not name:
        raise OptionRefused(
            f"option {option}={value}: expected {LEDGER_JUDGE_PREFIX}:JUDGE or a file"
        )
    return name


def has_ledger_labels(options: Options, option: str) -> bool:
    """Return True if the option takes labels from the ledger of a site."""
    return options.get(option, "").startswith(f"{LEDGER_JUDGE_PREFIX}:")


def parse_accepted_categories(options: Options) -> frozenset[str]:
    """Return the categories of findings that the option `accept` lists. Raises
    OptionRefused.
    """
    names = [name.strip() for name in options.get(ACCEPT_OPTION_NAME, "").split(",")]
    given = frozenset(filter(None, names))
    if unknown := sorted(given.difference(FINDING_CATEGORIES)):
        expected = f"expected some of {', '.join(FINDING_CATEGORIES)}"
        raise OptionRefused(f"option accept: no category “{unknown[0]}”; {expected}")
    return given


def max_citations(options: Options) -> int | None:
    """Return the maximum number of judged citations per sentence. Raises OptionRefused."""
    value = options.get(MAX_CITATIONS_OPTION.name, "")
    if not value:
        return TRACKS_BY_NAME[options.get(TRACK_OPTION.name) or NO_TRACK].max_citations
    if not value.isascii() or not value.isdigit() or not 0 < int(value[:9]) < 1000:
        raise OptionRefused(
            f"option max_citations={value}: expected a whole number from 1 to 999"
        )
    return int(value)


_NUGGET_METRICS = tuple(
    make_metric_ref(
        f"nuggets_{'strict_' if is_strict else ''}{scope}",
        "reports:NuggetScore",
        ASSIGNMENTS_OPTION.name,
        scope=scope,
        is_strict=is_strict,
    )
    for scope in ("vital", "all")
    for is_strict in (False, True)
)
_CITATION_OPTION_NAMES = (
    TRACK_OPTION.name,
    ACCEPT_OPTION_NAME,
    MAX_CITATIONS_OPTION.name,
    SUPPORTS_OPTION.name,
)
_CITATION_METRICS = (
    make_metric_ref(
        "citation_f1", "reports:CitationScore", *_CITATION_OPTION_NAMES, part="f1"
    ),
    *(
        make_metric_ref(
            f"citation_{part}{'_strict' if is_strict else ''}",
            "reports:CitationScore",
            *_CITATION_OPTION_NAMES,
            part=part,
            is_strict=is_strict,
        )
        for part in ("precision", "recall")
        for is_strict in (False, True)
    ),
)
_COVERAGE_AND_LENGTH_METRICS = (
    make_metric_ref("coverage", "reports:Coverage"),
    make_metric_ref("length_words", "reports:Length", column="words"),
    make_metric_ref("length_chars", "reports:Length", column="chars"),
)
RULES = {
    CORRECTED: (*_NUGGET_METRICS, *_CITATION_METRICS, *_COVERAGE_AND_LENGTH_METRICS),
    OFFICIAL: (*_NUGGET_METRICS, *_CITATION_METRICS, *_COVERAGE_AND_LENGTH_METRICS),
}
