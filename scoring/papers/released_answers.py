"""Convert answers that the programs of ALCE and ALiiCE have written to gold and a run
with positional citations.

ALCE's `run.py` writes an object with a list of questions and their `output` under the
key `data`, which `eval.py` reads (princeton-nlp/ALCE at commit 3fdc2ed0). ALiiCE's
`generate.py` writes the list of questions without an object around the list
(ylXuu/ALiiCE at commit e9fa8dbd). In the output of both programs, questions may have no
id. The position of a question in the file then serves as the id of the question.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.offline.arguments import write_json_lines
from tasks.types.files import open_input_files
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import InputRefused, Problem
from tasks.types.text import describe_json_type

#: Fields of a question that are copied from the program's output to the gold.
GOLD = ("question", "docs", "qa_pairs", "annotations", "answer", "answers", "claims")
#: Fields that may contain the id of a question in ALCE, in order of precedence.
ID_FIELDS = ("id", "sample_id")
#: The end marker of chat models, which ALCE removes before it scores answers.
END_OF_ANSWER_MARK = "<|im_end|>"


def convert_released_answers(path: Path, *, gold: Path, run: Path) -> int:
    """Write the questions to a file with gold, and the programs' answers to a file with
    a run. Return the number of questions in the file. Raises InputRefused.
    """
    items = _read_items(path)
    names = [
        _find_item_name(item, position) for position, item in enumerate(items, start=1)
    ]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise _make_refusal(
            path, f"the id “{twice[0]}” is there twice", "an id for each question"
        )
    questions = zip(names, items, strict=True)
    write_json_lines(
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
    return write_json_lines(
        run,
        (
            {"id": name, "output": item["output"].replace(END_OF_ANSWER_MARK, "")}
            for name, item in answers
        ),
    )


def _read_items(path: Path) -> list[Mapping[str, Any]]:
    file, *further = open_input_files(path)
    if further:
        raise _make_refusal(path, f"holds {len(further) + 1} files", "one output file")
    try:
        content = read_json(file.read())
    except ValueError as fault:
        raise _make_refusal(path, f"is not JSON: {fault}", "an output file") from fault
    items = content.get("data") if isinstance(content, dict) else content
    if not isinstance(items, list) or not items:
        raise _make_refusal(
            path,
            f"holds {describe_json_type(content)}",
            "a list of questions with “output”, or an object with such a list as “data”",
        )
    for position, item in enumerate(items, start=1):
        _check_item(path, position, item)
    return items


def _check_item(path: Path, place: int, item: Any) -> None:
    kinds = {"question": str, "docs": list, "output": str}
    for key, kind in kinds.items():
        value = item.get(key) if isinstance(item, dict) else None
        if not isinstance(value, kind):
            found = describe_json_type(value) if value is not None else "missing"
            raise _make_refusal(
                path,
                f"question {place}: “{key}” is {found}",
                describe_json_type(kind()),
            )


def _find_item_name(item: Mapping[str, Any], place: int) -> str:
    return next(
        (str(item[key]) for key in ID_FIELDS if item.get(key) is not None), str(place)
    )


def _make_refusal(path: Path, message: str, expected: str) -> InputRefused:
    return InputRefused([Problem(file=path.name, message=message, expected=expected)])
