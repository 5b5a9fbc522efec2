"""What the built-in types make of drawn gold and runs that are larger than their samples, as the file beside
this says it.

    python -m tests.tasks.types.standing_types

writes the file anew, for a change that is meant.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import dataclasses
import hashlib
import itertools
import json
import random
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scoring.metrics import build_metrics
from scoring.offline.evaluate import IntervalSettings, evaluate_pairs
from tasks.types import InputRefused, task_types
from tasks.types.clsumm.citances import FACETS
from tasks.types.clsumm.pairs import iterate_sentence_outcomes
from tasks.types.files import InputFile
from tasks.types.positional_citations.claims import (
    ClaimSplittingRules,
    Parse,
    get_text_to_parse,
    split_into_claims,
)
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.standing_numbers import (
    damaged,
    digest,
    rounded,
    said,
    signed,
    written,
)
from tests.tasks.types.corpus import HEADER, csv_row
from tests.tasks.types.standing_reading import file, lines

FILE = Path(__file__).with_suffix(".json")
WORDS = [
    "we",
    "they",
    "parser",
    "tree",
    "count",
    "word",
    "words",
    "counted",
    "counting",
    "trees",
    "of",
    "the",
    "and",
    "with",
    "in",
    "large",
    "small",
    "results",
    "sentence",
    "sentences",
    "marking",
    "œuvre",
    "naïve",
    "hand",
]
#: So many damaged copies of each drawn gold or run are read.
DAMAGED = 24


def _sentence(draw: random.Random, least: int = 3, most: int = 12) -> str:
    return " ".join(
        draw.choices(WORDS, k=draw.randint(least, most))
    ).capitalize() + draw.choice((".", ".", "?", " (Us, 2001)."))


# CL-Summ.


def _papers(
    draw: random.Random, count: int = 3
) -> tuple[dict[str, str], list[tuple[str, str, str, list[str], str]]]:
    """Topic folders, and each citance: topic, citing paper, marker, cited sentences, facets."""
    gold, citances = {}, []
    for number in range(count):
        topic = f"W0{number}-100{number}"
        sentences = [_sentence(draw) for _ in range(10)]
        body = "".join(
            f'<S sid="{n}" ssid="{n}">{text}</S>\n' for n, text in enumerate(sentences)
        )
        gold[f"{topic}/Reference_XML/{topic}.xml"] = (
            f'<PAPER>\n<S sid="0">T</S>\n<ABSTRACT>{body[:200]}</ABSTRACT>\n{body}</PAPER>\n'
        )
        rows = []
        for place in range(5):
            ids = sorted(
                draw.sample([str(n) for n in range(10)], draw.choice((1, 1, 2, 3, 6))),
                key=int,
            )
            chosen = draw.sample(FACETS, draw.choice((1, 1, 2)))
            own = (
                topic,
                f"D05-000{place // 2}",
                str(3 + place),
                ids,
                ",".join(f"{name}_Citation" for name in chosen),
            )
            citances.append(own)
            rows.append(
                _line(own, sentences, place + 1, "us" if place < 4 else "thème")
            )
        gold[f"{topic}/annotation/{topic}.annv3.txt"] = "\n".join(rows)
        older = [(*own[:3], own[3][:1], "Method_Citation") for own in citances[-5:-2]]
        gold[f"{topic}/annotation/{topic}.annv2.txt"] = "\n".join(
            _line(own, sentences, n, "us") for n, own in enumerate(older, 1)
        )
        gold[f"{topic}/summary/{topic}.abstract.txt"] = (
            sentences[1] + "\n" + sentences[2]
        )
        gold[f"{topic}/summary/{topic}.human.txt"] = (
            f'<S sid="1">{sentences[3]} &amp; more</S>\n'
        )
        gold[f"{topic}/summary/{topic}_a.community.txt"] = "\n".join(
            f'<S sid="{n}">{text}</S>' for n, text in enumerate(sentences[4:6])
        )
        gold[f"{topic}/summary/{topic}_é.community.txt"] = _sentence(draw)
    gold["notes/README.txt"] = "nothing"
    return gold, citances


def _line(
    citance: tuple[str, str, str, list[str], str],
    sentences: list[str],
    number: int,
    annotator: str,
) -> str:
    topic, citing, marker, ids, facet = citance
    listed, quoted = (
        ",".join(f"'{sid}'" for sid in ids),
        "".join(f'<S sid="{sid}">{sentences[int(sid)]}</S>' for sid in ids),
    )
    return (
        f"Citance Number: {number} | Reference Article: {topic}.xml | Citing Article: {citing}.xml | Citation Marker Offset: ['{marker}'] | Citation Marker: (Us, 2001) | "
        f"Citation Offset: ['{marker}'] | Citation Text: <S sid=\"{marker}\">They count (Us, 2001).</S> | Reference Offset: [{listed}] | Reference Text: {quoted} | "
        f"Discourse Facet: {facet} | Annotator: {annotator} |\n"
    )


def citances(draw: random.Random, number: int) -> tuple[dict[str, str], dict[str, str]]:
    gold, known = _papers(draw)
    rows, texts = [], {}
    for topic, citing, marker, ids, facet in known:
        if draw.random() < 0.15:
            continue
        cited = (
            ids
            if draw.random() < 0.4
            else draw.sample([str(n) for n in range(10)], draw.choice((1, 2, 5, 6)))
        )
        named = (
            [name.removesuffix("_Citation") for name in facet.split(",")]
            if draw.random() < 0.5
            else draw.sample(FACETS, 1)
        )
        shares = {name: round(1 / len(FACETS), 3) for name in FACETS}
        row = {
            "topic": topic,
            "citing": citing,
            "marker": marker,
            "sentences": cited,
            "facets": named,
        }
        rows.append({**row, **({"probabilities": shares} if number % 2 else {})})
        own = (
            topic,
            citing,
            marker,
            cited,
            ",".join(f"{name}_Citation" for name in named),
        )
        texts[f"Task1/{topic}.annv3.txt"] = texts.get(
            f"Task1/{topic}.annv3.txt", ""
        ) + _line(own, WORDS, len(rows), "run")
    if number == 3:
        gold = {name: text for name, text in gold.items() if "annotation" not in name}
        for topic, annotator in itertools.product(
            sorted({own[0] for own in known}), ("a", "b")
        ):
            own = [one for one in known if one[0] == topic][
                : 5 if annotator == "a" else 3
            ]
            table = [
                csv_row(
                    topic,
                    place,
                    one[1],
                    one[3] if place % 4 else [],
                    one[4].partition(",")[0],
                )
                for place, one in enumerate(own, 1)
            ]
            gold[f"{topic}/gold/Task1/{topic}_{annotator}.csv"] = "\n".join(
                [HEADER, *table, ""]
            )
    return gold, texts if number == 2 else {"run.jsonl": lines(rows)}


def summaries(
    draw: random.Random, number: int
) -> tuple[dict[str, str], dict[str, str]]:
    gold, _ = _papers(draw)
    texts = {
        name.partition("/")[0]: content
        for name, content in gold.items()
        if name.endswith(("abstract.txt", "_é.community.txt"))
    }
    if number == 2:
        return gold, {
            f"Task2/{topic}.system.txt": text
            + "\n"
            + " ".join(draw.choices(WORDS, k=254))
            for topic, text in texts.items()
        }
    texts.pop("W00-1000")
    texts |= {
        "W01-1001": gold["W01-1001/summary/W01-1001.abstract.txt"] + " So.",
        "W02-1002": " ".join(draw.choices(WORDS, k=250 + number)),
    }
    return gold, {
        "run.jsonl": lines(
            {"topic": topic, "summary": text} for topic, text in texts.items()
        )
    }


# The others.


def texts(draw: random.Random, number: int) -> tuple[dict[str, str], dict[str, str]]:
    gold: dict[str, list[dict[str, Any]]] = {"alpha.jsonl": [], "beta.json": []}
    run = []
    for name, place in itertools.product(gold, range(6)):
        count = draw.randint(1, 3)
        inputs = [
            f"<abs> {_sentence(draw)} </abs>",
            *(_sentence(draw) for _ in range(count)),
        ]
        target = f"We build on the parser and count words of many trees [{draw.randint(0, count - 1)}]. {_sentence(draw)} [0] {_sentence(draw)}"
        labels = {
            "intent": draw.choices(("Background", "Uses", "Extends"), k=2),
            "corwa": draw.choices(("Single_summ", "Reflection"), k=2),
        }
        record = {"input": inputs, "target": target, "labels": labels}
        gold[name].append(
            {"id": f"alpha-{place:02d}", **record} if name == "alpha.jsonl" else record
        )
        mine = {
            intent: own if draw.random() < 0.5 else own[::-1]
            for intent, own in labels.items()
        }
        if draw.random() < 0.9:
            text = (
                target
                if draw.random() < 0.2
                else _sentence(draw)
                + draw.choice((" [0].", " [7].", "", " As in [1] and [2]."))
            )
            run.append(
                {
                    "id": f"{name.partition('.')[0]}-{place:02d}",
                    "prediction": text,
                    "labels": mine,
                }
            )
    return {
        "alpha.jsonl": lines(gold["alpha.jsonl"]),
        "beta.json": json.dumps(gold["beta.json"]),
    }, {"run.jsonl": lines(run)}


def resolution(
    draw: random.Random, number: int
) -> tuple[dict[str, str], dict[str, str]]:
    papers = [
        {
            "paper_id": f"p{n}",
            "title": _sentence(draw),
            "discipline": ("Geology", "Physics")[n % 2],
            "year": 2019 + n,
        }
        for n in range(3)
    ]
    references = [
        {"paper_id": f"p{n}", "ref_id": f"r{n}{k}", "raw": _sentence(draw)}
        for n in range(3)
        for k in range(8)
    ]
    contexts, run = [], []
    for n, k in itertools.product(range(3), range(7)):
        wanted = [
            f"r{n}{one}" for one in draw.sample(range(8), draw.choice((1, 1, 2, 3)))
        ]
        contexts.append({
            "context_id": f"p{n}_{k}", "paper_id": f"p{n}", "section": draw.choice(("1 Introduction", "2 Related work", "5 Results", "")), "zone": draw.choice(("BKG", "OTH", "CTR")),
            "sentence": f"{_sentence(draw)[:-1]} <REF> and {'<OTHERREF>' * (k % 3)}.", "before": "", "after": _sentence(draw) if k % 2 else "", "gold": wanted, "n_markers": 1 + k % 2,
        })  # fmt: skip
        ranked = draw.sample([f"r{n}{one}" for one in range(8)], draw.randint(1, 8))
        row: dict[str, Any] = {
            "id": f"p{n}_{k}",
            "ranked": [*wanted[:1], *(one for one in ranked if one != wanted[0])]
            if draw.random() < 0.4
            else ranked,
        }
        if number % 2:
            row["probabilities"] = {
                one: 0.5 / (place + 1) for place, one in enumerate(row["ranked"][:2])
            }
        if draw.random() < 0.9:
            run.append(row)
    own = "".join(
        f"{row['id']} Q0 {name} {place} {5 - place / 2} t\n"
        for row in run
        for place, name in enumerate(row["ranked"], 1)
    )
    return {
        "papers.jsonl": lines(papers), "references.jsonl": lines(references), "contexts.jsonl": lines(contexts),
    }, {"run.txt": own} if number == 2 else {"run.jsonl": lines(run)}  # fmt: skip


def recommendation(
    draw: random.Random, number: int
) -> tuple[dict[str, str], dict[str, str]]:
    references = [
        {"paper_id": f"p{n}", "ref_id": f"r{n}{k}", "raw": _sentence(draw)}
        for n in range(3)
        for k in range(8)
    ]
    rows, run = [], []
    for n, k in itertools.product(range(3), range(7)):
        rows.append({
            "id": f"p{n}_{k}", "citing_id": f"p{n}", "cited_id": f"r{n}{draw.randrange(8)}", "sentence": f"{_sentence(draw)[:-1]} <REF>.", "field": draw.choice(("Geology", "Physics")),
            "year_group": draw.choice(("1996-2000", "2001-2005")), "citation_group": str(draw.randrange(10)), "length_class": draw.choice(("short", "medium", "long")), "location_class": draw.choice(("begin", "end")),
            "context_type": draw.choice(("background", "method", None)), "pos_before": draw.choice(("noun", None)), "pos_after": None, "low_resource": draw.choice(("Geology", None)), "h_index_group": str(draw.randrange(3)),
        })  # fmt: skip
        ranked = draw.sample([f"r{n}{one}" for one in range(8)], draw.randint(1, 8))
        row: dict[str, Any] = {"id": f"p{n}_{k}", "ranked": ranked}
        if number % 2:
            row = {
                "id": f"p{n}_{k}",
                "scores": {one: draw.randint(0, 3) for one in ranked},
            }
        if draw.random() < 0.9:
            run.append(row)
    return {"references.jsonl": lines(references), "diagnostic.jsonl": lines(rows)}, {
        "run.jsonl": lines(run)
    }


#: Answers with marks at places that the rules tell apart; each clause has its parse in the file.
ANSWERS = (
    "Rain falls [1], while wind blows [2].",
    "Rain falls. Wind blows [1][3].",
    "Wind blows [2] and rain falls.",
    "Nobody knows.",
    "Rain falls [1] and wind blows [2].",
    "",
    "[1] Rain falls [9].",
)


def positional(
    draw: random.Random, number: int
) -> tuple[dict[str, str], dict[str, str]]:
    gold, run = [], []
    for place in range(7):
        docs = [
            {
                "title": name,
                "text": f"{name} {_sentence(draw)}",
                "summary": "Short.",
                "extraction": "Cut.",
            }
            for name in ("Rain falls", "Wind blows", "Sand moves")
        ]
        own: dict[str, Any] = {
            "id": f"q{place}",
            "dataset": ("short-answers", "long-answers", "lists")[place % 3],
            "question": "Why?",
            "docs": docs,
        }
        own |= {
            0: {
                "qa_pairs": [
                    {"short_answers": ["rain"]},
                    {"short_answers": ["wind", "blows"]},
                ]
            },
            1: {"answer": _sentence(draw), "claims": ["Rain falls", "Sand moves"]},
            2: {"answers": [["rain", "Rain falls"], ["wind"], ["sand"]]},
        }[place % 3]
        gold.append(own)
        if place != 3:
            run.append(
                {"id": f"q{place}", "output": ANSWERS[(place + number) % len(ANSWERS)]}
            )
    return {"gold.json": json.dumps(gold)}, {"run.jsonl": lines(run)}


def _parses() -> str:
    """A parse of any clause that the answers have: each word hangs on the word behind the first."""
    heads = {"falls": "Rain", "blows": "wind"}
    rows = []
    for text in sorted({clause for answer in ANSWERS for clause in _clauses(answer)}):
        tokens = text.split(" ")
        root = next(
            (place for place, token in enumerate(tokens) if token in (*heads, "knows")),
            0,
        )
        relations = [
            "ROOT"
            if place == root
            else "conj"
            if token in heads
            else "nsubj"
            if place < root
            else "dep"
            for place, token in enumerate(tokens)
        ]
        rows.append(
            {
                "text": text,
                "tokens": tokens,
                "heads": [root] * len(tokens),
                "relations": relations,
            }
        )
    return lines(rows)


def _clauses(answer: str) -> set[str]:
    bare = answer
    for mark in ("[1]", "[2]", "[3]", "[9]"):
        bare = bare.replace(mark, "")
    forms = {bare, bare.strip(), *bare.split(".")}
    for form in list(forms):
        spaced = form.replace(",", " ,")
        forms |= {
            form.strip(),
            form.rstrip("."),
            spaced,
            form.replace(",", ""),
            " ".join(form.split()),
            " ".join(spaced.split()),
            " ".join(form.replace(",", "").split()),
            form.replace(" ,", " "),
        }
    return {form.strip() for form in forms if form.strip()} | {
        form for form in forms if form.strip()
    }


CASES: Mapping[str, tuple[Any, tuple[Mapping[str, str], ...]]] = {
    "clsumm-1a": (citances, ({}, {"annotation": "annv2"}, {"over_limit": "refuse"}, {"program": "python3"}, {"stopwords": "{stopwords}"}, {"stopwords": "{stopwords}", "program": "python3"})),
    "clsumm-1b": (citances, ({}, {"calibration": "yes"}, {"annotation": "annv2"}, {"over_limit": "refuse"})),
    "clsumm-2": (summaries, ({}, {"over_limit": "truncate"}, {"over_limit": "refuse"}, {"stopwords": "{stopwords}", "annotator_range": "yes"}, {"stopwords": "{stopwords}", "program": "python3"})),
    "citation-text": (texts, ({}, {"unit": "dataset"})),
    "citation-resolution": (resolution, ({}, {"unit": "paper_id"})),
    "citation-recommendation": (recommendation, ({}, {"unit": "citing_id"})),
    "positional-citations": (positional, ({"entailment": "word-overlap", "parser": "{parses}"}, {"entailment": "word-overlap", "parser": "{parses}", "merge-groups": "yes", "splitter": "punkt"}, {"passages": "summary", "parser": "{parses}"}, {"passages": "all", "parser": "{parses}"})),
}  # fmt: skip


@cache
def _places() -> Mapping[str, str]:
    folder = Path(tempfile.gettempdir()) / "citeboard-standing-types"
    folder.mkdir(exist_ok=True)
    (folder / "parses.jsonl").write_text(_parses())
    (folder / "stopwords.txt").write_text("the\nof\nand\nin\n")
    return {
        "parses": str(folder / "parses.jsonl"),
        "stopwords": str(folder / "stopwords.txt"),
    }


def of_type(slug: str) -> dict[str, Any]:
    make, cases = CASES[slug]
    found: dict[str, Any] = {}
    for number in range(4 if make in (citances, texts) else 3):
        gold, run = make(random.Random(f"{slug} {number}"), number)
        for given in cases:
            options = {name: value.format(**_places()) for name, value in given.items()}
            found[f"{number} {' '.join(map('='.join, given.items()))}"] = _told(
                slug, gold, run, options
            )
    return json.loads(json.dumps(rounded(found)))


def of_damaged(slug: str) -> list[Any]:
    make, cases = CASES[slug]
    options = {name: value.format(**_places()) for name, value in cases[0].items()}
    found = []
    for number in range(DAMAGED):
        chance = random.Random(f"{slug} damaged {number}")
        both = [
            _files(own)
            for own in make(random.Random(f"{slug} {number % 3}"), number % 3)
        ]
        side = both[number % 2]
        place = chance.randrange(len(side))
        side[place] = damaged(side[place], chance)
        told = _read(slug, *both, options)
        found.append(
            [len(told), *told[:2], digest(told)]
            if isinstance(told, list)
            else digest(told["numbers"])
        )
    return json.loads(json.dumps(rounded(found)))


def _files(named: Mapping[str, str]) -> list[InputFile]:
    return [file(name, content) for name, content in named.items()]


def _told(
    slug: str,
    gold: Mapping[str, str],
    run: Mapping[str, str],
    options: Mapping[str, str],
) -> Any:
    return _read(slug, _files(gold), _files(run), options, is_whole=True)


def _read(
    slug: str,
    gold: list[InputFile],
    run: list[InputFile],
    given: Mapping[str, str],
    *,
    is_whole: bool = False,
) -> Any:
    """The problems that refuse either, or what follows from both."""
    kind = task_types()[slug]
    options = kind.validate_options(given)
    try:
        kept = [own for own in gold if kind.is_gold_file(own.name)]
        split = kind.gold_of(kept, options)
        answers, problems = kind.read_run(run, split.index, options)
        if any(problem.fatal for problem in problems):
            return said(problems)
        numbers: dict[str, Any] = {}
        for rules in kind.rules if is_whole else (kind.default_rule_set,):
            try:
                pairs = kind.pairs_of(split, answers, rules, options)
                scores = evaluate_pairs(
                    kind,
                    pairs,
                    rules=rules,
                    options=options,
                    gold="g",
                    resampling=IntervalSettings(resamples=30 * is_whole, seed=1),
                )
            except (InputRefused, SoftwareUnavailable) as refused:
                numbers[rules] = (
                    said(refused.problems)
                    if isinstance(refused, InputRefused)
                    else str(refused).replace(tempfile.gettempdir(), "")
                )
                continue
            numbers[rules] = {
                name: [own.value, own.low, own.high, own.n]
                for name, own in scores.metrics.items()
            }
            if is_whole:
                numbers[rules] |= {
                    "classes": digest(scores.breakdowns), "notes": scores.notes, "units": digest(list(pairs.units)), "names": digest(pairs.names),
                    "signatures": [signed(own) for own in build_metrics(kind, rules, options) if not options.get("parser")],
                    "details": digest([own.details(pairs.answers) for own in build_metrics(kind, rules, options)]),
                }  # fmt: skip
                if kind.show_instances:
                    numbers[rules]["shown"] = digest(
                        [
                            dataclasses.astuple(one)
                            for one in kind.show_instances(kept, split, pairs, options)
                        ]
                    )
    except InputRefused as refused:
        return said(refused.problems)
    if not is_whole:
        return {"numbers": numbers}
    public = {
        name: hashlib.sha256(content).hexdigest()[:8]
        for name, content in kind.public_files(kept, options)
    }
    return {
        "problems": said(problems), "instances": split.instances, "index": digest(split.index), "gold": split.get_digest_under_rule(1)[:8], "notes": split.notes, "public": public, "numbers": numbers,
        "statistics": kind.statistics(split) if kind.statistics else None, "contents": digest(list(kind.contents(kept, split))) if kind.contents else None,
        "judged": _judged(kind, kept, answers),
        "besides": digest(list(kind.also_holds(kept))) if kind.also_holds else None, "filled": digest(list(kind.filled(answers, split.index))),
        "topics": [digest(list(getattr(kind.trec, name)(kept))) for name in ("topics", "documents", "qrels")] if kind.trec else None,
    }  # fmt: skip


def _judged(kind: Any, gold: list[InputFile], answers: Any) -> Any:
    """What people are shown who judge texts."""
    if kind.human_evaluation is None:
        return None
    asked = kind.human_evaluation
    references = asked.references(gold) if asked.references else None
    return [
        digest([[name, str(own)] for name, own in asked.sources(gold).items()]),
        digest(asked.texts(answers)),
        digest(references),
    ]


def claims() -> dict[str, Any]:
    """Drawn sentences with marks, and trees for what a parser is asked about them."""
    found = {}
    for number in range(120):
        draw = random.Random(f"claims {number}")
        words = draw.choices(
            ("rain", "falls", "and", "wind", "blows", ",", "sand", "moves", "on"),
            k=draw.randint(2, 9),
        )
        for _ in range(draw.choice((0, 1, 2, 2, 3))):
            words.insert(
                draw.randrange(len(words) + 1),
                draw.choice(("[1]", "[2]", "[1][3]", "[10]")),
            )
        sentence = " ".join(words).replace(" ,", ",") + "."
        for rules in (
            ClaimSplittingRules(),
            ClaimSplittingRules(is_official=True),
            ClaimSplittingRules(merge_groups=True),
        ):
            asked = get_text_to_parse(sentence, rules)
            tokens = tuple((asked or "").split(" "))
            root = draw.randrange(len(tokens))
            # Each token hangs on one that is nearer to the root, so that it is a tree.
            order = sorted(range(len(tokens)), key=lambda n: (n != root, draw.random()))
            heads = {root: root} | {
                node: draw.choice(order[:place])
                for place, node in enumerate(order)
                if place
            }
            relations = tuple(
                "ROOT"
                if n == root
                else "cc"
                if tokens[n] == "and"
                else draw.choice(("conj", "nsubj", "prep", "advcl", "punct"))
                for n in range(len(tokens))
            )
            parse = (
                Parse(tokens, tuple(heads[n] for n in range(len(tokens))), relations)
                if asked
                else None
            )
            own = split_into_claims(
                sentence, None if number % 11 == 0 else parse, rules
            )
            found[f"{number} {rules.is_official:d}{rules.merge_groups:d}"] = [
                asked,
                [dataclasses.astuple(claim) for claim in own.claims],
                own.fallback,
                own.lost,
            ]
    for words, letters in ((50, 5), (51, 5), (3, 665), (3, 666)):
        sentence = " ".join(["x" * letters] * (words - 1)) + " [1]"
        own = split_into_claims(sentence, None, ClaimSplittingRules())
        found[f"{words} of {letters}"] = [
            get_text_to_parse(sentence, ClaimSplittingRules()) is None,
            len(own.claims),
            own.fallback,
            len(sentence),
        ]
    return json.loads(json.dumps(rounded(found)))


def judged() -> dict[str, Any]:
    """Of sentences with more and more of a citance's words what each outcome is."""
    words = ("parser", "counts", "trees", "words", "hand")
    sentences = {str(n): " ".join((*words[:n], "else", "such")) for n in range(6)}
    found = {}
    for gold, answer in (
        ("01", "2345"),
        ("2345", "01"),
        ("012345", ""),
        ("", "012345"),
        ("13", "35"),
    ):
        sides = [
            (SimpleNamespace(sentences=gold), SimpleNamespace(sentences=answer)),
            (None, None),
        ]
        found[f"{gold} {answer}"] = [
            list(own)
            for own in iterate_sentence_outcomes(
                "The parser counts trees, words: by hand.", sides, sentences
            )
        ]
    return found


def accepted() -> dict[str, list[bool | None]]:
    """Of each type's drawn runs, which types take them for theirs."""
    found = {}
    for slug, (make, _) in CASES.items():
        for number in (0, 2):
            run = _files(make(random.Random(f"{slug} {number}"), number)[1])
            kinds = (task_types()[other] for other in CASES)
            found[f"{slug} {number}"] = [
                kind.accepts(run) if kind.accepts else None for kind in kinds
            ]
    for name in (
        "run.txt",
        "Task2/W00-1000.txt",
        "W00-1000.system.txt",
        "Task1/x.csv",
        "x.annv3.txt",
    ):
        own = [file(name, "Citance Number: 1 | Reference Article: W00-1000.xml")]
        kinds = (task_types()[other] for other in CASES)
        found[name] = [kind.accepts(own) if kind.accepts else None for kind in kinds]
    return found


def _plain(value: Any) -> Any:
    """What a declaration says, of functions that they are there."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            one.name: _plain(getattr(value, one.name))
            for one in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    return "a function" if callable(value) else value


#: Options under which a type has all the metrics that need no model.
ALL_METRICS = {
    "citation-recommendation": {
        "graded": "yes",
        "k": "5",
        "f1": "means",
        "perplexity": "yes",
    }
}

SAID_OF_METRICS = (
    *(
        "name",
        "higher_is_better",
        "scale",
        "value_range",
        "is_exchangeable",
        "is_decomposable",
        "version",
    ),
    *(
        "has_honest_interval",
        "holds_with_rare_classes",
        "per_unit",
        "counts_by_last_column",
    ),
)


def declared(slug: str) -> dict[str, str]:
    """By field a digest of what the type declares; by rule set that of what its metrics say of themselves."""
    kind = task_types()[slug]
    facts = {name: digest(value) for name, value in _plain(kind).items()}
    options = kind.validate_options(ALL_METRICS.get(slug, {}))
    for rules in kind.rules:
        metrics = build_metrics(kind, rules, options)
        facts[rules] = digest(
            [[getattr(one, name) for name in SAID_OF_METRICS] for one in metrics]
        )
    return facts


NAMES = (
    "run.jsonl",
    "RUN.JSON",
    "run.txt",
    "x.csv",
    "readme.txt",
    "notes.pdf",
    "name",
    "Task1/W00-1000.annv3.txt",
    "Task2/W00-1000.txt",
    "Task2/W00-1000.system.txt",
    "Task1/run.jsonl",
    "q/run.trec",
)


def layouts(slug: str) -> dict[str, Any]:
    """Of drawn runs by every name, alone and beside another, what is said of the files."""
    kind, (make, _) = task_types()[slug], CASES[slug]
    gold, run = make(random.Random(f"{slug} 0"), 0)
    text = make(random.Random(f"{slug} 2"), 2)[1]
    options = kind.validate_options({})
    split = kind.gold_of(
        [own for own in _files(gold) if kind.is_gold_file(own.name)], options
    )
    found = {}
    for names in (*((name,) for name in NAMES), *itertools.combinations(NAMES, 2)):
        contents = {
            name: next(iter((text if name.endswith("txt") else run).values()))
            for name in names
        }
        try:
            _, problems = kind.read_run(_files(contents), split.index, options)
        except InputRefused as refused:
            problems = refused.problems
        told = [
            f"{one.file}: {one.message}; {one.expected} {one.fatal:d}"
            for one in problems
            if one.line is None
        ]
        taken = kind.accepts(_files(contents)) if kind.accepts else None
        found[" ".join(names)] = digest([told, taken, len(problems)])
    return found


def everything() -> dict[str, Any]:
    return {
        "layouts": {slug: layouts(slug) for slug in CASES},
        "declared": {slug: declared(slug) for slug in CASES},
        "claims": claims(),
        "accepted": accepted(),
        "judged": judged(),
        "types": {slug: of_type(slug) for slug in CASES},
        "damaged": {slug: of_damaged(slug) for slug in CASES},
    }


if __name__ == "__main__":
    FILE.write_text(written(everything()) + "\n")
