"""Convert outputs of the programs of ALCE and ALiiCE to gold and a run with positional
citations.

ALCE's `run.py` writes an object whose `data` is a list of questions with their `output`
(read by `eval.py` of princeton-nlp/ALCE at commit 3fdc2ed0). ALiiCE's `generate.py`
writes only the list (ylXuu/ALiiCE at commit e9fa8dbd). Ids may be missing in both
programs' outputs. The position in the file then serves as id.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.offline.arguments import write_lines
from tasks.types.files import open_input
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import InputRefused, Problem
from tasks.types.text import json_kind

#: Fields of a question that are copied to the gold.
GOLD = ("question", "docs", "qa_pairs", "annotations", "answer", "answers", "claims")
#: Names of a question's id in ALCE, in order of precedence.
IDS = ("id", "sample_id")
#: ALCE's program removes this end marker of chat models before scoring answers.
END_MARK = "<|im_end|>"


def convert(path: Path, *, gold: Path, run: Path) -> int:
    """Write the questions as gold and their outputs as a run. Return the number of
    questions. Raises InputRefused.
    """
    items = _items(path)
    names = [_name(item, position) for position, item in enumerate(items, start=1)]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise _refused(
            path, f"the id “{twice[0]}” is there twice", "an id for each question"
        )
    questions = zip(names, items, strict=True)
    write_lines(
        gold,
        (
            {
                "id": name,
                **{key: item[key] for key in GOLD if item.get(key) is not None},
            }
            for name, item in questions
        ),
    )
    answers = zip(names, items, strict=True)
    return write_lines(
        run,
        (
            {"id": name, "output": item["output"].replace(END_MARK, "")}
            for name, item in answers
        ),
    )


def _items(path: Path) -> list[Mapping[str, Any]]:
    file, *further = open_input(path)
    if further:
        raise _refused(path, f"holds {len(further) + 1} files", "one output file")
    try:
        content = read_json(file.read())
    except ValueError as fault:
        raise _refused(path, f"is not JSON: {fault}", "an output file") from fault
    items = content.get("data") if isinstance(content, dict) else content
    if not isinstance(items, list) or not items:
        raise _refused(
            path,
            f"holds {json_kind(content)}",
            "a list of questions with “output”, or an object with such a list as “data”",
        )
    for position, item in enumerate(items, start=1):
        _check(path, position, item)
    return items


def _check(path: Path, place: int, item: Any) -> None:
    kinds = {"question": str, "docs": list, "output": str}
    for key, kind in kinds.items():
        value = item.get(key) if isinstance(item, dict) else None
        if not isinstance(value, kind):
            found = json_kind(value) if value is not None else "missing"
            raise _refused(
                path, f"question {place}: “{key}” is {found}", json_kind(kind())
            )


def _name(item: Mapping[str, Any], place: int) -> str:
    return next(
        (str(item[key]) for key in IDS if item.get(key) is not None), str(place)
    )


def _refused(path: Path, message: str, expected: str) -> InputRefused:
    return InputRefused([Problem(file=path.name, message=message, expected=expected)])
