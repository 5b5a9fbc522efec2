"""Find texts of runs that seem to contain instructions to a model that judges the text."""

import re

#: The maximum length of an excerpt that organisers see, in characters.
MAX_EXCERPT_CHARACTERS = 200
_LABEL_WORDS_PATTERN = (
    r"(?:full(?:y)?|supported|entail\w*|yes|correct|true|left|right|better|best)"
)
_JUDGE_INSTRUCTION_PATTERN = re.compile(
    "|".join(
        (
            r"\b(?:ignore|disregard|forget)\b[^.\n]{0,40}\b(?:above|previous|prior|earlier|instructions?|prompt)\b",
            rf"\b(?:rate|grade|label|judge|mark|score)\s+(?:this|it|them|the\s+\w+)\s+(?:as\s+)?{_LABEL_WORDS_PATTERN}\b",
            # Each blank can match in only one way, so that matching takes linear time.
            rf"\b(?:answer|reply|respond|output)\s+(?:only\s+)?(?:(?:with|just|only)\s*)?[“\"']?{_LABEL_WORDS_PATTERN}\b",
            r"\byou\s+are\s+(?:now\s+)?(?:an?|the)\s+(?:\w+\s+)?(?:judge|grader|evaluator|assistant|language\s+model)\b",
            r"</?(?:system|think|instructions?)>|<\|\w+\|>",
        )
    ),
    re.IGNORECASE,
)


def find_judge_instruction(text: str) -> str:
    """Return an excerpt around a phrase that seems to instruct the judge, or an empty
    text if the text has no such phrase.

    The search finds only phrases from a fixed list. Instructions can use other words,
    and a harmless text may contain a known phrase.
    """
    match = _JUDGE_INSTRUCTION_PATTERN.search(text)
    if match is None:
        return ""
    start = max(0, match.start() - MAX_EXCERPT_CHARACTERS // 4)
    return text[start : start + MAX_EXCERPT_CHARACTERS].strip()
