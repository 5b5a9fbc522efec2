"""Citation texts: abstracts and what is said of them, in a sentence or a paragraph."""

from collections.abc import Iterator
from typing import Any

from scoring.tools.demo.papers import MARKER, PAPERS, Paper

Record = dict[str, Any]

#: The abstract's sentence that a target rests on, the target, and its labels of intent and discourse.
TARGETS = (
    ("result", "On {size} {items} an F1 of {best} was reached with {method} @.", "Background", "Single_summ"),
    ("idea", "It has been argued that {idea} @.", "Background", "Single_summ"),
    ("method", "For {task} we use {method}, as proposed by @.", "Uses", "Reflection"),
    ("error", "Unlike @, who err most on {hard}, we leave these out.", "CompareOrContrast", "Reflection"),
)  # fmt: skip
FIRST = ("Several lines of work bear on {task}.", "Motivation", "Transition")
LAST = ("We bring these findings together.", "Uses", "Reflection")


def sentences() -> Iterator[tuple[Record, list[Paper]]]:
    for place, paper in enumerate(PAPERS):
        for turn in range(2):
            _, target, intent, corwa = TARGETS[(place + turn) % len(TARGETS)]
            text = target.format_map(paper.subject.phrases).replace(MARKER, "[0]")
            labels = {"intent": [intent], "corwa": [corwa]}
            name = f"sentences-{2 * place + turn:02}"
            yield {"id": name, "input": [" ".join(paper.abstract)], "target": text, "labels": labels}, [paper]


def paragraphs() -> Iterator[tuple[Record, list[Paper]]]:
    for place, paper in enumerate(PAPERS):
        cited = [PAPERS[(place + step) % len(PAPERS)] for step in range(1, 3 + place % 2)]
        abstract = " ".join(paper.abstract[1:3])
        parts = [FIRST, *(TARGETS[(place + turn) % 2][1:] for turn in range(len(cited))), LAST]
        texts = [
            text.format_map(about.subject.phrases).replace(MARKER, f"[{number - 1}]")
            for number, ((text, _, _), about) in enumerate(zip(parts, [paper, *cited, paper], strict=True))
        ]
        record = {
            "id": f"paragraphs-{place:02}",
            "input": [f"<abs> {abstract} </abs>", *(" ".join(source.abstract) for source in cited)],
            "target": " ".join(texts),
            "labels": {"intent": [part[1] for part in parts], "corwa": [part[2] for part in parts]},
        }
        yield record, cited
