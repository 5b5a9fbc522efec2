"""What the invented papers are about. Nothing here was ever found by anybody."""

from __future__ import annotations

from dataclasses import asdict, dataclass


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
        """By slot, and capitalised with a capital slot: `{Task} is hard.`"""
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


def _subject(lines: str) -> Subject:
    parts = [part.strip() for line in lines.splitlines() for part in line.split("|")]
    *texts, numbers = parts
    size, best, base = map(int, numbers.split())
    names = (
        *(
            "name",
            "field",
            "authors",
            "year",
            "task",
            "items",
            "method",
            "rival",
            "cue",
            "idea",
            "easy",
            "hard",
        ),
        *("source", "readers", "use"),
    )
    facts = dict(zip(names, texts, strict=True))
    year = int(facts.pop("year"))
    return Subject(**facts, year=year, size=size, best=best, base=base)


SUBJECTS = tuple(map(_subject, _TABLE.strip().split("\n\n")))
