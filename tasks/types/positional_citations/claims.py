"""From a cited sentence to its atomic claims: a pure function of the sentence and its parse.

After Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation, NAACL, section 4.1 and
appendix D.
"""

from __future__ import annotations

import re
import string
from dataclasses import dataclass
from enum import StrEnum

from tasks.types.positional_citations.sentences import (
    MARK,
    marks,
    number,
    without_marks,
    without_plain_marks,
)

#: A longer sentence is not parsed, as parsers are poor at it; its words are counted by white space.
MAX_WORDS = 50
#: Nor is one of so many characters, whatever its words; no sentence that somebody wrote to be read has them.
MAX_CHARACTERS = 2000


class Fallback(StrEnum):
    """Why a cited sentence is not split into claims."""

    TOO_LONG = "too_long"
    ROOT_CITED = "root_cited"
    UNMATCHED = "unmatched"


@dataclass(frozen=True)
class ClaimRules:
    """How sentences are split. ``is_official`` does it as the released program, commas and all."""

    is_official: bool = False
    merge_groups: bool = False


@dataclass(frozen=True)
class Claim:
    """What a group of marks vouches for. Its marks stand in order, each as often as it was given.
    ``position`` is the share of the sentence's tokens up to the cited one; None where the claim is the whole
    sentence.
    """

    text: str
    marks: Marks
    position: float | None = None


@dataclass(frozen=True)
class Sentence:
    """A sentence and what of it is claimed. ``lost`` counts groups of marks that no claim has."""

    text: str
    claims: tuple[Claim, ...] = ()
    fallback: Fallback | None = None
    lost: int = 0
    words: Words | None = None
    parse: Parse | None = None


def text_to_parse(sentence: str, rules: ClaimRules) -> str | None:
    """What a parser has to be asked about a sentence; None where nothing."""
    if not MARK.search(sentence) or _is_too_long(sentence):
        return None
    return _words(sentence, rules).text or None


def split_into_claims(
    sentence: str, parse: Parse | None, rules: ClaimRules
) -> Sentence:
    """The claims of a sentence, given the parse of what ``text_to_parse`` says."""
    if not MARK.search(sentence):
        return Sentence(sentence)
    if _is_too_long(sentence):
        remove = without_marks if rules.is_official else without_plain_marks
        whole = Claim(remove(sentence), tuple(marks(sentence)))
        return Sentence(sentence, (whole,), Fallback.TOO_LONG)
    words = _words(sentence, rules)
    nodes, lost = _nodes(words, parse, merge=rules.merge_groups)
    if parse is None or parse.root is None or not nodes:
        return Sentence(
            sentence,
            (),
            Fallback.UNMATCHED,
            len(words.groups) + words.lost,
            words,
            parse,
        )
    if parse.root in nodes:
        text = without_marks(cleaned(sentence)) if rules.is_official else words.text
        whole = Claim(text, tuple(marks(cleaned(sentence))))
        return Sentence(sentence, (whole,), Fallback.ROOT_CITED, 0, words, parse)
    claims = []
    for node, group in nodes.items():
        tree = Tree(parse, parse.root)
        # Groups under another root than the last have no claim.
        if node in tree:
            for other in nodes:
                if other != node and other in tree:
                    tree.separate(node, other)
            claims.append(Claim(tree.text(), group, (node + 1) / len(parse.tokens)))
    lost += words.lost + len(nodes) - len(claims)
    if rules.is_official:
        # The released program keeps claims by their text.
        claims = list({claim.text: claim for claim in claims}.values())
    return Sentence(sentence, tuple(claims), None, lost, words, parse)


def _is_too_long(sentence: str) -> bool:
    return len(sentence) > MAX_CHARACTERS or len(sentence.split()) > MAX_WORDS


def _words(sentence: str, rules: ClaimRules) -> Words:
    stripped = string.punctuation if rules.is_official else STRIPPED
    # Split a cleaned sentence. Neighbouring marks are one group, which belongs to the word before it,
    # or to the first word where there is none. Of two groups at one word, as around a comma that is no
    # word, the later one stays, unless they are to ``merge``.
    words: list[str] = []
    groups: dict[int, Marks] = {}
    group: list[int] = []
    lost = 0
    pieces = (
        piece
        for word in cleaned(sentence).split()
        for piece in _AROUND_MARKS.split(word)
    )
    for piece in filter(None, pieces):
        if MARK.fullmatch(piece):
            group.append(number(piece))
            continue
        lost += join(
            groups, max(len(words) - 1, 0), tuple(group), merge=rules.merge_groups
        )
        group = []
        words.append(piece.strip(stripped))
    lost += join(groups, max(len(words) - 1, 0), tuple(group), merge=rules.merge_groups)
    return Words(tuple(words), groups, lost)


def _nodes(
    words: Words, parse: Parse | None, *, merge: bool
) -> tuple[dict[int, Marks], int]:
    """Each group by the token that stands for its word, and how many groups have none or lost it. The token
    is the nearest one that contains the word or is contained in it; of two the first.
    """
    nodes: dict[int, Marks] = {}
    lost = 0
    for place, group in words.groups.items():
        word = words.words[place] if words.words else ""
        tokens = parse.tokens if parse and words.words else ()
        alike = [
            (abs(n - place), n)
            for n, token in enumerate(tokens)
            if word in token or token in word
        ]
        lost += join(nodes, min(alike)[1], group, merge=merge) if alike else 1
    return nodes, lost


_NEITHER_WORD_NOR_MARK = re.compile(r"[^\w\s\[\],]")
_AROUND_MARKS = re.compile(f"({MARK.pattern})")
#: What words lose at both ends. The comma stays, as it does in the figures of the paper.
STRIPPED = string.punctuation.replace(",", "")

Marks = tuple[int, ...]


@dataclass(frozen=True)
class Words:
    """A sentence without its marks, and each group of marks by the number of the word before it. ``lost``
    counts groups that another group at the same word replaced.
    """

    words: tuple[str, ...]
    groups: dict[int, Marks]
    lost: int = 0

    @property
    def text(self) -> str:
        """What is parsed. An empty word, which was only punctuation, shows as two spaces."""
        return " ".join(self.words)


def cleaned(sentence: str) -> str:
    """Letters, digits, underscores, white space, commas and square brackets."""
    return _NEITHER_WORD_NOR_MARK.sub("", sentence)


def join(groups: dict[int, Marks], place: int, group: Marks, *, merge: bool) -> int:
    """Put a group at its place; returns how many groups are lost by that."""
    if not group:
        return 0
    before = groups.get(place, ())
    groups[place] = (*before, *group) if merge else group
    return int(bool(before) and not merge)


ROOT = "ROOT"
_CONJUNCTIONS = frozenset({"cc", "CC"})


@dataclass(frozen=True)
class Parse:
    """Tokens, and for each the number of its head and its relation to it. The head of a root is the root
    itself.
    """

    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]

    @property
    def root(self) -> int | None:
        """The last root: a parser that sees several sentences in one gives several. None without tokens."""
        roots = [
            token for token, relation in enumerate(self.relations) if relation == ROOT
        ]
        return roots[-1] if roots else None


class Tree:
    """One copy of the tree under the last root, to be cut. Nodes are numbers of tokens."""

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
            if relation != ROOT:
                self._children[head].append(token)
                self._parent[token] = head
                self._relation[token] = relation
        self._hung_twice: int | None = None

    def __contains__(self, node: int) -> bool:
        return self._way_up(node)[-1] == self.root

    def separate(self, kept: int, other: int) -> None:
        """Cut off what belongs to the other node and not to the own one. Both are in the tree."""
        above = self._way_up(kept)
        top = next(node for node in self._way_up(other) if node in above)
        # What is below a child that hangs twice under the root is found twice, and the root is the lowest.
        if self._hung_twice in self._way_up(top):
            top = self.root
        if top == kept:
            self._cut(self._child_towards(top, other))
        elif top == other:
            self._put_in_place_of(top, self._child_towards(top, kept))
        else:
            self._separate_children(
                top, self._child_towards(top, kept), self._child_towards(top, other)
            )

    def text(self) -> str:
        """The remaining tokens in order, joined by spaces."""
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
            if tokens[one] == "," or self._relation[one] in _CONJUNCTIONS
        ]
        if not between:
            if top == self.root:
                self._keep_only(kept)
            else:
                self._cut(other)
        elif kept < other:
            if top == self.root and self._is_opening(kept):
                self._keep_only(kept)
            else:
                self._cut(other, *between)
        elif top != self.root:
            self._cut(*(child for child in self._children[top] if child != kept))
        elif self._is_opening(other):
            self._cut(other, *between)
        else:
            self._keep_only(kept)

    def _keep_only(self, node: int) -> None:
        self.root, self._hung_twice = node, None

    def _is_opening(self, node: int) -> bool:
        """Whether it is a phrase or clause at the beginning of a sentence that can stand for itself."""
        return self._relation[node] in ("prep", "advcl") and node in self._way_up(0)

    def _put_in_place_of(self, top: int, child: int) -> None:
        """The child takes the place of its parent. A root has none to give: the child hangs under it once
        more.
        """
        self._relation[child] = None
        if top == self.root:
            self._hung_twice = child
            return
        above = self._parent.pop(top)
        self._children[above].remove(top)
        self._children[above].append(child)
        self._parent[child] = above

    def _cut(self, *nodes: int) -> None:
        for node in nodes:
            self._children[self._parent.pop(node)].remove(node)

    def _way_up(self, node: int) -> list[int]:
        """The node and what is above it, up to the root or to where it was cut off."""
        way = [node]
        while way[-1] != self.root and way[-1] in self._parent:
            way.append(self._parent[way[-1]])
        return way

    def _child_towards(self, top: int, node: int) -> int:
        way = self._way_up(node)
        return way[way.index(top) - 1]
