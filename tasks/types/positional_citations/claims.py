"""Split a cited sentence into atomic claims by means of the sentence's dependency
parse.

The method is that of the paper “ALiiCE – Evaluating Positional Fine-grained Citation
Generation” (Xu and others, NAACL 2025, section 4.1 and appendix D).
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from enum import StrEnum

from tasks.types.positional_citations.sentences import (
    CITATION_MARK_PATTERN,
    list_mark_numbers,
    parse_mark_number,
    remove_marks,
    remove_marks_like_alce,
)

#: Parsers are unreliable, and not used, on sentences of more than `MAX_PARSED_WORDS` words.
MAX_PARSED_WORDS = 50
#: Texts of more than `MAX_PARSED_CHARACTERS` characters are not split into claims.
#: The limit `MAX_PARSED_CHARACTERS` is greater than the length of any normal sentence.
MAX_PARSED_CHARACTERS = 2000


class UnsplitReason(StrEnum):
    """The reason why no separate claims were made from a cited sentence."""

    TOO_LONG = "too_long"
    ROOT_CITED = "root_cited"
    UNMATCHED = "unmatched"


@dataclass(frozen=True)
class ClaimSplittingRules:
    """The variant of the rules that split sentences into claims. If ``is_official`` is
    True, sentences are split as by the released ALiiCE program, including its treatment
    of commas.
    """

    is_official: bool = False
    merge_groups: bool = False


@dataclass(frozen=True)
class AtomicClaim:
    """An atomic claim of a sentence, which is the text that a group of adjacent
    citation marks supports.

    ``marks`` lists the numbers in the citation marks in the order of the text, with
    repetitions. ``position`` is the number of tokens up to the last token before the
    marks, divided by the number of tokens in the sentence. ``position`` is None if the
    whole sentence is the claim.
    """

    text: str
    marks: CitationMarkNumbers
    position: float | None = None


@dataclass(frozen=True)
class SentenceWithClaims:
    """A sentence with citation marks, and the claims into which the sentence is split.
    ``lost`` is the number of groups of adjacent citation marks for which no claim was
    made.
    """

    text: str
    claims: tuple[AtomicClaim, ...] = ()
    fallback: UnsplitReason | None = None
    lost: int = 0
    words: WordsAndMarkGroups | None = None
    parse: Parse | None = None


def get_text_to_parse(sentence: str, rules: ClaimSplittingRules) -> str | None:
    """Return the text of a cited sentence that the dependency parser must parse, or
    None if no parse is needed.
    """
    if not CITATION_MARK_PATTERN.search(sentence) or _is_too_long(sentence):
        return None
    return _split_words_and_marks(sentence, rules).text or None


def split_into_claims(
    sentence: str, parse: Parse | None, rules: ClaimSplittingRules
) -> SentenceWithClaims:
    """Return a sentence with the claims into which the sentence is split. ``parse`` is
    the dependency parse of the text that `get_text_to_parse` returned for the sentence.
    """
    if not CITATION_MARK_PATTERN.search(sentence):
        return SentenceWithClaims(sentence)
    if _is_too_long(sentence):
        remove = remove_marks_like_alce if rules.is_official else remove_marks
        whole = AtomicClaim(remove(sentence), tuple(list_mark_numbers(sentence)))
        return SentenceWithClaims(sentence, (whole,), UnsplitReason.TOO_LONG)
    words = _split_words_and_marks(sentence, rules)
    nodes, lost = _match_groups_to_nodes(words, parse, merge=rules.merge_groups)
    if parse is None or parse.root is None or not nodes:
        return SentenceWithClaims(
            sentence,
            (),
            UnsplitReason.UNMATCHED,
            len(words.groups) + words.lost,
            words,
            parse,
        )
    if parse.root in nodes:
        text = (
            remove_marks_like_alce(remove_signs_outside_words(sentence))
            if rules.is_official
            else words.text
        )
        whole = AtomicClaim(
            text, tuple(list_mark_numbers(remove_signs_outside_words(sentence)))
        )
        return SentenceWithClaims(
            sentence, (whole,), UnsplitReason.ROOT_CITED, 0, words, parse
        )
    claims = []
    for node, group in nodes.items():
        tree = DependencyTree(parse, parse.root)
        # Only groups of citation marks below the last root of the parse yield claims.
        if node in tree:
            for other in nodes:
                if other != node and other in tree:
                    tree.remove_subtree_of_other_claim(node, other)
            claims.append(
                AtomicClaim(tree.text(), group, (node + 1) / len(parse.tokens))
            )
    lost += words.lost + len(nodes) - len(claims)
    if rules.is_official:
        # The released program counts two claims with the same text only once.
        claims = list({claim.text: claim for claim in claims}.values())
    return SentenceWithClaims(sentence, tuple(claims), None, lost, words, parse)


def _is_too_long(sentence: str) -> bool:
    return (
        len(sentence) > MAX_PARSED_CHARACTERS
        or len(sentence.split()) > MAX_PARSED_WORDS
    )


def _split_words_and_marks(
    sentence: str, rules: ClaimSplittingRules
) -> WordsAndMarkGroups:
    stripped = string.punctuation if rules.is_official else STRIPPED_PUNCTUATION
    # Adjacent citation marks form a group, and other text is divided into words.
    # A group of marks is stored with the word before the group, or with the first word.
    # If two groups have the same word, the later group replaces the earlier group.
    # The option ``merge_groups`` joins the later group to the earlier group instead.
    words: list[str] = []
    groups: dict[int, CitationMarkNumbers] = {}
    group: list[int] = []
    lost = 0
    pieces = (
        piece
        for word in remove_signs_outside_words(sentence).split()
        for piece in _SPLIT_AT_MARKS_PATTERN.split(word)
    )
    for piece in filter(None, pieces):
        if CITATION_MARK_PATTERN.fullmatch(piece):
            group.append(parse_mark_number(piece))
            continue
        lost += add_mark_group(
            groups, max(len(words) - 1, 0), tuple(group), merge=rules.merge_groups
        )
        group = []
        words.append(piece.strip(stripped))
    lost += add_mark_group(
        groups, max(len(words) - 1, 0), tuple(group), merge=rules.merge_groups
    )
    return WordsAndMarkGroups(tuple(words), groups, lost)


def _match_groups_to_nodes(
    words: WordsAndMarkGroups, parse: Parse | None, *, merge: bool
) -> tuple[dict[int, CitationMarkNumbers], int]:
    nodes: dict[int, CitationMarkNumbers] = {}
    lost = 0
    for place, group in words.groups.items():
        word = words.words[place] if words.words else ""
        tokens = parse.tokens if parse and words.words else ()
        alike = [
            (abs(n - place), n)
            for n, token in enumerate(tokens)
            if word in token or token in word
        ]
        lost += add_mark_group(nodes, min(alike)[1], group, merge=merge) if alike else 1
    return nodes, lost


_SIGNS_OUTSIDE_WORDS_AND_MARKS = re.compile(r"[^\w\s\[\],]")
_SPLIT_AT_MARKS_PATTERN = re.compile(f"({CITATION_MARK_PATTERN.pattern})")
#: `STRIPPED_PUNCTUATION` contains punctuation marks that are removed from both ends of words.
#: Commas are not removed, because claims in the paper's figures contain commas.
STRIPPED_PUNCTUATION = string.punctuation.replace(",", "")

CitationMarkNumbers = tuple[int, ...]


@dataclass(frozen=True)
class WordsAndMarkGroups:
    """The words of a sentence, and its citation marks as groups, each under the index
    of the word before the group.

    ``lost`` is the number of groups of marks that were replaced by a later group at the
    same word.
    """

    words: tuple[str, ...]
    groups: dict[int, CitationMarkNumbers]
    lost: int = 0

    @property
    def text(self) -> str:
        """Return the words as one text, which the dependency parser parses. Two spaces
        follow each other in the text at the place of a word that consisted of
        punctuation marks.
        """
        return " ".join(self.words)


def remove_signs_outside_words(sentence: str) -> str:
    """Remove all characters of a sentence except letters, digits, underscores, white
    space, commas and square brackets.
    """
    return _SIGNS_OUTSIDE_WORDS_AND_MARKS.sub("", sentence)


def add_mark_group(
    groups: dict[int, CitationMarkNumbers],
    place: int,
    group: CitationMarkNumbers,
    *,
    merge: bool,
) -> int:
    """Store a group of adjacent citation marks under the index of a word. Return 1 if
    the new group replaced an earlier group at the word, otherwise 0.
    """
    if not group:
        return 0
    before = groups.get(place, ())
    groups[place] = (*before, *group) if merge else group
    return int(bool(before) and not merge)


ROOT_RELATION = "ROOT"
_CONJUNCTION_RELATIONS = frozenset({"cc", "CC"})


@dataclass(frozen=True)
class Parse:
    """The dependency parse of a sentence, with a head and a relation for each token.
    For each token, ``heads`` contains the index of the head, and ``relations`` contains
    the name of the dependency relation to the head. The root of the sentence is its own
    head.
    """

    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def root(self) -> int | None:
        """Return the index of the last root token in the parse, or None if the parse
        has no tokens. A parse has several roots if the parser splits its text into
        several sentences.
        """
        roots = [
            token
            for token, relation in enumerate(self.relations)
            if relation == ROOT_RELATION
        ]
        return roots[-1] if roots else None


class DependencyTree:
    """A copy of a dependency tree, which contains the tokens below the last root. The
    nodes of the tree are token indexes. Methods remove subtrees from the copy of the
    tree, and do not change the parse.
    """

    def __init__(self, parse: Parse, root: int) -> None:
        self._parse = parse
        self.root = root
        self._children: dict[int, list[int]] = {
            token: [] for token in range(len(parse.tokens))
        }
        self._parent: dict[int, int] = {}
        self._relation: dict[int, str | None] = {}
        for token, (head, relation) in enumerate(
            zip(parse.heads, parse.relations, strict=True)
        ):
            if relation != ROOT_RELATION:
                self._children[head].append(token)
                self._parent[token] = head
                self._relation[token] = relation
        self._hung_twice: int | None = None

    def __contains__(self, node: int) -> bool:
        return self._list_path_to_root(node)[-1] == self.root

    def remove_subtree_of_other_claim(self, kept: int, other: int) -> None:
        """Remove the subtree with the cited token ``other`` from the tree, so that the
        tree contains the claim of the cited token ``kept``. The tree must contain the
        token ``kept`` and the token ``other``.
        """
        above = self._list_path_to_root(kept)
        top = next(node for node in self._list_path_to_root(other) if node in above)
        if self._hung_twice in self._list_path_to_root(top):
            top = self.root
        if top == kept:
            self._detach_nodes(self._find_child_towards(top, other))
        elif top == other:
            self._replace_node_by_child(top, self._find_child_towards(top, kept))
        else:
            self._separate_children(
                top,
                self._find_child_towards(top, kept),
                self._find_child_towards(top, other),
            )

    def text(self) -> str:
        """Return the tokens that remain in the tree, in the order of the sentence and
        joined by spaces.
        """
        remaining, waiting = set(), [self.root]
        while waiting:
            node = waiting.pop()
            remaining.add(node)
            waiting.extend(
                child for child in self._children[node] if child not in remaining
            )
        return " ".join(self._parse.tokens[token] for token in sorted(remaining))

    def _separate_children(self, top: int, kept: int, other: int) -> None:
        low, high = sorted((kept, other))
        inside = (child for child in self._children[top] if low < child < high)
        tokens = self._parse.tokens
        between = [
            one
            for one in inside
            if tokens[one] == "," or self._relation[one] in _CONJUNCTION_RELATIONS
        ]
        if not between:
            if top == self.root:
                self._make_only_root(kept)
            else:
                self._detach_nodes(other)
        elif kept < other:
            if top == self.root and self._is_introductory_phrase(kept):
                self._make_only_root(kept)
            else:
                self._detach_nodes(other, *between)
        elif top != self.root:
            self._detach_nodes(
                *(child for child in self._children[top] if child != kept)
            )
        elif self._is_introductory_phrase(other):
            self._detach_nodes(other, *between)
        else:
            self._make_only_root(kept)

    def _make_only_root(self, node: int) -> None:
        self.root, self._hung_twice = node, None

    def _is_introductory_phrase(self, node: int) -> bool:
        return self._relation[node] in (
            "prep",
            "advcl",
        ) and node in self._list_path_to_root(0)

    def _replace_node_by_child(self, top: int, child: int) -> None:
        self._relation[child] = None
        if top == self.root:
            self._hung_twice = child
            return
        above = self._parent.pop(top)
        self._children[above].remove(top)
        self._children[above].append(child)
        self._parent[child] = above

    def _detach_nodes(self, *nodes: int) -> None:
        for node in nodes:
            self._children[self._parent.pop(node)].remove(node)

    def _list_path_to_root(self, node: int) -> list[int]:
        way = [node]
        while way[-1] != self.root and way[-1] in self._parent:
            way.append(self._parent[way[-1]])
        return way

    def _find_child_towards(self, top: int, node: int) -> int:
        way = self._list_path_to_root(node)
        return way[way.index(top) - 1]
