"""Pairs of texts for scorers: alike and unlike, long and short, plain and odd."""

import random

SUFFIXES = (
    "",
    "s",
    "ed",
    "ing",
    "y",
    "ies",
    "ied",
    "eed",
    "ational",
    "tional",
    "enci",
    "anci",
    "izer",
    "bli",
    "abli",
    "alli",
    "fulli",
    "entli",
    "eli",
    "ousli",
    "ization",
    "ation",
    "ator",
    "alism",
    "iveness",
    "fulness",
    "ousness",
    "aliti",
    "iviti",
    "biliti",
    "logi",
    "icate",
    "ative",
    "alize",
    "iciti",
    "ical",
    "ful",
    "ness",
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
    "ion",
    "sion",
    "tion",
    "ou",
    "ism",
    "ate",
    "iti",
    "ous",
    "ive",
    "ize",
    "e",
    "ll",
    "le",
)


def likely_words(rng: random.Random, count: int) -> list[str]:
    """Words with the endings that stemmers look at, so that every condition is met and missed."""
    stems = (
        "".join(rng.choices("aeiouybcdlrstnyyzxw0", k=rng.randint(0, 5)))
        for _ in range(count)
    )
    return [
        stem + rng.choice(SUFFIXES) + rng.choice(("", "", "s", "ed", "ing", "ly", "e"))
        for stem in stems
    ]


def small_alphabet_pairs(
    rng: random.Random, count: int, words: int, letters: str, break_share: float
) -> list[tuple[str, str]]:
    """Texts of up to so many words drawn from few, with a line break now and then."""
    vocabulary = [
        *letters,
        *(f"{letter}ies" for letter in letters[:2]),
        "cats",
        "ponies",
    ]

    def text() -> str:
        drawn = rng.choices(vocabulary, k=rng.randint(0, words))
        return "".join(
            word + ("\n" if rng.random() < break_share else " ") for word in drawn
        )

    return [(text(), text()) for _ in range(count)]


def related_pairs(
    rng: random.Random, count: int, words: int, sentence: int = 20
) -> list[tuple[str, str]]:
    """References of about so many words of a Zipf distribution, in sentences; predictions keep some spans
    of them.
    """
    vocabulary = sorted(
        set(likely_words(rng, 6000)) - {""}, key=lambda word: (len(word), word)
    )
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]

    def drawn(k: int) -> list[str]:
        return rng.choices(vocabulary, weights, k=k)

    pairs = []
    for _ in range(count):
        reference = drawn(max(5, int(rng.gauss(words, words / 5))))
        prediction: list[str] = []
        for start in range(0, len(reference), 6):
            span = reference[start : start + 6]
            fate = rng.random()
            prediction += (
                span
                if fate < 0.4
                else span[::-1]
                if fate < 0.5
                else drawn(rng.randint(1, 8))
            )
        pairs.append((_written(reference, sentence), _written(prediction, sentence)))
    return pairs


def _written(words: list[str], sentence: int) -> str:
    lines = [
        words[start : start + sentence] for start in range(0, len(words), sentence)
    ]
    return "\n".join(" ".join(line).capitalize() + "." for line in lines)


def odd_texts() -> list[str]:
    return [
        "",
        " ",
        "\n\n",
        "\r\n",
        "!!!",
        "??",
        "A",
        "a.",
        "A.\nB.",
        "b a",
        "the the the",
        "the the",
        "0",
        "[0]",
        "İstanbul naïve café 東京 x2",
        "istanbul naive cafe x2",
        "\u212aelvin ſtrange",
        "kelvin strange",
        "running runs ran runner",
        "run running",
        "a\n\nb\nc",
        "c\nb\na",
        "x y z\nx y z",
        "x y z",
        "don't",
        "tests' don't",
        "ﬁnally ｆｕｌｌ ２０",
        "e\u0301tude \u200b zero-width",
        "emoji 😀 smile",
        "\x00null\x81byte\x80",
        "tab\tand\x0bvertical\x1cfile\x85next\u2028line",
        "\ud800 lone surrogate",
        "UPPER lower Mixed",
        "dying skies news innings proceeded",
        "word " * 70,
        "one\ntwo\n" * 20,
        "α β γ",
        "ß straße",
    ]
