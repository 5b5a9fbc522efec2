"""Compute similarities of texts from six WordNet measures, with the formula of a system
of the CL-Summ pilot.

The paper (Jaidka et al., 2014) describes the formula in the section on the supervised
system of clair_umich, which follows an earlier paper (Banea et al., 2012). The senses
of a word are all of its noun and verb senses. The similarity of two words is the
similarity of their two most similar senses. The following six measures compare the
senses of words.

    path    1 / (1 + way), the way being the steps from both senses to an ancestor that they share
    wup     2 depth / (2 depth + way), of that ancestor, a root having depth 1 (Wu and Palmer 1994)
    lch     -ln((1 + way) / 2D), D being the most steps below a root in its part of speech (Leacock and
            Chodorow 1998)
    resnik  the ancestor's information, -ln of its share of all that is counted (Resnik 1995)
    jcn     1 / (the information of both senses less twice the ancestor's) (Jiang and Conrath 1997)
    lin     twice the ancestor's information by that of both senses (Lin 1998)

The shared ancestor with the highest value is used. Values are at least 0. Two senses
without a common ancestor have the similarity 0. The paper does not say from which texts
information content is computed. The module computes information content from the
compared texts, and divides the count of a word among the senses of the word.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from scoring.metrics.base import Floats, divide_or_zero

WORDNET_MEASURES = ("path", "wup", "lch", "resnik", "jcn", "lin")
PARTS_OF_SPEECH = ("n", "v")
#: The least denominator of the measure `jcn`, so that its values are finite.
MIN_JCN_DENOMINATOR = 0.01
TokenizedTexts = Sequence[Sequence[str]]


class AncestorPath(NamedTuple):
    """A path from a word to one of the ancestors of its senses.

    ``steps`` is the number of steps on the path. Among the senses of the word that are
    below the ancestor, ``information`` is the lowest information content.
    """

    steps: int
    information: float


def compute_sentence_similarities(
    citances: TokenizedTexts, sentences: TokenizedTexts, wordnet: Any
) -> Floats:
    """Return the six similarities of each pair of a citance and a sentence, as an array
    of shape (citances, sentences, 6). Each text is a list of words.

    A similarity is ``(shared + sum of best) * 2|C||R| / (|C| + |R|)``. In the formula,
    ``shared`` is the number of senses that both texts have. For each word of the
    shorter text without a common sense, ``sum of best`` adds the highest similarity to
    a word of the other text.
    """
    senses = WordSenses([*citances, *sentences], wordnet)
    vocabulary = [
        list(dict.fromkeys(chain.from_iterable(texts)))
        for texts in (citances, sentences)
    ]
    table = senses.compute_word_similarities(*vocabulary)
    first, second = (
        [
            _PlacedText.of(
                text, {word: index for index, word in enumerate(words)}, senses
            )
            for text in texts
        ]
        for texts, words in zip((citances, sentences), vocabulary, strict=True)
    )
    by_sentence = [_find_best_similarities(table, other.places) for other in second]
    turned = table.transpose(0, 2, 1)
    values = np.zeros((len(first), len(second), len(WORDNET_MEASURES)))
    for row, one in enumerate(first):
        to_citance = _find_best_similarities(turned, one.places)
        for column, other in enumerate(second):
            shorter, longer, likest = one, other, by_sentence[column]
            if len(one.places) > len(other.places):
                shorter, longer, likest = other, one, to_citance
            unshared = likest[:, shorter.list_unshared_positions(longer)].sum(axis=1)
            values[row, column] = len(one.senses & other.senses) + unshared
    lengths = [
        np.array([len(text) for text in texts], float)
        for texts in (citances, sentences)
    ]
    by_length = 2 * np.outer(*lengths), np.add.outer(*lengths)
    return values * divide_or_zero(*by_length)[:, :, np.newaxis]


def _find_best_similarities(table: Floats, places: Sequence[int]) -> Floats:
    return np.asarray(table[:, :, places].max(axis=2, initial=0))


class _PlacedText(NamedTuple):
    places: list[int]
    of_words: list[frozenset[Any]]
    senses: frozenset[Any]

    @classmethod
    def of(
        cls, text: Sequence[str], places: Mapping[str, int], senses: "WordSenses"
    ) -> "_PlacedText":
        of_words = [senses.of(word) for word in text]
        return cls(
            [places[word] for word in text], of_words, frozenset().union(*of_words)
        )

    def list_unshared_positions(self, other: "_PlacedText") -> list[int]:
        pairs = zip(self.places, self.of_words, strict=True)
        return [place for place, senses in pairs if senses.isdisjoint(other.senses)]


class WordSenses:
    def __init__(self, texts: TokenizedTexts, wordnet: Any) -> None:
        self._wordnet = wordnet
        self._of: dict[str, frozenset[Any]] = {}
        self._ancestors: dict[Any, dict[Any, int]] = {}
        self._counts: dict[Any, float] = defaultdict(float)
        self._all = dict.fromkeys(PARTS_OF_SPEECH, 0.0)
        for word, count in Counter(word for text in texts for word in text).items():
            senses = self.of(word)
            for sense in senses:
                self._all[sense.pos()] += count / len(senses)
                for ancestor in self.find_ancestors(sense):
                    self._counts[ancestor] += count / len(senses)

    def of(self, word: str) -> frozenset[Any]:
        if word not in self._of:
            groups = (self._wordnet.synsets(word, pos=part) for part in PARTS_OF_SPEECH)
            self._of[word] = frozenset(sense for senses in groups for sense in senses)
        return self._of[word]

    def find_ancestors(self, sense: Any) -> Mapping[Any, int]:
        """Return the sense and its ancestors, with the smallest number of steps from
        the sense to each ancestor.
        """
        if sense not in self._ancestors:
            steps_to = self._ancestors[sense] = {}
            for ancestor, steps in sense.hypernym_distances():
                steps_to[ancestor] = min(steps, steps_to.get(ancestor, steps))
        return self._ancestors[sense]

    def compute_information_content(self, sense: Any) -> float:
        return float(-np.log(self._counts[sense] / self._all[sense.pos()]))

    def compute_word_similarities(
        self, first: Sequence[str], second: Sequence[str]
    ) -> Floats:
        """Return six similarities of each pair of words, as an array of shape (6,
        first, second).
        """
        table = np.zeros((len(WORDNET_MEASURES), len(first), len(second)))
        below = self._group_paths_by_ancestor(second)
        for row, word in enumerate(first):
            for ancestor, way in self._find_ancestor_paths(word).items():
                if ancestor in below:
                    columns, steps, information = below[ancestor]
                    values = self._compute_measures(ancestor, way, steps, information)
                    table[:, row, columns] = np.maximum(table[:, row, columns], values)
        return table

    def _find_ancestor_paths(self, word: str) -> Mapping[Any, AncestorPath]:
        ways: dict[Any, AncestorPath] = {}
        for sense in self.of(word):
            information = self.compute_information_content(sense)
            for ancestor, steps in self.find_ancestors(sense).items():
                before = ways.get(ancestor, AncestorPath(steps, information))
                ways[ancestor] = AncestorPath(
                    min(before.steps, steps), min(before.information, information)
                )
        return ways

    def _group_paths_by_ancestor(
        self, words: Iterable[str]
    ) -> dict[Any, tuple[Any, Floats, Floats]]:
        paths: dict[Any, list[tuple[int, AncestorPath]]] = defaultdict(list)
        for index, word in enumerate(words):
            for ancestor, way in self._find_ancestor_paths(word).items():
                paths[ancestor].append((index, way))
        below = {}
        for ancestor, path in paths.items():
            places, ways = zip(*path, strict=True)
            steps, information = zip(*ways, strict=True)
            below[ancestor] = (
                np.array(places),
                np.array(steps, float),
                np.array(information),
            )
        return below

    def _compute_measures(
        self, ancestor: Any, first: AncestorPath, steps: Floats, information: Floats
    ) -> Floats:
        way = first.steps + steps
        depth = ancestor.max_depth() + 1
        shared, both = (
            self.compute_information_content(ancestor),
            first.information + information,
        )
        everything = self._all[ancestor.pos()]
        return np.stack(
            [
                1 / (1 + way),
                2 * depth / (2 * depth + way),
                -np.log(
                    (1 + way) / (2 * find_greatest_depth(self._wordnet, ancestor.pos()))
                ),
                np.full_like(way, shared),
                1
                / np.maximum(
                    both - 2 * shared,
                    -np.log((everything - MIN_JCN_DENOMINATOR) / everything),
                ),
                divide_or_zero(np.full_like(both, 2 * shared), both),
            ]
        )


@lru_cache(maxsize=4)
def find_greatest_depth(wordnet: Any, part_of_speech: str) -> int:
    """Return the greatest depth of all senses of a part of speech, or 1 if no sense is
    deeper.
    """
    return max(
        1, *(int(sense.max_depth()) for sense in wordnet.all_synsets(part_of_speech))
    )
