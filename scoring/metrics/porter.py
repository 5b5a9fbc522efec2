"""The Porter stemmer, in the variants of two ROUGE programs.

Porter 1980 describes the algorithm (An algorithm for suffix stripping, Program 14(3)).
Both variants map `bli` to `ble` and `logi` to `log`, as Porter's own later program
does. ``stem_as_rouge_score`` is the variant of the package rouge-score, which is NLTK's
stemmer. NLTK's stemmer adds a list of irregular words, changes the rules for final `y`
and `ied`, maps `fulli` to `ful`, and applies the rule for `alli` before the rest of
step 2. ``stem_as_rouge155`` is the variant of the Perl program ROUGE-1.5.5. Step 4 of
``stem_as_rouge155`` may remove one of `ment`, `ent` and `ion` after another suffix. We
derived both variants by comparing the stems of many words with those of the programs.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

#: All characters other than vowels count as consonants, including digits.
#: The letter `y` is a vowel or a consonant depending on the preceding letter.
_SHAPE_OF_BYTE = bytes(
    ord("v" if code in b"aeiou" else "y" if code == ord("y") else "c")
    for code in range(256)
)
#: No step of the stemmer changes words that end in these characters.
_UNSTEMMED_LAST_LETTERS = frozenset("abfhjkopqvwxz0123456789")

#: Maximum number of cached stems.
MAX_CACHED_STEMS = 1 << 18

STEM_BY_IRREGULAR_WORD = {
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "innings": "inning",
    "outings": "outing",
    "cannings": "canning",
    **{word: word for word in ("sky", "news", "inning", "outing", "canning", "howe")},
    **{word: word for word in ("proceed", "exceed", "succeed")},
}

RulesByEnding = Mapping[str, tuple[tuple[str, str], ...]]


def _group_rules_by_ending(rules: Iterable[tuple[str, str]]) -> RulesByEnding:
    by_ending: dict[str, tuple[tuple[str, str], ...]] = {}
    for suffix, replacement in rules:
        by_ending[suffix[-2:]] = (
            *by_ending.get(suffix[-2:], ()),
            (suffix, replacement),
        )
    return by_ending


STEP_2_RULES = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
)
_STEP_2_RULES_OF_155 = _group_rules_by_ending((*STEP_2_RULES, ("logi", "log")))
_STEP_2_RULES_OF_NLTK = _group_rules_by_ending((*STEP_2_RULES, ("fulli", "ful")))
_STEP_3_RULES = _group_rules_by_ending(
    (
        ("icate", "ic"),
        ("ative", ""),
        ("alize", "al"),
        ("iciti", "ic"),
        ("ical", "ic"),
        ("ful", ""),
        ("ness", ""),
    )
)
#: Porter's paper tests longer suffixes before shorter ones, like `ement` before `ment`.
_STEP_4_SUFFIXES = (
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
)
_STEP_4_RULES = _group_rules_by_ending((suffix, "") for suffix in _STEP_4_SUFFIXES)
_STEP_4_RULES_OF_155 = _group_rules_by_ending(
    (suffix, "") for suffix in _STEP_4_SUFFIXES if suffix not in ("ment", "ent")
)


def stem_as_rouge_score(word: str) -> str:
    """Return the stem that the package rouge-score computes for a lower-case ASCII word
    of any length.
    """
    if len(word) <= 2 or word[-1] in _UNSTEMMED_LAST_LETTERS:
        return word
    if word in STEM_BY_IRREGULAR_WORD:
        return STEM_BY_IRREGULAR_WORD[word]
    if word[-1] == "s":
        word = (
            word[:-1]
            if word.endswith("ies") and len(word) == 4
            else _apply_step_1a(word)
        )
    if word.endswith("ied"):
        word = word[:-1] if len(word) == 4 else word[:-2]
    elif word[-1] in "dg":
        word = _apply_step_1b(word, takes_short=True)
    if (
        word[-1] == "y"
        and len(word) > 2
        and _mark_consonants_and_vowels(word[:-1]).endswith(b"c")
    ):
        word = word[:-1] + "i"
    return _apply_step_5(
        _apply_step_4(_replace_suffix(_apply_step_2_of_nltk(word), _STEP_3_RULES)),
        takes_short=True,
    )


@lru_cache(MAX_CACHED_STEMS)
def stem_as_rouge155(word: str) -> str:
    """Return the stem that ROUGE-1.5.5 computes for a lower-case ASCII word of more
    than three characters.
    """
    word = _apply_step_1b(_apply_step_1a(word))
    if word.endswith("y") and b"v" in _mark_consonants_and_vowels(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_suffix(_replace_suffix(word, _STEP_2_RULES_OF_155), _STEP_3_RULES)
    return _apply_step_5(_apply_step_4_of_155(word))


def _mark_consonants_and_vowels(word: str) -> bytearray:
    """Return the word with `c` in place of each consonant and `v` in place of each
    vowel. The letter `y` after a consonant is a vowel.
    """
    shape = bytearray(word.encode().translate(_SHAPE_OF_BYTE))
    place = shape.find(b"y")
    while place >= 0:
        follows_consonant = place > 0 and shape[place - 1] == ord("c")
        shape[place] = ord("v" if follows_consonant else "c")
        place = shape.find(b"y", place)
    return shape


def _count_vowel_consonant_pairs(word: str) -> int:
    return _mark_consonants_and_vowels(word).count(b"vc")


def _ends_consonant_vowel_consonant(word: str, *, takes_short: bool) -> bool:
    """Return True if the word ends in consonant, vowel, consonant, which is condition
    *o of Porter's paper. If ``takes_short`` is True, also accept a word of one vowel
    and one consonant.
    """
    shape = _mark_consonants_and_vowels(word)
    return (
        word[-1] not in "wxy"
        if shape.endswith(b"cvc")
        else takes_short and shape == b"vc"
    )


def _apply_step_1a(word: str) -> str:
    if word[-1] != "s":
        return word
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word if word.endswith("ss") else word[:-1]


def _apply_step_1b(word: str, *, takes_short: bool = False) -> str:
    if word[-1] not in "dg":
        return word
    if word.endswith("eed"):
        return word[:-1] if _count_vowel_consonant_pairs(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        if word.endswith(suffix) and b"v" in _mark_consonants_and_vowels(
            word[: -len(suffix)]
        ):
            break
    else:
        return word
    word = word[: -len(suffix)]
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    shape = _mark_consonants_and_vowels(word)
    if len(word) > 1 and word[-1] == word[-2] and shape.endswith(b"c"):
        return word if word[-1] in "lsz" else word[:-1]
    return (
        word + "e"
        if shape.count(b"vc") == 1
        and _ends_consonant_vowel_consonant(word, takes_short=takes_short)
        else word
    )


def _replace_suffix(word: str, rules: RulesByEnding) -> str:
    """Replace a word's suffix by the first rule whose suffix matches. The rule applies
    only if the measure m of the stem is above 0.
    """
    for suffix, replacement in rules.get(word[-2:], ()):
        if word.endswith(suffix):
            stem = word[: -len(suffix)]
            return (
                stem + replacement if _count_vowel_consonant_pairs(stem) > 0 else word
            )
    return word


def _apply_step_2_of_nltk(word: str) -> str:
    while word.endswith("alli") and _count_vowel_consonant_pairs(word[:-4]) > 0:
        word = word[:-2]
    if word.endswith("logi"):
        # NLTK includes the `l` of `logi` in the stem, to accept stems like `geo`.
        return word[:-1] if _count_vowel_consonant_pairs(word[:-3]) > 0 else word
    return _replace_suffix(word, _STEP_2_RULES_OF_NLTK)


def _apply_step_4(word: str) -> str:
    if word.endswith("ion"):
        return _remove_suffix(word, "ion") if word[-4:-3] in ("s", "t") else word
    for suffix, _ in _STEP_4_RULES.get(word[-2:], ()):
        if word.endswith(suffix):
            return _remove_suffix(word, suffix)
    return word


def _apply_step_4_of_155(word: str) -> str:
    for suffix, _ in _STEP_4_RULES_OF_155.get(word[-2:], ()):
        if word.endswith(suffix):
            word = _remove_suffix(word, suffix)
            break
    for ending, suffix in (
        ("ment", "ment"),
        ("ent", "ent"),
        ("sion", "ion"),
        ("tion", "ion"),
    ):
        if word.endswith(ending) and (stem := _remove_suffix(word, suffix)) != word:
            return stem
    return word


def _remove_suffix(word: str, suffix: str) -> str:
    """Remove the suffix of a word if the measure m of its stem is above 1."""
    stem = word[: -len(suffix)]
    return stem if _count_vowel_consonant_pairs(stem) > 1 else word


def _apply_step_5(word: str, *, takes_short: bool = False) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        measure = _count_vowel_consonant_pairs(stem)
        if measure > 1 or (
            measure == 1
            and not _ends_consonant_vowel_consonant(stem, takes_short=takes_short)
        ):
            word = stem
    if word.endswith("ll") and _count_vowel_consonant_pairs(word[:-1]) > 1:
        word = word[:-1]
    return word
