"""What the parser by rules makes of drawn sentences, as the file beside this says it.

    python -m tests.tasks.types.standing_parses

writes the file anew, with the version that a change of a rule raises.
"""

# Parts of sentences stand in long lines.

import random
from pathlib import Path
from typing import Any

from tasks.types.positional_citations.claims import (
    ClaimSplittingRules,
    get_text_to_parse,
    split_into_claims,
)
from tasks.types.positional_citations.rule_parser import (
    RULE_PARSER_VERSION,
    parse_sentence_by_rules,
)
from tests.scoring.standing_numbers import digest, written

FILE = Path(__file__).with_suffix(".json")
BLOCKS, SENTENCES = 60, 12
#: A line a part of a sentence, its forms parted by bars.
PARTS = """\
the old bridge|Oslo|it|they|a study of three towns|most king crabs|we|she|this|both rivers|two hundred people|there\
|the running water|no tested drug|another ring
was built|is|holds|has not grown|grew|will reopen|can sing|was later destroyed|ended|isnt known|begins to fall|became\
|has been singing|is being|are kept|said that it was|would like|tells them|stood|need|is often used|leads|destroyed
|cold|a large stone wall|in 1969|on May 4, 1969|in May|by the army|of glass|May 1969|to Rome|to see the sea|running\
|in the near town|glass, clay, and iron|salt or sugar|the ice that melted|the king , who died in 1648|quickly\
|for which they paid|on 4 July , 1776|1,000 ships|in June 5 , 1776|his friend whose house burned|and then iron
,|, and|and|but|, which|, leaving towns poor|although|, while|because of|nor||, painted the|when|,  |  |unless|whose\
|that|, thus|, damaged by|or|where
Although sales fell,|In 1969,|When it rains|Being old,|However,|According to him,|To win,|Destroyed in May,|For years\
|If not|Once found,|Since the war of 1648,
"""  # noqa: E501
SUBJECTS, VERBS, OBJECTS, JOINTS, OPENINGS = (
    line.split("|") for line in PARTS.splitlines()
)


def sentence(draw: random.Random) -> str:
    """Clauses with their openings and joints; one in six is of words in any order."""
    parts = [draw.choice(OPENINGS)] if draw.random() < 0.4 else []
    for place in range(draw.randint(1, 4)):
        if place:
            parts.append(draw.choice(JOINTS))
        parts += [draw.choice(SUBJECTS), draw.choice(VERBS), draw.choice(OBJECTS)]
        if draw.random() < 0.4:
            parts += [draw.choice(OBJECTS), f"[{draw.randint(1, 4)}]"]
    if draw.random() < 1 / 6:
        parts = " ".join(parts).split(" ")
        draw.shuffle(parts)
    return " ".join(parts) + draw.choice((".", "", " [5]."))


def block(number: int) -> str:
    """A digest of the parses and of the claims that follow from them by both rule sets."""
    draw = random.Random(f"parses {number}")
    content: list[Any] = []
    for _ in range(SENTENCES):
        text = sentence(draw)
        content.append(parse_sentence_by_rules(text))
        for rules in (ClaimSplittingRules(), ClaimSplittingRules(is_official=True)):
            read = get_text_to_parse(text, rules)
            claims = split_into_claims(
                text, parse_sentence_by_rules(read) if read else None, rules
            ).claims
            content.append([(claim.text, list(claim.marks)) for claim in claims])
    return digest(content)


def everything() -> dict[str, Any]:
    return {
        "version": RULE_PARSER_VERSION,
        "blocks": [block(number) for number in range(BLOCKS)],
    }


if __name__ == "__main__":
    FILE.write_text(written(everything()) + "\n")
