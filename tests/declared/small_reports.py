"""A small task of cited reports, of which two topics have secret nuggets and judgements."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.declared.small_tasks import SECRET, Secrets

TOPICS = 8
TITLES = [f"Question {number}" for number in range(TOPICS)]
RIGHT, WRONG = "It is so.", "It is not so."
DOCUMENT = {"docid": "d1", "title": "Source", "text": "It may be so."}


def lines(records: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def write_gold(folder: Path, secrets: Secrets = Secrets.OWN) -> Path:
    """Write topics, a document, nuggets and judgements; the last two topics have those of each other."""
    folder.mkdir(parents=True)
    places = [*range(TOPICS - 2)]
    places += [TOPICS - 2 + SECRET.index(place) for place in secrets.value]
    topics = [
        {"request_id": str(number), "title": title}
        for number, title in enumerate(TITLES)
    ]
    nuggets = [
        {
            "topic_id": str(number),
            "nuggets": [
                {"text": f"Nugget {place}", "importance": ("vital", "okay")[place % 2]}
            ],
        }
        for number, place in enumerate(places)
    ]
    assigned = [
        {
            "kind": "assigns",
            "texts": [TITLES[number], f"Nugget {place}", text],
            "label": "support" if (text == RIGHT) == bool(place % 2) else "not_support",
        }
        for number, place in enumerate(places)
        for text in (RIGHT, WRONG)
    ]
    document = f"{DOCUMENT['title']}\n{DOCUMENT['text']}"
    supported = [
        {"kind": "supports", "texts": [text, document], "label": label}
        for text, label in zip((RIGHT, WRONG), secret_labels(secrets), strict=True)
    ]
    contents = {
        "topics": topics,
        "documents": [DOCUMENT],
        "nuggets": nuggets,
        "judgements": [*assigned, *supported],
    }
    for name, records in contents.items():
        (folder / f"{name}.jsonl").write_text(lines(records))
    return folder


def secret_labels(secrets: Secrets) -> tuple[str, str]:
    return ("full", "none") if secrets is Secrets.OWN else ("none", "full")


def run(right: int) -> bytes:
    """Write a run that says the right thing on the first topics."""
    return lines(
        {
            "metadata": {"team_id": "t", "run_id": "r", "topic_id": str(number)},
            "responses": [
                {"text": RIGHT if number < right else WRONG, "citations": ["d1"]}
            ],
        }
        for number in range(TOPICS)
    ).encode()
