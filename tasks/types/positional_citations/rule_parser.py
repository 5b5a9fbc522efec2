"""A rule-based dependency parser of English, which is used if no spaCy pipeline is
installed.

The parser determines the tag of each word from word lists and endings, and then finds
phrases and clauses. Only main verbs, coordination and noun phrases are parsed in
detail, because claims need no other structure. The relations between words have the
same names as in spaCy. The rule-based parser is less accurate than a spaCy pipeline.
"""

import re
from collections.abc import Sequence
from enum import Enum

from tasks.types.positional_citations.claims import ROOT_RELATION, Parse

#: Metric signatures contain `RULE_PARSER_VERSION`, because scores depend on the parser.
#: `RULE_PARSER_VERSION` must be increased with every change of a parsing rule or of a word list.
RULE_PARSER_VERSION = "rules-1"

_PartOfSpeech = Enum(
    "_PartOfSpeech",
    "COMMA NOUN PREPOSITION CONJUNCTION SUBORDINATOR RELATIVE AUXILIARY VERB PARTICIPLE ADVERB TO SPACE",
)


def _split_word_list(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


#: `_TAG_BY_WORD` maps words to tags, such as `and` to CONJUNCTION.
#: The ending and the neighbours of a word outside `_TAG_BY_WORD` determine its tag.
_TAG_BY_WORD = {
    word: tag
    for tag, words in {
        _PartOfSpeech.COMMA: ",",
        _PartOfSpeech.PREPOSITION: "about above across after against along among around as at "
        "before behind below between by despite during except for from in inside into like near of "
        "off on onto out outside over per through throughout towards under upon via with within without",
        _PartOfSpeech.CONJUNCTION: "and or but nor",
        _PartOfSpeech.SUBORDINATOR: "although because if once though unless whereas "
        "while when where since until",
        _PartOfSpeech.RELATIVE: "which who whom whose",
        _PartOfSpeech.TO: "to",
        _PartOfSpeech.AUXILIARY: "is are was were be been being has have had having do does "
        "did will would can could may might shall should must get gets got",
        _PartOfSpeech.ADVERB: "not nt never also often always still later respectively "
        "annually then thus however",
        _PartOfSpeech.VERB: "became become becomes began begin begins brings brought came come comes "
        "describe describes died fell fall falls found gave give gives go goes grew grows held hold holds "
        "include includes kept know knows knew known lay led lead leads left lie lies lose lost make makes "
        "made mean means met occur occurs paid ran reach reaches rise rises rose said say says saw sent "
        "show shows shown sold spoke stand stands stood take takes took taken tell told think thought "
        "went win won write wrote written drew fly flew cut built cause causes follow follows cover covers "
        "use uses contain contains appear appears need needs sing sang keep keeps",
    }.items()
    for word in words.split()
}
_PHRASE_BEGINNING_WORDS = _split_word_list(
    "a an the this these those each every some any no all both another its their his her our my your "
    "i he she it they we you"
)
_PRONOUNS = _split_word_list("i he she it they we you them him us me there")
_DETERMINERS_AND_DEGREE_WORDS = (_PHRASE_BEGINNING_WORDS - _PRONOUNS) | {"most", "more"}
_MONTHS = _split_word_list(
    "january february march april may june july august september october november december"
)
#: `_TOKEN_PATTERN` divides a text into the same tokens as spaCy, such as words and commas.
#: As in spaCy, the ending `nt` of `didnt` and additional spaces are tokens.
_TOKEN_PATTERN = re.compile(
    r"(?<=\s)\s+|,(?!\d)|\b(?:is|are|was|were|do|does|did|has|have|had|ca|could|should|would)(?=nt\b)"
    r"|(?:[^\s,]|,(?=\d))+",
    re.IGNORECASE,
)
_VERB_GROUP_TAGS = (_PartOfSpeech.AUXILIARY, _PartOfSpeech.VERB, _PartOfSpeech.ADVERB)
_COMMA_AND_SPACE_TAGS = (_PartOfSpeech.COMMA, _PartOfSpeech.SPACE)
#: `_NOUNS_WITH_VERB_ENDINGS` lists words that end in -ed or -ing but are not verbs.
_NOUNS_WITH_VERB_ENDINGS = _split_word_list(
    "need seed feed speed breed indeed hundred sacred thing something king ring spring"
)
_YEAR_PATTERN = re.compile(r"\d{4}")


def parse_sentence_by_rules(text: str) -> Parse:
    tokens = _TOKEN_PATTERN.findall(text)
    return _SentenceParser(tokens).parse_sentence() if tokens else Parse((), (), ())


class _SentenceParser:
    """The state of the parser, which reads the tokens of a sentence once from left to
    right. Words that depend on a verb but precede the verb are stored until the parser
    reaches the verb.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._low = [token.lower() for token in tokens]
        self._heads: list[int | None] = [None] * len(tokens)
        self._relations = ["dep"] * len(tokens)
        self._tags = [_PartOfSpeech.NOUN] * len(tokens)
        for place in range(len(tokens)):
            self._tags[place] = self._tag_word(place)
        #: `_verb` is the index of the verb in the current clause, or None.
        #: `_waiting` contains words that depend on the next verb, with relations.
        self._verb: int | None = None
        self._waiting: list[tuple[int, str]] = []
        self._main: int | None = None
        self._finite: int | None = None
        self._noun: int | None = None
        self._object: int | None = None
        self._preposition: int | None = None
        self._coordinated: int | None = None
        #: `_listed` is the index of the last noun in the current list of nouns.
        #: `_is_passive` is True if the current clause's verb is in the passive voice.
        self._listed: int | None = None
        self._is_passive = False
        #: `_coming` contains the relation and the head of the next verb.
        #: The next verb may be a conjunct, a subordinate verb, or the root.
        self._coming: tuple[str, int | None] = (ROOT_RELATION, None)
        #: `_around` contains the state of the clause around a relative clause.
        #: `_around` is None after the verb of the surrounding clause was found.
        self._around: (
            tuple[list[tuple[int, str]], tuple[str, int | None], int | None] | None
        ) = None

    def parse_sentence(self) -> Parse:
        place = 0
        while place < len(self._tokens):
            place = self._parse_token(place)
        root = self._main
        if root is None:
            # Without a recognised main verb, the first verb is the root.
            # Without any verb, the last noun is the root of the sentence.
            verbs = (
                index
                for index, tag in enumerate(self._tags)
                if tag in (_PartOfSpeech.VERB, _PartOfSpeech.AUXILIARY)
            )
            root = next(verbs, self._noun or 0)
        for token, head in enumerate(self._heads):
            if token == root:
                self._heads[token], self._relations[token] = token, ROOT_RELATION
            elif head is None:
                self._attach_token(token, root, self._relations[token])
        return Parse(
            tuple(self._tokens),
            tuple(head or 0 for head in self._heads),
            tuple(self._relations),
        )

    @property
    def _head_of_current_clause(self) -> int | None:
        return self._finite if self._finite is not None else self._verb

    def _attach_token(self, token: int, head: int | None, relation: str) -> None:
        self._heads[token], self._relations[token] = head, relation

    def _tag_word(self, place: int) -> _PartOfSpeech:
        word, before = (
            self._low[place],
            self._tags[place - 1] if place else _PartOfSpeech.COMMA,
        )
        before = _PartOfSpeech.COMMA if before is _PartOfSpeech.SPACE else before
        if not word.strip():
            return _PartOfSpeech.SPACE
        if word == "that":
            return {
                _PartOfSpeech.NOUN: _PartOfSpeech.RELATIVE,
                _PartOfSpeech.VERB: _PartOfSpeech.SUBORDINATOR,
            }.get(before, _PartOfSpeech.NOUN)
        if word == "may" and (
            before is _PartOfSpeech.PREPOSITION or self._is_number(place + 1)
        ):
            return _PartOfSpeech.NOUN
        if word in _TAG_BY_WORD:
            return _TAG_BY_WORD[word]
        in_phrase = (
            before is _PartOfSpeech.NOUN
            and self._low[place - 1] in _DETERMINERS_AND_DEGREE_WORDS
        )
        if (
            not in_phrase
            and word not in _NOUNS_WITH_VERB_ENDINGS
            and word.endswith(("ed", "ing"))
        ):
            return self._tag_participle(place, before)
        if word.endswith("ly") and before is not _PartOfSpeech.PREPOSITION:
            return _PartOfSpeech.ADVERB
        is_modal = before is _PartOfSpeech.AUXILIARY and self._low[place - 1] in (
            "can",
            "will",
            "would",
        )
        may_be_verb = word not in _PHRASE_BEGINNING_WORDS and not self._is_number(place)
        return (
            _PartOfSpeech.VERB
            if may_be_verb and (is_modal or before is _PartOfSpeech.TO)
            else _PartOfSpeech.NOUN
        )

    def _tag_participle(self, place: int, before: _PartOfSpeech) -> _PartOfSpeech:
        if self._low[place].endswith("ed"):
            if before in (
                _PartOfSpeech.AUXILIARY,
                _PartOfSpeech.ADVERB,
                _PartOfSpeech.CONJUNCTION,
                _PartOfSpeech.RELATIVE,
            ):
                return _PartOfSpeech.VERB
            return (
                _PartOfSpeech.PARTICIPLE
                if before in (_PartOfSpeech.NOUN, _PartOfSpeech.COMMA)
                else _PartOfSpeech.NOUN
            )
        follows = self._low[place + 1] if place + 1 < len(self._low) else ""
        if (
            before is _PartOfSpeech.AUXILIARY
            and _TAG_BY_WORD.get(follows) is not _PartOfSpeech.AUXILIARY
        ):
            return _PartOfSpeech.VERB
        is_apart = place > 0 and before in (
            _PartOfSpeech.COMMA,
            _PartOfSpeech.NOUN,
            _PartOfSpeech.SUBORDINATOR,
        )
        return (
            _PartOfSpeech.PARTICIPLE
            if is_apart and _TAG_BY_WORD.get(follows) is not _PartOfSpeech.AUXILIARY
            else _PartOfSpeech.NOUN
        )

    def _is_number(self, place: int) -> bool:
        return place < len(self._low) and self._low[place][:1].isdigit()

    def _parse_token(self, place: int) -> int:  # noqa: C901  (one branch for each tag)
        tag = self._tags[place]
        if tag is _PartOfSpeech.NOUN:
            return self._parse_noun_phrase(place)
        if tag in (
            _PartOfSpeech.VERB,
            _PartOfSpeech.AUXILIARY,
            _PartOfSpeech.PARTICIPLE,
        ):
            return self._parse_verb_group(place)
        if tag is _PartOfSpeech.TO and self._tags[place + 1 : place + 2] == [
            _PartOfSpeech.VERB
        ]:
            self._attach_token(place, place + 1, "aux")
            self._coming = ("xcomp", self._verb)
            return self._parse_verb_group(place + 1)
        if tag in (_PartOfSpeech.TO, _PartOfSpeech.PREPOSITION):
            self._attach_preposition(place)
        elif tag is _PartOfSpeech.CONJUNCTION:
            self._attach_conjunction(place)
        elif tag is _PartOfSpeech.SUBORDINATOR:
            return self._parse_subordinator(place)
        elif tag is _PartOfSpeech.RELATIVE:
            self._begin_relative_clause(place)
        elif tag is _PartOfSpeech.COMMA:
            self._attach_comma(place)
        elif tag is _PartOfSpeech.SPACE and place:
            self._attach_token(place, place - 1, "")
            self._end_introductory_clause()
        elif self._verb is not None:
            self._attach_token(place, self._verb, "advmod")
        else:
            self._waiting.append((place, "advmod"))
        return place + 1

    def _parse_noun_phrase(self, begin: int) -> int:
        end = begin + 1
        while (
            end < len(self._tags)
            and self._tags[end] is _PartOfSpeech.NOUN
            and self._low[end - 1] not in _PRONOUNS
        ):
            if (
                self._low[end] in _PHRASE_BEGINNING_WORDS
                and self._low[end - 1] not in _PHRASE_BEGINNING_WORDS
            ):
                break
            if (
                any(word in _MONTHS for word in self._low[begin:end])
                and not self._low[end].isdigit()
            ):
                break
            end += 1
        head = next(
            (one for one in range(end - 1, begin - 1, -1) if not self._is_number(one)),
            end - 1,
        )
        has_year = (
            end + 1 < len(self._low)
            and self._low[end] == ","
            and _YEAR_PATTERN.fullmatch(self._low[end + 1])
        )
        if self._low[head] in _MONTHS and has_year:
            self._tags[end] = _PartOfSpeech.NOUN
            end += 2
        for token in range(begin, end):
            if token != head:
                self._attach_token(
                    token, head, "nummod" if self._is_number(token) else "compound"
                )
        self._attach_noun(head)
        return end

    def _attach_noun(self, noun: int) -> None:
        if self._preposition is not None:
            self._attach_token(noun, self._preposition, "pobj")
            self._preposition = None
        elif self._coordinated is not None:
            self._attach_token(noun, self._coordinated, "conj")
            self._object = noun if self._coordinated == self._verb else self._object
            self._coordinated, self._listed = None, noun
        elif self._verb is None:
            self._waiting.append((noun, "nsubj"))
        else:
            self._attach_token(
                noun, self._verb, "dobj" if self._object is None else "npadvmod"
            )
            self._object = noun
        self._noun = noun

    def _parse_verb_group(self, begin: int) -> int:
        head = begin
        for token in range(begin + 1, len(self._tags)):
            if (
                self._tags[head] is not _PartOfSpeech.AUXILIARY
                or self._tags[token] not in _VERB_GROUP_TAGS
            ):
                break
            if self._tags[token] is not _PartOfSpeech.ADVERB:
                head = token
        for token in range(begin, head):
            self._attach_token(
                token,
                head,
                "advmod" if self._tags[token] is _PartOfSpeech.ADVERB else "aux",
            )
        self._attach_verb(head, self._tags[begin] is _PartOfSpeech.PARTICIPLE)
        self._is_passive = head > begin or self._tags[begin] is _PartOfSpeech.PARTICIPLE
        return head + 1

    def _attach_verb(self, verb: int, is_participle: bool) -> None:
        relation, above = self._coming
        if is_participle and self._verb is not None and relation == ROOT_RELATION:
            is_alone = self._tags[verb - 1] in _COMMA_AND_SPACE_TAGS
            has_object = (
                verb + 1 < len(self._tags)
                and self._tags[verb + 1] is _PartOfSpeech.NOUN
            )
            is_conjunct = is_alone and has_object and self._low[verb].endswith("ed")
            relation, above = (
                ("advcl", self._head_of_current_clause)
                if is_alone
                else ("acl", self._noun)
            )
            relation = "conj" if is_conjunct else relation
        elif self._verb is not None and relation == ROOT_RELATION:
            # The noun before the verb was parsed as an object but is the subject.
            # The new verb is the main verb or the verb of a complement clause.
            if self._main is not None:
                relation, above = "ccomp", self._verb
            if self._object is not None:
                self._waiting.append((self._object, "nsubj"))
        for token, own in self._waiting:
            self._attach_token(token, verb, own)
        self._waiting = []
        if relation == ROOT_RELATION:
            self._main = verb
        else:
            self._attach_token(verb, above, relation)
        if (
            relation == "relcl"
            and self._around is not None
            and self._around[1][0] == ROOT_RELATION
        ):
            # The next verb after a relative clause belongs to the outer clause.
            self._waiting, self._coming, self._noun = self._around
            self._around = None
            return
        self._verb, self._object, self._coming = verb, None, (ROOT_RELATION, None)
        if relation in (ROOT_RELATION, "conj"):
            self._finite = verb

    def _begin_clause(self, relation: str, above: int | None) -> None:
        self._coming, self._verb, self._object = (relation, above), None, None

    def _parse_subordinator(self, place: int) -> int:
        if self._is_followed_by_verb(place + 1):
            self._begin_clause(
                "ccomp" if self._low[place] == "that" else "advcl", self._verb
            )
            self._waiting.append((place, "mark"))
            return place + 1
        behind = range(place + 1, len(self._tags))
        phrase = next(
            (
                token
                for token in behind
                if self._tags[token] is _PartOfSpeech.PREPOSITION
            ),
            None,
        )
        if phrase is None:
            return place + 1
        for token in range(place, phrase):
            self._attach_token(token, phrase, "advmod")
        self._object = None
        return phrase

    def _attach_preposition(self, place: int) -> None:
        if (
            place + 1 < len(self._tags)
            and self._tags[place + 1] is _PartOfSpeech.RELATIVE
        ):
            return
        date = self._is_number(place + 1) or any(
            word in _MONTHS for word in self._low[place + 1 : place + 3]
        )
        noun = (
            self._noun
            if self._verb is None or self._low[place] == "of"
            else self._object
        )
        is_agent = self._low[place] == "by" and self._is_passive
        if self._verb is not None and (
            noun is None or ((date or is_agent) and self._low[place] != "of")
        ):
            self._attach_token(place, self._verb, "prep")
        elif noun is not None:
            self._attach_token(place, noun, "prep")
        else:
            self._waiting.append((place, "prep"))
        self._preposition = place

    def _begin_relative_clause(self, place: int) -> None:
        if self._verb is None and self._waiting:
            self._around = (self._waiting, self._coming, self._noun)
            self._waiting = []
        self._begin_clause("relcl", self._noun)
        if place and self._tags[place - 1] is _PartOfSpeech.PREPOSITION:
            self._attach_token(place, place - 1, "pobj")
            self._waiting.append((place - 1, "prep"))
        else:
            self._waiting.append((place, "nsubj"))

    def _attach_comma(self, place: int) -> None:
        is_noun = (
            place + 1 < len(self._tags) and self._tags[place + 1] is _PartOfSpeech.NOUN
        )
        if self._verb is None:
            self._waiting.append((place, "punct"))
        elif self._finite is None:
            # The comma ends an introductory clause before the main verb.
            self._end_introductory_clause()
            self._waiting.append((place, "punct"))
        elif self._listed is not None and self._listed == self._noun:
            self._attach_token(place, self._listed, "punct")
        elif (
            is_noun
            and self._noun is not None
            and not self._is_followed_by_verb(place + 1)
        ):
            # The noun after the comma is a further item of the list of nouns.
            self._coordinated = self._noun
            self._attach_token(place, self._noun, "punct")
        else:
            self._attach_token(place, self._head_of_current_clause, "punct")

    def _end_introductory_clause(self) -> None:
        if self._verb is not None and self._main is None:
            self._begin_clause(ROOT_RELATION, None)
            self._noun = None

    def _attach_conjunction(self, place: int) -> None:
        above = self._head_of_current_clause
        is_behind_comma = place > 0 and self._tags[place - 1] is _PartOfSpeech.COMMA
        if self._verb is None or not self._is_followed_by_verb(place + 1):
            if self._listed is not None or not is_behind_comma or self._verb is None:
                above = self._listed if self._listed is not None else self._noun
            self._coordinated = above
        else:
            self._begin_clause("conj", above)
            self._noun = None
        if above is not None:
            self._attach_token(place, above, "cc")

    def _is_followed_by_verb(self, place: int) -> bool:
        if self._tags[place : place + 1] == [_PartOfSpeech.PARTICIPLE]:
            return True
        telling = (
            _PartOfSpeech.VERB,
            _PartOfSpeech.AUXILIARY,
            _PartOfSpeech.RELATIVE,
            _PartOfSpeech.SUBORDINATOR,
            _PartOfSpeech.CONJUNCTION,
        )
        return (
            next((tag for tag in self._tags[place:] if tag in telling), None)
            in telling[:2]
        )
