"""Write the data sheet of a diagnostic split, which has all rules and thresholds, and
counts of contexts before and after sampling.
"""

import platform
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from scoring.figures import Axis, BarChart, FigureValue, ValueSeries, as_svg
from scoring.offline.arguments import format_markdown_table
from scoring.tools.builders import classes
from scoring.tools.builders.season import write_data_sheet
from scoring.tools.builders.store import SQL, CorpusStore
from scoring.tools.builders.tagging import OTHER_TAGS_GROUP, TAGS_OF_GROUP

CARD_FILE, CHARTS_FOLDER = "card.md", "charts"


def write_data_sheet_and_charts(built: "BuiltSplit", folder: Path) -> None:
    (folder / CHARTS_FOLDER).mkdir(parents=True, exist_ok=True)
    for distribution in built.distributions:
        chart = (
            folder / CHARTS_FOLDER / f"{_make_chart_file_name(distribution.name)}.svg"
        )
        chart.write_text(draw_bar_chart(distribution), encoding="utf-8")
    tagged = {
        "pipeline": built.tagger,
        "groups": TAGS_OF_GROUP,
        "others": OTHER_TAGS_GROUP,
    }
    facts = {
        "corpus": {
            "form": built.form,
            **built.digest,
            **built.corpus,
            "licences": built.licences,
        },
        "rules": built.rules.as_dict(),
        "length_thresholds": asdict(built.thresholds),
        "parts_of_speech": tagged if built.tagger else None,
        "left_out": classes.counted(built.refused),
        **{
            name: getattr(built, name)
            for name in ("eligible", "selected", "candidates", "classes")
        },
        "distributions": [asdict(distribution) for distribution in built.distributions],
        "programs": {"sentences": built.sentences, "python": platform.python_version()},
    }
    write_data_sheet(folder, facts, _iterate_sheet_lines(built))
    lists = [
        (
            dimension,
            ", ".join(f"{label} {count:,}" for label, count in counts.items()),
            list_small_classes(counts),
        )
        for dimension, counts in built.classes.items()
    ]
    card = (
        f"{built.selected:,} contexts, drawn by rules that are shown here. {_describe_candidates(built)}\n",
        *format_markdown_table(("feature", "classes"), list_rule_rows(built)),
        *format_markdown_table(
            ("dimension", "contexts in each class", "small classes"), lists
        ),
    )
    (folder / CARD_FILE).write_text("\n".join(card), encoding="utf-8")


def _describe_candidates(built: "BuiltSplit") -> str:
    return f"Ranked are {classes.CANDIDATE_DESCRIPTIONS[built.rules.candidates]}: {built.candidates:,}."


def list_small_classes(counts: Mapping[str, int]) -> str:
    """Return the names of the classes that have less than half as many contexts as the
    largest class.
    """
    largest = max(counts.values())
    return ", ".join(
        f"{label}: {n:,} of {largest:,}"
        for label, n in counts.items()
        if 2 * n < largest
    )


def _iterate_sheet_lines(built: "BuiltSplit") -> Iterator[str]:
    rules = built.rules
    yield f"# Data sheet\n\n{built.selected:,} contexts of {built.eligible:,} that could be taken.\n"
    yield f"{_describe_candidates(built)}\n"
    yield "## Corpus\n"
    facts = [
        ("form", built.form),
        ("SHA-256", f"`{built.digest['sha256']}`"),
        *built.corpus.items(),
    ]
    yield from format_markdown_table(("", ""), facts)
    if set(built.licences) - {"None"}:
        yield from format_markdown_table(
            ("licence of the paper", "papers"), built.licences.items()
        )
    yield "## Left out\n"
    yield from format_markdown_table(
        ("why", "contexts"), classes.counted(built.refused).items()
    )
    yield "## Rules\n"
    rows = [*list_rule_rows(built), ("sentences", built.sentences)]
    if rules.every_context:
        rows.append(("sampling", "none: every context that could be taken"))
    else:
        number = f"{rules.per_stratum} in each"
        if rules.sampling == classes.OFFICIAL_SAMPLING:
            number = f"contexts of {rules.drawn} cited papers drawn, {rules.per_stratum} kept"
        rows.append(("strata", f"field, years, citation count group, class; {number}"))
        rows += [
            ("most contexts of a class", rules.most_per_class),
            ("seed", rules.seed),
        ]
    yield from format_markdown_table(("rule", "value"), rows)
    if not rules.every_context:
        yield f"{_SAMPLING_DESCRIPTION[rules.sampling]}\n"
        yield from format_markdown_table(
            ("dimension", "side conditions"), _list_side_conditions(built)
        )
    yield "## Classes\n"
    for dimension, counts in built.classes.items():
        yield from format_markdown_table((dimension, "contexts"), counts.items())
        if small := list_small_classes(counts):
            yield f"Less than half of the largest class: {small}.\n"
    yield "## Before and after\n"
    if built.tagger and not rules.every_context:
        yield "Parts of speech are known of contexts of medium length with the citation in the middle.\n"
    for distribution in built.distributions:
        chart = f"{CHARTS_FOLDER}/{_make_chart_file_name(distribution.name)}.svg"
        yield f"### {distribution.name}\n\n![{distribution.name}]({chart})\n"
        yield from format_markdown_table(
            ("class", "before", "after"), _iterate_distribution_rows(distribution)
        )


def _list_side_conditions(built: "BuiltSplit") -> list[tuple[str, str]]:
    still = classes.SIDE_CONDITIONS.items()
    conditions = {
        name: ", ".join(f"{k} {v}" for k, v in of.items()) for name, of in still
    }
    if "h_index_group" not in built.classes:
        del conditions["h_index_group"]
    if built.rules.sampling == classes.OFFICIAL_SAMPLING:
        of_others = conditions.keys() & {*classes.STRATUM_DIMENSIONS}
        conditions |= dict.fromkeys(of_others, "the contexts of the other sets")
    return [(name, words or "none") for name, words in conditions.items()]


def _iterate_distribution_rows(
    distribution: "FeatureDistribution",
) -> Iterator[tuple[str, ...]]:
    sides = (distribution.before, distribution.after)
    sums = [sum(side.values()) or 1 for side in sides]
    for label in distribution.before:
        pair = [side.get(label, 0) for side in sides]
        if distribution.is_mean:
            cells = [f"{mean:,.1f}" for mean in pair]
        else:
            cells = [
                f"{int(n):,} ({n / total:.1%})"
                for n, total in zip(pair, sums, strict=True)
            ]
        yield label, *cells


_SAMPLING_DESCRIPTION = {
    classes.EACH_DIMENSION_SAMPLING: "Each dimension is sampled on its own, while other features stay still:",
    classes.OFFICIAL_SAMPLING: "Each set is sampled while other features stay still, "
    "and no context stands in two of them; other sets are made of the contexts of these:",
}


def list_rule_rows(built: "BuiltSplit") -> list[tuple[str, object]]:
    rules, thresholds = built.rules, built.thresholds
    length = f"short below {thresholds.low:.4f}, long above {thresholds.high:.4f} white-space tokens"
    if thresholds.mean is not None:
        length += (
            f": mean {thresholds.mean:.4f} -/+ standard deviation {thresholds.deviation:.4f} of "
            f"{thresholds.sentences:,} sentences; {thresholds.dropped:,} beyond z {rules.outlier_z:g} dropped"
        )
    low, high = rules.location_bounds
    years = (
        f"{rules.first_year} to {rules.last_year} in groups of {rules.years_a_group}"
    )
    groups = f"{rules.citation_groups} equal groups within field and years; {rules.fewest_citations} or more"
    rows: list[tuple[str, object]] = [
        ("length", length),
        (
            "location",
            f"start up to {low:.4f} of the sentence's tokens, end beyond {high:.4f}",
        ),
        ("years of the cited paper", years),
        ("citation count", groups),
        ("field", f"of the {rules.field_of} paper"),
        (
            "low resource",
            f"fields with less than {rules.low_resource_share:.0%} of the papers",
        ),
        ("parts of speech", built.tagger or "not worked out"),
    ]
    if "h_index_group" in built.classes:
        h_index = f"highest of an author of the cited paper; {rules.h_index_groups} equal groups within field"
        rows.append(("h-index", h_index))
    return rows


def _make_chart_file_name(name: str) -> str:
    return re.sub(r"[^a-z]+", "-", name.lower()).strip("-")


#: The width in tokens of a bar in the chart of sentence lengths.
TOKENS_PER_BAR = 5
NO_CLASS_LABEL = "None"


@dataclass(frozen=True)
class FeatureDistribution:
    """The numbers of contexts, or the means, for each class of one feature. ``is_mean``
    is True if the numbers are means over contexts, and False if they are counts of
    contexts.
    """

    name: str
    before: Mapping[str, float]
    after: Mapping[str, float]
    is_mean: bool = False


def _make_class_reader(name: str) -> Callable[[sqlite3.Row], str]:
    return lambda row: NO_CLASS_LABEL if row[name] is None else str(row[name])


def _name_token_range(row: sqlite3.Row) -> str:
    first = row["n_tokens"] // TOKENS_PER_BAR * TOKENS_PER_BAR
    return f"{first:03d}-{first + TOKENS_PER_BAR - 1:03d}"


def _name_position_tenth(row: sqlite3.Row) -> str:
    tenth = min(int(row["position"] * 10), 9)
    return f"{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"


_CLASS_OF_FEATURE: Mapping[str, Callable[[sqlite3.Row], str]] = {
    "fields": _make_class_reader("field"),
    "years of the cited papers": _make_class_reader("year_group"),
    "citation count groups": _make_class_reader("citation_group"),
    "tokens in the sentence": _name_token_range,
    "position of the citation": _name_position_tenth,
    "context types": _make_class_reader("context_type"),
    "parts of speech before": _make_class_reader("pos_before"),
    "parts of speech after": _make_class_reader("pos_after"),
}
PART_OF_SPEECH_FEATURES = frozenset({"parts of speech before", "parts of speech after"})
PAPERS_CHART_NAME = "papers by field and years"
CITATIONS_CHART_NAME = "mean citations of the cited papers by field"


class _ContextCounts:
    def __init__(self) -> None:
        self.total = 0
        self.features: dict[str, Counter[str]] = {
            name: Counter() for name in _CLASS_OF_FEATURE
        }
        self._citations: Counter[str] = Counter()
        self._cited: Counter[str] = Counter()

    def add(self, row: sqlite3.Row) -> None:
        self.total += 1
        for name, label in _CLASS_OF_FEATURE.items():
            # Contexts without tags or without a word before the citation are skipped.
            if name not in PART_OF_SPEECH_FEATURES or label(row) != NO_CLASS_LABEL:
                self.features[name][label(row)] += 1
        if row["citations"] is not None:
            name = _make_class_reader("field")(row)
            self._citations[name] += row["citations"]
            self._cited[name] += 1

    def compute_mean_citations(self) -> dict[str, float]:
        return {
            name: self._citations[name] / count
            for name, count in sorted(self._cited.items())
        }


def _iterate_feature_distributions(
    before: _ContextCounts, after: _ContextCounts
) -> Iterator[FeatureDistribution]:
    for name, counts in before.features.items():
        if set(counts) - {NO_CLASS_LABEL}:
            labels = sorted(counts)
            sampled = after.features[name]
            yield FeatureDistribution(
                name,
                {label: counts[label] for label in labels},
                {label: sampled[label] for label in labels},
            )


def _count_papers_by_field(
    store: CorpusStore, rules: classes.SamplingRules
) -> FeatureDistribution:
    before: Counter[str] = Counter()
    after: Counter[str] = Counter()
    asked = {"cited": rules.field_of == "cited", "every": rules.every_context}
    for row in store.rows(SQL["datasheet: papers"], asked):
        label = f"{row['field']} {rules.format_year_group(row['year'])}"
        before[label] += row["before"]
        after[label] += row["after"]
    return FeatureDistribution(PAPERS_CHART_NAME, dict(before), dict(after))


def count_contexts(store: CorpusStore, built: "BuiltSplit") -> None:
    rules, before, after = built.rules, _ContextCounts(), _ContextCounts()
    is_everything = rules.every_context
    fixed = classes.CLASSES_ALWAYS_REPORTED
    by_class = {
        name: Counter(dict.fromkeys(fixed.get(name, ()), 0))
        for name in classes.SIDE_CONDITIONS
    }
    for row in store.rows(SQL["datasheet: rows"]):
        before.add(row)
        for dimension in classes.SIDE_CONDITIONS:
            if row[dimension] is not None and (
                dimension != "field" or row["low_resource"] is None
            ):
                by_class[dimension][row[dimension]] += 0
        if is_everything or row["sampled"] is not None:
            after.add(row)
        for dimension in (
            classes.SIDE_CONDITIONS
            if is_everything
            else (row["sampled"] or "").split(",")
        ):
            if dimension and row[dimension] is not None:
                by_class[dimension][row[dimension]] += 1
    built.distributions.extend(_iterate_feature_distributions(before, after))
    if means := before.compute_mean_citations():
        built.distributions.append(
            FeatureDistribution(
                CITATIONS_CHART_NAME,
                means,
                after.compute_mean_citations(),
                is_mean=True,
            )
        )
    papers = _count_papers_by_field(store, rules)
    if papers.before:
        built.distributions.append(papers)
    counted_classes = (
        (name, counts) for name, counts in by_class.items() if any(counts.values())
    )
    built.classes = {
        name: dict(sorted(counts.items())) for name, counts in counted_classes
    }
    built.eligible, built.selected = before.total, after.total


@dataclass(kw_only=True)
class BuiltSplit:
    form: str
    corpus: dict[str, int]
    licences: dict[str, int]
    #: The SHA-256 digest of the corpus, and the version of the rule for this digest.
    digest: Mapping[str, str | int]
    rules: classes.SamplingRules
    thresholds: classes.LengthThresholds
    refused: Counter[str]
    tagger: str
    sentences: str
    candidates: int = 0
    #: The distributions of features before and after sampling.
    distributions: list[FeatureDistribution] = field(default_factory=list)
    classes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    eligible: int = 0
    selected: int = 0


def draw_bar_chart(distribution: FeatureDistribution) -> str:
    sides = {"before": distribution.before, "after": distribution.after}
    totals = {
        word: 1 if distribution.is_mean else sum(side.values()) or 1
        for word, side in sides.items()
    }
    labels = list(distribution.before)
    series = [
        ValueSeries(
            name=word,
            values=[
                FigureValue(value=side.get(label, 0.0) / totals[word])
                for label in labels
            ],
        )
        for word, side in sides.items()
    ]
    axis = Axis(
        title="mean" if distribution.is_mean else "share of the contexts", has_zero=True
    )
    title = f"{distribution.name}, before and after selection"
    return as_svg(BarChart(title=title, labels=labels, series=series, axis=axis))
