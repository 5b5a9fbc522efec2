"""Gold in the shapes of eleven public tasks of the field; every word and number of it is made up here."""

import csv
import io
import json
import random
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

WORDS = (
    *("rain", "glacier", "forest", "measure", "model", "ocean", "carbon", "record"),
    *("summer", "report", "early", "coast", "wind", "heat", "drought", "soil"),
)
Rows = Sequence[Mapping[str, Any]]


def sentence(draw: random.Random, count: int = 9) -> str:
    return " ".join(draw.choices(WORDS, k=count)).capitalize() + "."


def lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def table(rows: Rows, delimiter: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, [*rows[0]], delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def packed(**files: bytes) -> bytes:
    """Return a zip of files; `_` in a name stands for its dot."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return out.getvalue()


CATEGORIES = ("claim", "reference", "entity")


def tweets(count: int = 60) -> list[tuple[str, str, list[int]]]:
    """Tweets of SciTweets' shape, with three binary categories of which many have none."""
    draw = random.Random("tweets")
    return [
        (
            f"{9000 + place}",
            sentence(draw),
            [int(draw.random() < 0.4) for _ in range(3)],
        )
        for place in range(count)
    ]


def checkthat_vectors() -> bytes:
    rows = [
        {"index": name, "text": text, "labels": str([float(own) for own in signs])}
        for name, text, signs in tweets()
    ]
    return table(rows, "\t")


def checkthat_columns() -> bytes:
    rows = [
        {
            "tweet_id": name,
            "text": text,
            **{f"cat{n}": own for n, own in enumerate(signs, 1)},
        }
        for name, text, signs in tweets()
    ]
    return table(rows, "\t")


def checkthat_lists() -> bytes:
    rows = [
        {
            "id": name,
            "text": text,
            "labels": [own for own, on in zip(CATEGORIES, signs, strict=True) if on],
        }
        for name, text, signs in tweets()
    ]
    return lines(rows)


INTENTS = ("background", "uses", "similarities", "motivation", "extends")


def contexts(count: int = 60) -> list[tuple[str, str, list[str]]]:
    draw = random.Random("contexts")
    found = []
    for place in range(count):
        first = INTENTS[place % 5]
        more = draw.sample(INTENTS, k=1) if place >= 20 and draw.random() < 0.4 else []
        labels = [first, *(own for own in more if own != first)]
        draw.shuffle(labels)
        found.append((f"c{place}", sentence(draw), labels))
    return found


def multicite() -> bytes:
    return lines(
        [{"id": name, "x": text, "y": " ".join(own)} for name, text, own in contexts()]
    )


VERDICTS = ("Supports", "Refutes", "Not Enough Information")


def climate_pairs() -> list[dict[str, Any]]:
    """A row for each pair of a claim and an abstract; abstracts and claims stand in several rows."""
    draw = random.Random("climate")
    claims = [sentence(draw) for _ in range(12)]
    abstracts = [sentence(draw, 14) for _ in range(20)]
    return [
        {
            "claim": claims[claim],
            "abstract": abstracts[abstract],
            "annotation": draw.choice(VERDICTS) if draw.random() < 0.8 else "Supports",
            "abstract_id": 500 + abstract,
            "claim_id": claim,
        }
        for claim in range(12)
        for abstract in sorted(draw.sample(range(20), k=4))
    ]


def climatecheck_2() -> bytes:
    return table(climate_pairs())


def climatecheck_1() -> bytes:
    abstracts = {row["abstract_id"]: row["abstract"] for row in climate_pairs()}
    corpus = [{"id": key, "text": text} for key, text in sorted(abstracts.items())]
    return packed(pairs_csv=table(climate_pairs()), corpus_jsonl=lines(corpus))


def pst_papers() -> list[dict[str, Any]]:
    draw = random.Random("papers")
    found = []
    for place in range(20):
        references = [f"{place:02}r{number}" for number in range(8)]
        traced = sorted(draw.sample(references, k=1 + place % 2))
        found.append(
            {
                "_id": f"5f{place:04}",
                "title": sentence(draw, 6),
                "authors": [{"name": "Ada", "org": "Here"}],
                "venue": ("One", "Two")[place % 2],
                "year": 2015 + place % 3,
                "references": references,
                "refs_trace": [
                    {"_id": own, "title": sentence(draw, 5)} for own in traced
                ],
            }
        )
    return found


def pst() -> bytes:
    return json.dumps(pst_papers()).encode()


def sciclaimeval_rows() -> list[dict[str, Any]]:
    """Two rows a claim, one with evidence that supports the claim and one with evidence that refutes it."""
    draw = random.Random("claims")
    return [
        {
            "paper_id": f"P{claim // 4}",
            "claim_id": f"claim_{claim}",
            "sample": half,
            "claim": sentence(draw),
            "caption": sentence(draw, 7),
            "label": ("Supports", "Refutes")[(claim + half) % 2],
        }
        for claim in range(24)
        for half in (1, 2)
    ]


def sciclaimeval() -> bytes:
    return json.dumps(sciclaimeval_rows()).encode()


def figures() -> list[dict[str, Any]]:
    draw = random.Random("figures")
    return [
        {"figure": f"key{paper} {kind} {number}", "caption": sentence(draw)}
        for paper in range(6)
        for kind in ("FIG", "TAB")
        for number in (1, 2, 3)
    ]


def context24_rows() -> list[dict[str, Any]]:
    draw = random.Random("context")
    names = [own["figure"] for own in figures()]
    found = []
    for place in range(18):
        own = [name for name in names if name.startswith(f"key{place % 6} ")]
        found.append(
            {
                "id": f"dev-{place}",
                "claim": sentence(draw),
                "citekey": f"key{place % 6}",
                "dataset": ("akamatsu", "BIOL403")[place % 2],
                "findings": draw.sample(own, k=1 + place % 3),
            }
        )
    return found


def context24() -> bytes:
    rows = [{**row, "findings": ", ".join(row["findings"])} for row in context24_rows()]
    return packed(claims_csv=table(rows), figures_jsonl=lines(figures()))


def longeval_qrels() -> dict[str, dict[str, int]]:
    draw = random.Random("longeval")
    return {
        f"q{topic}": {
            f"d{own}": draw.choice((0, 1, 2)) for own in draw.sample(range(40), k=6)
        }
        | {f"d{topic}": 2}
        for topic in range(15)
    }


def longeval() -> bytes:
    draw = random.Random("queries")
    judged = [
        f"{topic} 0 {document} {grade}\n"
        for topic, own in longeval_qrels().items()
        for document, grade in own.items()
    ]
    queries = [f"{topic}\t{sentence(draw, 5)}\n" for topic in longeval_qrels()]
    documents = [
        {"id": f"d{n}", "title": sentence(draw, 4), "abstract": sentence(draw, 12)}
        for n in range(40)
    ]
    return packed(
        qrels_txt="".join(judged).encode(),
        queries_tsv="".join(queries).encode(),
        documents_jsonl=lines(documents),
    )


def litsearch_rows() -> list[dict[str, Any]]:
    draw = random.Random("litsearch")
    return [
        {
            "query_set": ("inline_acl", "manual_iclr")[place % 2],
            "query": sentence(draw),
            "specificity": place % 3 % 2,
            "quality": 1 + place % 2,
            "corpusids": sorted(draw.sample(range(1000, 1050), k=1 + place % 3)),
        }
        for place in range(20)
    ]


def litsearch() -> bytes:
    draw = random.Random("corpus")
    corpus = [
        {"corpusid": n, "title": sentence(draw, 5), "abstract": sentence(draw, 12)}
        for n in range(1000, 1050)
    ]
    return packed(queries_jsonl=lines(litsearch_rows()), corpus_jsonl=lines(corpus))


def sota() -> bytes:
    """Papers with tuples of a leaderboard, of SOTA?'s shape."""
    draw = random.Random("sota")
    rows = [
        {
            "id": f"p{place}",
            "title": sentence(draw, 6),
            "domain": ("nlp", "vision")[place % 2],
            "annotations": [
                {
                    "LEADERBOARD": {
                        "Task": "Parsing",
                        "Dataset": "Trees",
                        "Metric": "F1",
                        "Score": f"{place}.5",
                    }
                }
            ],
        }
        for place in range(12)
    ]
    return lines(rows)


def biogen_answers() -> bytes:
    """Questions with answers whose sentences cite documents, of BioGen's shape."""
    draw = random.Random("biogen")
    rows = [
        {
            "id": place,
            "question": sentence(draw, 7),
            "answer": [
                {"text": sentence(draw), "citations": [30000 + place, 30100 + place]}
            ],
        }
        for place in range(12)
    ]
    return lines(rows)


def biogen_references() -> bytes:
    draw = random.Random("biogen references")
    rows = [
        {
            "id": place,
            "question": sentence(draw, 7),
            "answer": f"{sentence(draw)} [{30000 + place}]",
            "references": [f"{30000 + place}", f"{30100 + place}"],
        }
        for place in range(12)
    ]
    return lines(rows)


def somd() -> bytes:
    draw = random.Random("somd")
    rows = [
        {
            "id": f"s{place}",
            "tokens": sentence(draw, 4).split(),
            "tags": ["O", "B-Tool", "I-Tool", "O"],
        }
        for place in range(12)
    ]
    return lines(rows)
