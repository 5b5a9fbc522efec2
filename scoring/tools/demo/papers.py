"""The invented papers and the sentences that cite them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

from scoring.tools import arguments


def chance(*names: object) -> Random:
    return Random(" ".join(map(str, names)))  # noqa: S311  (nothing here is a secret)


def write_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    arguments.write_lines(path, records)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A line of research. Its phrases fill the sentences of papers, citations, questions and answers."""

    name: str
    field: str
    authors: str
    year: int
    task: str
    items: str
    method: str
    rival: str
    cue: str
    idea: str
    easy: str
    hard: str
    source: str
    readers: str
    use: str
    size: int
    best: int
    base: int

    @property
    def phrases(self) -> dict[str, str]:
        plain = {name: str(value) for name, value in asdict(self).items()}
        plain["size"] = f"{self.size:,}"
        plain["best"], plain["base"] = f"0.{self.best}", f"0.{self.base}"
        plain["gap"], plain["half"] = str(self.best - self.base), f"{self.size // 2:,}"
        return plain | {name.capitalize(): text[:1].upper() + text[1:] for name, text in plain.items()}


#: A blank line ends a subject; its parts stand in the order of the fields, size, best and base in one.
_TABLE = """
function | Computational linguistics | Oduya and Lindqvist | 2004
citation function classification | citing sentences | a linear classifier over reporting verbs
cue phrase lists
reporting verbs | the verb of a citing sentence tells why a work is cited
background citations | sentences with two markers
journal papers on grammar | four linguists | citation indexes | 2140 78 61

strings | Library science | Varga and Ito | 2006
reference string parsing | reference strings | a chain of states over punctuation marks
hand-written patterns
punctuation marks | authors separate the parts of a reference more regularly than they name them
journal references | references to reports
bibliographies of theses | three cataloguers | library catalogues | 3650 91 74

names | Library science | Mbeki and Sørlie | 2009
author name disambiguation | author names | a clustering of shared co-authors | name matching
shared co-authors | two papers with a co-author in common rarely have two authors of one name
rare names | names with one initial
records of a national library | two librarians | author registers | 5200 88 70

blocks | Computer science | Halloran and Petit | 2011
page segmentation | page images | a grammar of white space | fixed column rules
white gaps | readers tell columns apart by the gaps between them
two-column pages | pages with wide tables
proceedings scanned at five libraries | six students | digital libraries | 1180 86 69

terms | Computational linguistics | Castellan and Roy | 2007
term extraction | candidate terms | a ranking by neighbouring words | frequency counts
neighbouring words | a term keeps the company of other terms
long terms | terms of one word
manuals for harvesting machines | five translators | glossaries | 2480 72 55

logs | Climatology | Arrieta and Brandt | 2012
weather word mapping | log entries | a table of sail changes | wind force dictionaries
sail changes | captains took in sails at the same wind whatever they called it
gale entries | entries written in port
ships' logs of four navies | two sailors | climate records | 1900 81 66

pollen | Botany | Nakamura and Weiss | 2014
pollen counting | microscope slides | a comparison of surface patterns | size thresholds
surface patterns | grains of one genus share a pattern and not a size
tree pollen | broken grains
slides from nine peat bogs | three botanists | vegetation histories | 860 84 63

tides | Climatology | Quintero and Dahl | 2010
tide reconstruction | harbour records | a sum of moon and storm terms | yearly averages
storm terms | a storm moves the water for days after the wind has ceased
spring tides | records with shifted clocks
harbour books of six ports | two hydrographers | flood maps | 1420 83 71

dialects | Linguistics | Fenwick and Oyelaran | 2008
dialect mapping | word lists | a distance between vowel spellings | village borders
vowel spellings | neighbours who talk to each other spell their vowels alike
coastal villages | villages with two schools
letters from emigrants | four dialectologists | language atlases | 2760 77 60

hands | History | Moreau and Tanaka | 2013
scribe identification | manuscript pages | a profile of pen strokes | letter shapes
pen strokes | a scribe can imitate a letter and not a movement
court hands | pages with several scribes
charters of three abbeys | two palaeographers | edition projects | 980 82 64

prices | Economic history | Adeyemi and Kowal | 2005
price series linking | account books | an alignment of market days | calendar dates
market days | merchants wrote down markets and not dates
grain prices | prices in foreign coin
account books of eleven towns | three historians | wage histories | 1640 79 62

songs | Musicology | Brennan and Sato | 2015
tune family detection | folk tunes | an alignment of stressed notes | opening phrases
stressed notes | singers change what lies between the beats
dance tunes | tunes with a changed metre
field recordings from two islands | four singers | song archives | 2230 74 58

claims | Computational linguistics | Ruiz and Hallberg | 2016
claim detection | abstract sentences | a tagger with sentence positions | hedge words
sentence positions | authors claim at the end of an abstract what they promise at its beginning
result sentences | sentences with a negated claim
abstracts on nutrition | five reviewers | review writing | 3100 80 65

queries | Computer science | Petrov and Nwosu | 2017
query spelling correction | search queries | a model of later clicks | edit distances
later clicks | people who misspell a word correct it within a minute
place names | queries with two misspellings
search logs of an archive | six archivists | search boxes | 4100 89 76

bones | Archaeology | Lund and Ferreira | 2003
bone fragment sorting | bone fragments | a decision tree of fracture angles | weight classes
fracture angles | a bone broken fresh breaks at another angle than a dry one
long bones | burnt fragments
finds from seven settlements | three archaeologists | excavation reports | 720 76 59

maps | Geography | Okafor and Lindholm | 2018
map label reading | map labels | a reader of curved baselines | straight line readers
curved baselines | a river's name bends as the river does
town names | labels across borders
survey sheets of two provinces | four surveyors | place name gazetteers | 2050 85 68
"""


def _parts(block: str) -> list[str]:
    return [part.strip() for line in block.splitlines() for part in line.split("|")]


def _subject(block: str) -> Subject:
    *texts, numbers = _parts(block)
    names = [field.name for field in fields(Subject)]
    facts: dict[str, Any] = dict(zip(names, [*texts, *numbers.split()], strict=True))
    return Subject(**facts | {name: int(facts[name]) for name in ("year", "size", "best", "base")})


SUBJECTS = tuple(map(_subject, _TABLE.strip().split("\n\n")))


#: By section the sentences of a paper. A word before a colon names a sentence that is cited.
PAPER = {
    "": """
        need: {Task} matters to {use}, and yet most of it is done with {rival}.
        method: We present {method} that learns from few examples.
        idea: It follows the idea that {idea}.
        result: On {size} {items} it reaches an F1 of {best}, against {base} for {rival}.
        error: Most of the remaining errors are made on {hard}.
    """,
    "Introduction": """
        Whoever works with {items} soon meets the question of {task}.
        rival: The usual answer is {rival}, which are quick to write and slow to repair.
        They do well on {easy} and fail without a warning elsewhere.
        aim: The aim of this paper is to make {task} good enough for {use}.
        hypothesis: We suppose that {idea}.
        If that holds, {cue} should tell most of what there is to know.
        cost: A method that has to be written anew for each source is of little help to {use}.
        The paper describes data, method and errors in this order.
    """,
    "Data": """
        source: Our {items} come from {source}.
        We drew {size} of them at random and left out duplicates.
        readers: {Readers} marked all of them independently and then met to settle what differed.
        agreement: Before they met, they agreed on nine of ten {easy} but on six of ten {hard} only.
        split: Half of the data, {half} in all, was set aside before anything was tried.
        The other half was used for training and for choosing what the method looks at.
        Everything that we marked is free for research.
        balance: About a third of the sample are {easy}, and a tenth are {hard}.
    """,
    "Method": """
        steps: The method has two steps, one that finds {cue} and one that decides by them.
        In the first step every candidate is described by {cue} alone.
        weights: The second step is {method}, whose weights are learnt from the marked half.
        We add no dictionary and no rule of our own.
        window: What stands next to a candidate is looked at as well, up to a distance of three.
        smooth: Counts of what was seen once are smoothed, since most {cue} are rare.
        Learning takes four minutes and deciding less than a second.
        threshold: Where two decisions are almost equally likely, the method leaves the case to a person.
        The threshold for that was chosen on the training half.
    """,
    "Results": """
        Table 1 has all results on the half that was set aside.
        gain: The gain over {rival} is {gap} points, and it is significant at every size of the sample.
        ablation: Without {cue} the method loses more than half of that gain.
        easy: {Easy} are nearly solved, with an F1 above 0.9.
        hard: {Hard} stay difficult, and half of all errors are made on them.
        fewer: With a quarter of the training data the F1 falls by three points only.
        transfer: On another source without new training the method still beats {rival}.
        Errors of the readers themselves explain a few of the rest.
    """,
    "Discussion": """
        why: That {idea} seems to hold beyond our data.
        limit: What we cannot tell is how the method does where {cue} are missing.
        people: Leaving the doubtful tenth to people brings the error below that of one reader.
        apply: {Use} can take the method as it is and need to mark some hundred {items} of their own.
        We have begun to do so with two partners.
    """,
    "Conclusion": """
        {Task} can be learnt from few marked examples.
        future: Next we want to turn to {hard}, for which a second look at the source is needed.
    """,
}

#: What others say of these sentences: by their words the facet, and a near and a free wording; `@` is where
#: the marker stands.
_CITED = """
idea hypothesis | Hypothesis
The idea that {idea} is due to @. | It has been supposed before that there is a simpler sign to go by @.

result gain | Results
On {size} {items} an F1 of {best} was reached, {gap} points above {rival} @.
The best figures for {task} so far, far ahead of {rival}, are those of @.

weights | Method
Like @, we use {method} and learn its weights. | We took over the learner of @.

steps | Method
As in @, one step finds {cue} and a second one decides by them.
Our system follows the division of labour of @.

rival | Aim
{Rival} are quick to write and slow to repair, as @ remark.
That the usual way to do {task} ages badly was noted early @.

aim | Aim
@ set out to make {task} good enough for {use}. | To be of use to others was a goal from the start @.

source | Method
Our data are the {items} from {source} that were collected by @. | We test on the collection of @.

readers agreement | Method
{Readers} marked the data independently and agreed least on {hard} @.
Even trained people are of two minds in the difficult cases @.

ablation | Results
Without {cue} more than half of the gain is lost @.
Which features matter was found by leaving each of them out @.

easy | Results
{Easy} are nearly solved @. | For the plain cases little is left to do @.

hard error | Results
Half of all errors are made on {hard} @. | The cases that remain difficult are known since @.

fewer | Results
With a quarter of the training data the F1 falls by three points only @.
How little training material is enough was measured by @.

window | Method
What stands next to a candidate is looked at up to a distance of three, after @.
The size of the context is that of @.

threshold people | Implication
Where two decisions are almost equally likely, the case is left to a person @.
It pays to let people see the doubtful tenth @.

apply transfer | Implication
{Use} can take the method as it is and mark some hundred {items} of their own @.
The approach moves well to new sources @.

limit | Implication
How the method does where {cue} are missing is not known @.
The authors themselves name the limits of the approach @.
"""
CITED = {
    keys: (facet, near, free)
    for keys, facet, near, free in (_parts(block) for block in _CITED.strip().split("\n\n"))
}

#: Around the citations of a citing paper; the slots are those of its own subject.
CITING = {
    "": "We look at {task} from the side of {use}. | Our question is what {cue} add to it.",
    "Introduction": "{Items} are read by more programs than people. | What these get wrong is found late.",
    "Approach": "We work on {source}. | {Cue} are found as usual. | All choices were made on held-out data.",
    "Conclusion": "We have added one more source to a growing list. | {Hard} are left to later work.",
}


#: Where a sentence cites.
MARKER = "@"


@dataclass(frozen=True, kw_only=True)
class Sentence:
    number: int
    section: str
    key: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Citation:
    """What another paper says of one; ``cited`` are the numbers of the sentences that it means."""

    text: str
    cited: tuple[int, ...]
    facet: str


@dataclass(frozen=True, kw_only=True)
class Paper:
    subject: Subject
    sentences: tuple[Sentence, ...]

    @property
    def title(self) -> str:
        return self.subject.phrases["Task"] + " by " + self.subject.cue

    @property
    def abstract(self) -> list[str]:
        return [sentence.text for sentence in self.sentences if not sentence.section]

    def named(self, *keys: str) -> list[Sentence]:
        return [sentence for sentence in self.sentences if sentence.key in keys]

    def citations(self, random: Random) -> list[Citation]:
        citations = []
        for place, (keys, (facet, *wordings)) in enumerate(CITED.items()):
            is_near = place % 2 == random.randrange(2)
            cited = tuple(sentence.number for sentence in self.named(*keys.split()))
            text = wordings[not is_near].format_map(self.subject.phrases)
            citations.append(Citation(text=text, cited=cited, facet=facet))
        random.shuffle(citations)
        return citations


Sections = dict[str, list[tuple[str, Citation | None]]]


def paper_of(subject: Subject) -> Paper:
    sentences: list[Sentence] = []
    for section, block in PAPER.items():
        for line in filter(None, map(str.strip, block.splitlines())):
            key, colon, text = line.partition(": ")
            if not (colon and key.isalpha() and key.islower()):
                key, text = "", line
            number, text = len(sentences) + 1, text.format_map(subject.phrases)
            sentences.append(Sentence(number=number, section=section, key=key, text=text))
    return Paper(subject=subject, sentences=tuple(sentences))


PAPERS = tuple(map(paper_of, SUBJECTS))


def citing_papers(paper: Paper, number: int, citations: int) -> Iterator[tuple[str, Sections]]:
    """The title of each, and by section its sentences, those with a marker given with their citations."""
    random = Random(f"citing {paper.subject.name}")  # noqa: S311  (the same papers every time are wanted)
    left = paper.citations(random)
    for other in random.sample([subject for subject in SUBJECTS if subject != paper.subject], number):
        sections: Sections = {
            section: [(text.strip().format_map(other.phrases), None) for text in block.split("|")]
            for section, block in CITING.items()
        }
        for place, citation in enumerate(left[:citations]):
            section = sections[("Introduction", "Approach")[place % 2]]
            section.append((marked(citation.text, paper.subject), citation))
        left = left[citations:]
        yield f"{other.phrases['Task']} revisited with {other.cue}", sections


def marked(text: str, subject: Subject) -> str:
    no_object = (f"by {MARKER}.", f"of {MARKER}.", f"to {MARKER}.")
    if text.endswith(f" {MARKER}.") and not text.endswith(no_object):
        return text.replace(f" {MARKER}", f" ({subject.authors}, {subject.year})")
    return text.replace(MARKER, f"{subject.authors} ({subject.year})")
