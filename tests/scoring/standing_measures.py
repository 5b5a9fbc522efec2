"""What measures make of texts, of nothing and of what is awkward, as the file beside this says it.

    python -m tests.scoring.standing_measures

writes the file anew, for a change that is meant.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import dataclasses
import itertools
import json
import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from scoring.metrics import (
    calibration,
    clsumm,
    discourse,
    entailment,
    mauve,
    porter,
    ranking,
    rouge,
    rouge155,
    sacrebleu,
    select_instance_metrics,
)
from scoring.metrics.base import (
    Metric,
    WeightedMetric,
    build_unit_rows,
    compute_harmonic_mean,
    compute_metric_value,
    divide_or_zero,
    f1_of_counts,
    quotient,
)
from scoring.stats.jackknife import compute_intervals_or_reasons
from tasks.types import InputRefused
from tasks.types.forms.spans import SpansOfAnswer
from tasks.types.problems import SoftwareUnavailable
from tasks.types.ranking.lists import GradedListColumn, ListColumn
from tasks.types.ranking.runs import (
    RankingsWithProbabilities,
    StatedCandidateProbabilities,
)
from tasks.types.stored_judges import list_ledger_judges, replace_judges_by_label_files
from tests.scoring.standing_numbers import (
    DECLARED,
    digest,
    drawn,
    metrics_of_form,
    rounded,
    said,
    written,
)

FILE = Path(__file__).with_suffix(".json")
WORDS = [
    "the",
    "cat",
    "sat",
    "on",
    "a",
    "mat",
    "and",
    "cats",
    "were",
    "sitting;",
    "there",
    "again,",
    "well-known",
    "dogs",
    "ran",
    "(quickly)",
    "3.5",
    "times",
    "–",
    "œuvre",
    "naïve",
    "<skipped>",
    "&amp;",
    "e-mail",
    "x-\nray",
]


def _texts(draw: random.Random, count: int) -> list[str]:
    texts = [
        " ".join(draw.choices(WORDS, k=draw.choice((1, 3, 6, 12))))
        + draw.choice((".", "", "\nAnd again."))
        for _ in range(count)
    ]
    return ["", "...", "cat", *texts]


# Measures of the forms where there is nothing, one class alone, or an answer without gold.


def of_edges(form: str) -> Iterator[tuple[str, Any]]:
    gold, (run, other) = drawn(form, 12)
    for case, (wanted, answers) in _edges(form, gold, run, other).items():
        for metric in metrics_of_form(form):
            if case == "not ranked" and metric.name.startswith("bpref"):
                continue
            yield f"{case}: {metric.name}", _measured(metric, wanted, answers)


def _edges(form: str, gold: Any, run: Any, other: Any) -> dict[str, tuple[Any, Any]]:
    if form == "ranking":
        some = (
            ListColumn.of([(1, 2), (), None, (3,)]),
            ListColumn.of([(2,), (1,), (1,), None]),
        )
        judged = ListColumn.of([(1, 2, 5), (4,), (), (3, 6, 7)])
        graded = GradedListColumn(
            some[0], judged, np.array([2, 1, 0, 0, 1, 0, 0], dtype=np.int32)
        )
        long = ListColumn.of([(5, 9, 1, 2), (4, 1), (1,), (6, 7, 3)])
        return {
            "nothing": (gold[:0], run[:0]),
            "some": some,
            "graded": (graded, some[1]),
            "long": (graded, long),
        }
    none = [None] * len(gold)
    half = [own if place % 2 else None for place, own in enumerate(gold)]
    found = {
        "nothing": ([], []),
        "no answers": (gold, none),
        "one": (gold[:1], run[:1]),
        "alike": ([gold[0]] * 6, [run[0]] * 6),
    }
    if form == "spans":
        touching, beside = (
            SpansOfAnswer([(0, 1, "A"), (2, 3, "B")]),
            SpansOfAnswer([(1, 2, "A"), (3, 4, "B")]),
        )
        touching.text = beside.text = "a,b;c-d e"
        found["touching"] = ([touching] * 3, [beside, touching, SpansOfAnswer()])
        found["shifted"] = (
            gold,
            [_shifted(own, place % 3) for place, own in enumerate(gold)],
        )
    if form == "numbers":
        found["half way"] = (gold, [place % 8 / 2 for place in range(len(gold))])
    if form in ("labels", "several", "text"):
        found["answers without gold"] = (half, other)
    if form == "labels":
        found["one label wanted"] = (["a"] * 12, other)
        found["one label answered"] = (gold, [other[0]] * 12)
        found["no label of the task"] = (["z", *gold[1:]], other)
    return found


def _shifted(spans: SpansOfAnswer, by: int) -> SpansOfAnswer:
    own = SpansOfAnswer(
        (max(0, start - by), end + by // 2, label) for start, end, label in spans
    )
    own.text = spans.text
    return own


def _measured(metric: Metric, gold: Any, answers: Any) -> Any:
    stats = metric.instance_stats(gold, answers)
    units = np.arange(len(gold))
    rows = build_unit_rows(metric, stats, units)
    classes = None
    if not isinstance(metric, WeightedMetric):
        classes = [
            metric.of_class(stats[:2].sum(axis=0), stats.sum(axis=0)),
            metric.denominators(rows).tolist(),
        ]
    return [
        compute_metric_value(metric, stats, units), metric.instances(stats, np.ones(len(gold), dtype=bool)), metric.notes(stats), compute_intervals_or_reasons([(metric, rows)]),
        None if classes is None else [float(classes[0]), digest(classes[1])], metric.has_enough_units(rows),
    ]  # fmt: skip


# Texts.


def of_stems() -> Iterator[tuple[str, Any]]:
    stems = [
        "hop",
        "fil",
        "oper",
        "relat",
        "tr",
        "f",
        "agre",
        "conflat",
        "siz",
        "hiss",
        "pl",
        "vietnam",
        "s",
        "sk",
        "cry",
        "y",
        "by",
        "enj",
        "geo",
        "apo",
        "psych",
        "controll",
        "tall",
        "wax",
        "box",
        "fly",
        "rag",
        "adopt",
        "electr",
        "form",
        "depend",
        "commun",
        "b",
        "rea",
    ]
    suffixes = [suffix for suffix, _ in porter.STEP_2_RULES] + [
        "logi",
        "fulli",
        "icate",
        "ative",
        "alize",
        "iciti",
        "ical",
        "ful",
        "ness",
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "ou",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
        "ize",
        "sion",
        "tion",
        "ion",
        "s",
        "ss",
        "ies",
        "sses",
        "ied",
        "y",
        "ed",
        "eed",
        "ing",
        "e",
        "ll",
        "ee",
        "at",
        "bl",
        "iz",
        "d",
        "g",
        "dd",
        "lls",
        "zzed",
        "led",
        "ling",
    ]
    for suffix in suffixes:
        words = [f"{stem}{suffix}" for stem in stems]
        yield (
            suffix,
            [
                " ".join(map(stemmer, [word for word in words if len(word) > 3]))
                for stemmer in (porter.stem_as_rouge_score, porter.stem_as_rouge155)
            ],
        )
    short = [
        *porter.STEM_BY_IRREGULAR_WORD,
        "a",
        "is",
        "ion",
        "ally",
        "dies",
        "ties",
        "lies",
        "tied",
        "died",
        "yes",
        "ayed",
        "bled",
        "ing",
        "ings",
        "12s",
        "b2b",
        "aed",
        "oed",
    ]
    yield "irregular", " ".join(map(porter.stem_as_rouge_score, short))


def of_ngrams() -> Iterator[tuple[str, Any]]:
    draw = np.random.default_rng(1)
    for pairs, symbols, orders, longest in (
        (5, 3, 4, 9),
        (3, 1500, 6, 800),
        (1, 3000, 6, 1800),
        (40, 200, 4, 1200),
        (2, 5, 1, 3),
    ):
        lengths = draw.integers(0, longest + 1, (pairs, 2))
        numbers = draw.integers(0, symbols, int(lengths.sum()))
        numbers = np.where(draw.random(len(numbers)) < 0.5, numbers, numbers % 7) * (
            1 if symbols < 1000 else 1_000_003
        )
        counts = sacrebleu.count_ngrams_and_matches(numbers, lengths, orders)
        yield (
            f"{pairs} of {symbols}",
            [counts.shape, counts[0].tolist(), digest(counts.tolist())],
        )
    yield (
        "none",
        sacrebleu.count_ngrams_and_matches(
            np.zeros(0, dtype=np.int64), np.zeros((2, 2), dtype=np.int64), 2
        ).tolist(),
    )


def of_rouge() -> Iterator[tuple[str, Any]]:
    draw = random.Random(2)
    gold, answers = _texts(draw, 14), _texts(draw, 14)
    answers[5:9] = gold[5:9]
    for is_stemmed in (False, True):
        found = rouge.compute_rouge(
            gold, answers, ("1", "2", "l", "lsum"), is_stemmed=is_stemmed
        )
        for kind, scores in found.items():
            yield f"{kind} {'stemmed' if is_stemmed else 'plain'}", scores.tolist()
    yield (
        "of none",
        [
            own.shape
            for own in rouge.compute_rouge(
                [], [], ("1", "2", "l", "lsum"), is_stemmed=False
            ).values()
        ],
    )
    try:
        rouge.compute_rouge(["a"], [], is_stemmed=False)
    except ValueError as refused:
        yield "unequal", str(refused)
    many = [" ".join(draw.choices(WORDS, k=300)) for _ in range(4)]
    lined = [text.replace("again,", "again.\n").replace("on", "on\n") for text in many]
    yield (
        "long lines",
        {
            kind: own.tolist()
            for kind, own in rouge.compute_rouge(
                lined, lined[::-1], ("2", "lsum"), is_stemmed=True
            ).items()
        },
    )
    readings = {
        "plain": {}, "as they are": {"is_stemmed": False}, "stop words": {"stop_words": frozenset(("the", "on", "and"))}, "few words": {"most_words": 4}, "few bytes": {"most_bytes": 17},
        "exceptions": {"exceptions": {"were": "be", "sitting": "sit"}},
    }  # fmt: skip
    measures = [
        rouge155.RougeMeasure("n", 1),
        rouge155.RougeMeasure("n", 2),
        rouge155.RougeMeasure("n", 3),
        rouge155.RougeMeasure("l"),
        rouge155.RougeMeasure("s", rouge155.UNLIMITED_SKIP_DISTANCE),
        rouge155.RougeMeasure("s", 0),
        rouge155.RougeMeasure("s", rouge155.UNLIMITED_SKIP_DISTANCE, with_words=True),
        rouge155.RougeMeasure("s", 4, with_words=True),
    ]
    for case, given in readings.items():
        reading = rouge155.WordSplitting(**given)
        for references in (rouge155.SUM_OVER_REFERENCES, rouge155.BEST_REFERENCE):
            rows = []
            for place in range(len(gold) - 1):
                models = [gold[place].split("\n"), gold[place + 1].split("\n")]
                counts = rouge155.count_as_rouge155(
                    models,
                    answers[place].split("\n"),
                    measures,
                    reading=reading,
                    references=references,
                )
                rows.append(
                    [
                        [*counts[measure], *counts[measure].round_as_printed()]
                        for measure in measures
                    ]
                )
            yield f"1.5.5 {case} {references}", [rows[4], digest(rows)]
    yield (
        "digest",
        [
            rouge155.WordSplitting(stop_words=frozenset("ab")).stop_words_digest,
            rouge155.WordSplitting().stop_words_digest,
        ],
    )
    yield (
        "no models",
        [
            list(own)
            for own in rouge155.count_as_rouge155(
                [], ["a b"], measures, reading=rouge155.WordSplitting()
            ).values()
        ],
    )
    for first, second in itertools.product(
        ("", "a", "a b", "a b a c b", "c a a b"), repeat=2
    ):
        yield (
            f"skip {first} {second}",
            [
                list(
                    clsumm.count_skip_bigrams(
                        first.split(), second.split(), with_words=own
                    )
                )
                for own in (False, True)
            ],
        )
    weights = clsumm.draw_bootstrap_weights(3)
    yield "drawn", [weights.shape, weights[:3].tolist(), digest(weights.tolist())]


def of_bleu() -> Iterator[tuple[str, Any]]:
    draw = random.Random(3)
    gold, answers = _texts(draw, 10), _texts(draw, 10)
    answers[4:8] = [own + " cat" for own in gold[4:8]]
    gold_or_none = [None if place == 6 else own for place, own in enumerate(gold)]
    for metric in (
        sacrebleu.Bleu("bleu", "r"),
        sacrebleu.Chrf("chrf", "r"),
        sacrebleu.Chrf("chrf_words", "r", words=2),
    ):
        stats = metric.instance_stats(gold_or_none, [*answers[:-1], None])
        yield (
            metric.name,
            [
                metric.parameters["average"],
                metric.statistic,
                digest(stats.tolist()),
                metric.denominators(stats).tolist(),
                metric.instances(stats, None),
            ],
        )
        for rows in (
            stats,
            *(stats[place : place + 1] for place in range(len(stats))),
            metric.instance_stats([], []),
            metric.instance_stats(["x"], [""]),
        ):
            yield (
                f"{metric.name} of {len(rows)} rows: {digest(rows.tolist())}",
                float(metric.aggregate(rows.sum(axis=0))),
            )
    for text in (
        "a\u00e9b",
        "1,000.50 - 2-3",
        'it\'s (well) "so" &quot;x&quot; &lt;b&gt; a/b',
        "end-\nof line.  ",
        ".5 5. 5,x",
        "a-1 1-a",
    ):
        tokens = sacrebleu.TokenNumbersByWord()
        yield (
            f"tokens of {text}",
            [list(tokens[word]) for word in sacrebleu.split_into_13a_words(text)]
            + list(tokens._numbers),
        )


# Sentences and their labels.

PROSE = (
    "We use it. They do not! Do they? Yes.", "As in Fig. 3 we see. Cf. Smith et al. 2001. The end", "J. R. Smith wrote it. A. B. is short.", "It costs 3.5 dollars, etc. The rest is free, etc. and so on.",
    "“He left.” (She stayed.) [1] They met.", "See \ue000. And \ue000 follow.\ue000 Next one.", "no end here", "", "  blank . Around  ", "i.e. this. vs. that. Inc. Makes. ltd. makes", "Wait... What?! Really?? ok", "a.m. it rains. In the a.m. They left.",
    "Section (No. 3) holds. see (cf. A) too.", "Numbers. 12 follow. 3rd too. \\cite comes. $x$ too. {{m}} too. <b> too.", "An x" + "y" * 80 + ". Next.", "Ä. Öl is. Ωmega is. éa is.", "Dr. Who came. St. Paul. Eq. 3 holds.",
)  # fmt: skip


def of_sentences() -> Iterator[tuple[str, Any]]:
    for text in PROSE:
        spans = list(discourse.iterate_sentence_spans(text))
        yield f"spans of {text[:40]}", [spans, discourse.split_by_rules(text)]
        yield f"punkt of {text[:40]}", discourse.split_by_punkt(text)
        counted = [
            discourse.split_into_counted_sentences(
                text * 2
                + " We follow the parser of [0] here. The parser of [10] is old too.",
                "rules",
                marked_only=own,
            )
            for own in (False, True)
        ]
        yield f"counted of {text[:40]}", counted
    for pieces in (
        [],
        ["a al.", "b"],
        ["x et.", "y al.", "z"],
        ["e.g.", "i.e.", "q."],
        ["mal.", "b"],
        ["a et", "b"],
        ["t.", "et."],
    ):
        yield f"glued {pieces}", discourse.join_after_abbreviations(pieces)
    yield (
        "tokens",
        [discourse.count_tokens(own) for own in ("", "It isn't (so).", "a b c d e f")],
    )
    yield (
        "names",
        [
            discourse.format_splitter_name("rules"),
            discourse.format_splitter_name("nothing").partition("-")[0],
        ],
    )
    terms = {
        "words": ("parser", "tree", "the parser"),
        "characters": (" p", "pa", "tr"),
    }
    idf = {name: np.arange(1.0, len(own) + 1) for name, own in terms.items()}
    weights = np.array(
        [
            [1.0, -1, 0.5, 0.2, 0.1, -0.4],
            [-1.0, 1, 0.2, 0.1, 0, 0.3],
            [0, 0, 0, 0, 0, 0.1],
        ]
    )
    sentences = [
        "The parser of trees",
        "A tree",
        "nothing",
        "the parser the parser tree",
    ]
    with tempfile.TemporaryDirectory() as temporary:
        for labels, own, more in (
            ("ab", weights[:1], [0.1]),
            ("abc", weights, [0.0, 0.1, 0.05]),
        ):
            tagger = discourse.SentenceTagger(
                labels=tuple(labels),
                terms=terms,
                idf=idf,
                weights=own,
                intercepts=np.array(more),
            )
            place = Path(temporary) / labels
            tagger.save(place, {"made": "here"})
            manifest = json.loads((place / discourse.TAGGER_MANIFEST_FILE).read_text())
            again = discourse.SentenceTagger.load(place)
            yield (
                f"tagger of {labels}",
                [
                    tagger.tag(sentences),
                    again.tag(sentences),
                    tagger.digest == again.digest,
                    manifest["sha256"] == tagger.digest,
                    {**manifest, "sha256": ""},
                ],
            )
        for case, changed in _broken_taggers(terms, idf, weights).items():
            place = Path(temporary) / "broken"
            discourse.SentenceTagger(**changed).save(place, {})
            yield f"tagger with {case}", _loaded(place)
        for content in (
            "[]",
            '{"format": "x"}',
            '{"format": "citeboard-tagger-1", "sha256": "x"}',
            "{",
        ):
            (Path(temporary) / "abc" / discourse.TAGGER_MANIFEST_FILE).write_text(
                content
            )
            yield (
                f"manifest {content}",
                _loaded(Path(temporary) / "abc").replace(temporary, ""),
            )
        yield "no tagger", _loaded(Path(temporary) / "none").replace(temporary, "")


def _broken_taggers(terms: Any, idf: Any, weights: Any) -> dict[str, dict[str, Any]]:
    whole = {
        "labels": ("a", "b", "c"),
        "terms": terms,
        "idf": idf,
        "weights": weights,
        "intercepts": np.zeros(3),
    }
    return {
        "one label": {**whole, "labels": ("a",)}, "a label twice": {**whole, "labels": ("a", "b", "a")}, "few weights": {**whole, "weights": weights[:, :5]}, "few rows": {**whole, "weights": weights[:2]},
        "two labels": {**whole, "labels": ("a", "b")}, "few intercepts": {**whole, "intercepts": np.zeros(2)}, "a term twice": {**whole, "terms": {**terms, "words": ("tree", "tree", "x")}},
        "no terms": {**whole, "terms": {**terms, "words": ()}, "idf": {**idf, "words": np.zeros(0)}}, "few frequencies": {**whole, "idf": {**idf, "words": np.ones(2)}}, "nan": {**whole, "intercepts": np.array([0, math.nan, 0])},
        "whole numbers": {**whole, "intercepts": np.zeros(3, dtype=int)},
    }  # fmt: skip


def _loaded(place: Path) -> str:
    try:
        return discourse.SentenceTagger.load(place).digest[:6] and "fine"
    except SoftwareUnavailable as lacking:
        return str(lacking).replace(str(place), "")


def of_divergence() -> Iterator[tuple[str, Any]]:
    draw = random.Random(7)
    source = discourse.LabelSource
    for count in (1, 2, 6):
        sides = [
            tuple(None if draw.random() < 0.1 else discourse.SentenceLabels(draw.choices("abcz"[: 3 + side], k=draw.randint(0, 3)), draw.choice(list(source))) for side in (1, 0))
            for _ in range(count)
        ]  # fmt: skip
        names = [draw.choice(("lu", "abu")) for _ in range(count)]
        matrix = discourse.build_label_count_matrix(("a", "b", "c"), names, sides)
        counts = discourse.reshape_label_counts(matrix.sum(axis=0), 3)
        yield (
            f"counts of {count}",
            [
                matrix.shape,
                counts.tolist(),
                {
                    f"{side} {one.name}": number
                    for (side, one), number in discourse.count_texts_by_source(
                        matrix
                    ).items()
                },
            ],
        )
        published = discourse.compute_published_divergence(counts[:, 0], counts[:, 1])
        yield (
            f"published of {count}",
            [
                published.tolist(),
                discourse.compute_macro_average(counts[:, 0]).tolist(),
                discourse.compute_label_shares(counts).tolist(),
            ],
        )
        for metric in _divergences():
            yield (
                f"{metric.name} of {count}",
                [
                    float(metric.aggregate(matrix.sum(axis=0))),
                    float(metric.of_class(matrix[:2].sum(axis=0), matrix.sum(axis=0))),
                    metric.notes(matrix),
                ],
            )
    p, q = (
        np.array([[0.5, 0.5, 0], [1, 0, 0], [math.nan] * 3]),
        np.array([0.25, 0.75, 0]),
    )
    yield (
        "divergence",
        [
            discourse.compute_kl_divergence(p, q).tolist(),
            discourse.compute_kl_divergence(q, p).tolist(),
        ],
    )
    for metric in _divergences():
        yield (
            f"signed {metric.name}",
            [
                {
                    name: value
                    for name, value in metric.parameters.items()
                    if name != "sentences"
                },
                metric.needs_model,
                metric.statistic,
                metric.higher_is_better,
                [own.kind for own in metric.requirements()],
            ],
        )


def _divergences() -> list[Any]:
    options = {"intent_labels": "a,b,c", "discourse_labels": "supplied"}
    kinds = (
        discourse.Divergence,
        discourse.SmoothedDivergence,
        discourse.SuppliedDivergence,
        discourse.PublishedDivergence,
    )
    return [
        kind(kind.__name__, "r", scheme="intent", options=options) for kind in kinds
    ]


# Calibration, ranks, clusters and who entails what.


def of_numbers() -> Iterator[tuple[str, Any]]:
    for counts, confidence, right in (
        ([0, 0], [0, 0], [0, 0]),
        ([4, 0], [2, 0], [2, 0]),
        ([4, 9], [0.5, 8.5], [3, 2]),
        ([1, 50], [0.1, 40], [0, 41]),
        ([3, 3], [3.1, 0], [3, 0]),
    ):
        yield (
            f"p of {counts} {right}",
            calibration.compute_calibration_p_value(
                np.array([*counts, *confidence, *right])
            ),
        )
    for numerator, denominator in ((1, 0), (0, 0), (1, 4), (-1, 2)):
        yield (
            f"{numerator} over {denominator}",
            [
                float(divide_or_zero(numerator, denominator)),
                float(quotient(np.array(float(numerator)), np.array(denominator))),
                float(f1_of_counts(numerator, denominator, 2)),
                float(compute_harmonic_mean(numerator, denominator)),
            ],
        )
    lists = (
        ListColumn.of([(1, 2, 3), (4,), (), None, (7, 8)]),
        ListColumn.of([(9, 2, 1, 5), (5, 6), (1,), (2,), None]),
    )
    ranks = ranking.compute_ranks_of_gold(lists[0], lists[1])
    for cut in (1, 2, 3, 100):
        yield (
            f"measured at {cut}",
            ranking.compute_ranking_measures(ranks, lists[0], cut).tolist(),
        )
    try:
        ranking.number_candidates([["a"]], [["b"], ["a", "a"]])
    except ValueError as refused:
        yield "twice", str(refused)
    wanted, ranked = ranking.number_candidates(
        [["a", "a", "b"], None], [["b", "x"], []]
    )
    yield "numbered", [list(wanted), list(ranked)]
    generator = np.random.default_rng(4)
    for first, second in ((3, 3), (25, 31), (40, 22)):
        vectors = (
            generator.normal(size=(first, 6)),
            generator.normal(size=(second, 6)) + 0.5,
        )
        yield (
            f"clusters of {first} and {second}",
            [own.tolist() for own in mauve.cluster_jointly(*vectors)],
        )
    declared = StatedCandidateProbabilities()
    for row, logs in (
        (0, {1: -0.5, 2: -1.5}),
        (1, {4: -math.inf, 6: 0.0}),
        (2, {3: -0.1}),
    ):
        declared.add(row, logs)
    answers = RankingsWithProbabilities(
        ListColumn.of([(1, 2), (6,), (3,), None, ()]), declared, 9
    )
    perplexity = ranking.Perplexity("perplexity", "r")
    for rows in (
        [(1,), (4,), (3, 5), None, (7,)],
        [(1,), (2,), None, None, ()],
        [(2,), (6,), (), (1,), None],
    ):
        stats = perplexity.instance_stats(ListColumn.of(rows), answers)
        value = float(perplexity.aggregate(stats.sum(axis=0)))
        yield (
            f"perplexity of {rows}",
            [
                stats.tolist(),
                value,
                perplexity.instances(stats, np.ones(5, dtype=bool)),
            ],
        )
    none = perplexity.instance_stats(ListColumn.of([(1,)]), ListColumn.of([(1,)]))
    yield "perplexity without probabilities", none.tolist()
    for form in DECLARED:
        whole = metrics_of_form(form)
        fewer = [metric for metric in whole if "accuracy" not in metric.name]
        some = [
            [[own.name, own.statistic] for own in select_instance_metrics(part)]
            for part in (whole, fewer, [])
        ]
        yield f"of instances of {form}", some
    for shares in (
        (np.array([0.5, 0.5]), np.array([0.5, 0.5])),
        (np.array([1.0, 0.0]), np.array([0.0, 1.0])),
        (np.array([0.2, 0.8, 0]), np.array([0.3, 0.3, 0.4])),
    ):
        yield f"area {shares[0].tolist()}", mauve.compute_divergence_curve_area(*shares)
    centres, sizes = (
        np.arange(12, dtype=np.float32).reshape(4, 3),
        np.array([5, 0, 3, 0], dtype=np.float32),
    )
    mauve._refill_empty_clusters(centres, sizes, 8)
    yield "split", [centres.tolist(), sizes.tolist()]


def of_entailment() -> Iterator[tuple[str, Any]]:
    passages = ("rain falls often", "wind blows hard", "rain falls and wind blows")
    for judge in (entailment.UndecidingJudge(), entailment.WordOverlapJudge()):
        for hypothesis, places in itertools.product(
            ("rain falls", "wind blows and rain falls", "nothing is so"),
            ((0,), (0, 1), (1, 0, 2), (2, 2), (0, 0, 1)),
        ):
            case = entailment.CitedClaim(
                hypothesis, tuple(passages[place] for place in places)
            )
            [verdict] = entailment.decide_claims([case], judge)
            told = [
                verdict.entailed,
                verdict.credits,
                [digest(dataclasses.astuple(own)) for own in verdict.pending],
                len(verdict.next),
                verdict.alone,
                verdict.others,
                verdict.credit,
            ]
            yield f"{judge.name} {hypothesis} {places}", told
    yield (
        "words",
        [
            entailment.WordOverlapJudge().decide(
                [entailment.EntailmentPair("a b c", text)]
            )[0]
            for text in ("", "a b c d e", "a b x y", "A, B! c?")
        ],
    )
    good = {"premise": "p", "hypothesis": "h", "entailed": 1}
    for rows in LABELS:
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "labels.jsonl"
            path.write_text(
                "".join(
                    json.dumps(
                        {**good, **row}
                        if row.get("whole") is None
                        else {k: v for k, v in row.items() if k != "whole"}
                    )
                    + "\n"
                    for row in rows
                )
            )
            try:
                own = entailment.read_entailment_labels(path, shown="labels")
                kept = entailment.read_stored_labels(path)
                pairs = [
                    entailment.EntailmentPair("p", "h"),
                    entailment.EntailmentPair("q", "h"),
                    entailment.EntailmentPair("z", "h"),
                ]
                told = [
                    own.model,
                    len(own.entailed),
                    sorted(own.places.values()),
                    own.is_kept,
                    entailment.compute_labels_digest(own.entailed),
                    len(kept),
                    kept.model,
                    kept.name,
                    kept.decide(pairs),
                    [pair in kept for pair in pairs],
                ]
            except InputRefused as refused:
                told = said(refused.problems)
            yield f"labels {rows}", told
    yield (
        "line",
        entailment.build_label_record(
            entailment.EntailmentPair("p", "h"), entailed=True, model="m"
        ),
    )
    for value in ("", "none", "store:", "store:x", "labels:y"):
        yield (
            f"of {value}",
            [
                next(
                    (one.name for one in list_ledger_judges({"entailment": value})),
                    None,
                ),
                replace_judges_by_label_files(
                    {"entailment": value}, {"entailment": "f"}
                ),
            ],
        )


SHA1 = "22ea1c649c82946aa6e479e1ffd321e4a318b1b0"
LABELS: tuple[tuple[dict[str, Any], ...], ...] = (
    (), ({},), ({}, {"premise": "q", "entailed": 0}), ({}, {"entailed": 0}), ({"whole": 1, "model": "m"}, {}), ({"whole": 1, "model": "m", "kept": True}, {}), ({"whole": 1, "model": "m"},), ({"model": "a"}, {"premise": "q", "model": "b"}),
    ({"model": 3},), ({"premise_sha256": "x"},), ({"premise_sha256": "a" * 64},), ({"premise_sha1": SHA1},), ({"premise": 3},), ({"hypothesis": None},), ({"hypothesis": None, "hypothesis_sha256": 7},), ({"hypothesis": None, "hypothesis_sha256": "b" * 64},),
    ({"entailed": 2},), ({"entailed": None},), ({"entailed": "1"},), ({"entailed": True},), ({"whole": 1, "premise": "p", "claim": "h", "result": 0},), ({"entailed": 0.5},), ({"whole": 1, "premise": "p", "hypothesis_sha256": "a" * 64, "entailed": 1}, {}),
)  # fmt: skip

PARTS = {
    "stems": of_stems, "ngrams": of_ngrams, "rouge": of_rouge, "bleu": of_bleu, "sentences": of_sentences, "divergence": of_divergence, "numbers": of_numbers, "entailment": of_entailment,
    **{f"edges of {form}": lambda form=form: of_edges(form) for form in DECLARED},
}  # fmt: skip


def of_part(part: str) -> Any:
    return json.loads(json.dumps(rounded(dict(PARTS[part]()))))


if __name__ == "__main__":
    FILE.write_text(written({part: of_part(part) for part in PARTS}) + "\n")
