"""Texts that speak of the paper that they stand in, by key phrases.

Funkquist et al. 2023, CiteBench: table 11 has four phrases, the released program a fifth.
"""

from __future__ import annotations

#: Looked for in lower case, anywhere in the text. The last is the program's; it holds the first.
SELF_REFERENCES = (
    "our work",
    "in this paper",
    "we present",
    "we introduce",
    "the main objective of our work",
)
#: Those that the paper prints.
PRINTED = SELF_REFERENCES[:4]


def refers_to_itself(text: str, phrases: tuple[str, ...] = SELF_REFERENCES) -> bool:
    lowered = text.lower()
    return any(phrase in lowered for phrase in phrases)
