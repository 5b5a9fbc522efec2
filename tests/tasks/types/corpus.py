"""A topic of our own in the corpus layout, as small as it can be."""

from pathlib import Path

SENTENCES = (
    "A title",
    "We count words",
    "We count them well",
    "Counting helps",
    "More could be counted",
)
CITANCES = (
    ("D05-0001", "3", ["1"], "Method_Citation"),
    ("D05-0002", "7", ["2", "3"], "Results_Citation"),
)


def write_topic(
    root: Path, topic: str, citances=CITANCES, version: str = "annv3"
) -> Path:
    """A topic folder with paper and annotation; each citance is citing paper, marker, ids, facet."""
    folder = root / topic
    (folder / "annotation").mkdir(parents=True)
    (folder / "Reference_XML").mkdir()
    body = "".join(
        f'<S sid="{sid}" ssid="{sid}">{text}</S>\n'
        for sid, text in enumerate(SENTENCES)
    )
    (folder / "Reference_XML" / f"{topic}.xml").write_text(f"<PAPER>\n{body}</PAPER>\n")
    lines = [
        answer_line(topic, citing, marker, ids, facet, number=str(number))
        for number, (citing, marker, ids, facet) in enumerate(citances, start=1)
    ]
    (folder / "annotation" / f"{topic}.{version}.txt").write_text("\n".join(lines))
    return folder


def answer_line(topic, citing, marker, ids, facet="Method_Citation", number="1") -> str:
    """One annotation line in the text form."""
    listed = ",".join(f"'{sid}'" for sid in ids)
    quoted = "".join(
        f'<S sid="{sid}">{SENTENCES[int(sid) % len(SENTENCES)]}</S>' for sid in ids
    )
    return (
        f"Citance Number: {number} | Reference Article: {topic}.xml | Citing Article: {citing}.xml | "
        f"Citation Marker Offset: ['{marker}'] | Citation Marker: (Us, 2001) | "
        f"Citation Offset: ['{marker}'] | "
        f'Citation Text: <S sid="{marker}">They count words (Us, 2001).</S> | Reference Offset: [{listed}] | '
        f"Reference Text: {quoted} | Discourse Facet: {facet} | Annotator: us |\n"
    )


HEADER = (
    "Citance Number,Reference Article,Citing Article,Citation Marker Offset,Citation Marker,Citation Offset,"
    "Citation Text,Citation Text Clean,Reference Offset,Reference Text,Discourse Facet"
)


def csv_row(topic, number, citing, ids, facet="Method_Citation", text=None) -> str:
    """One row in the CSV form; without ids it says that no reference was found."""
    says = text or f"Citance {number} of {citing}"
    if not ids:
        return f"{number},{topic},{citing},0,Us,0,{says},{says},NA,NA,NA"
    listed = ",".join(f"'{sid}'" for sid in ids)
    quoted = "".join(
        f'<S sid=""{sid}"">{SENTENCES[int(sid) % len(SENTENCES)]}</S>' for sid in ids
    )
    return (
        f'{number},{topic},{citing},0,Us,0,{says},{says},"{listed}","{quoted}",{facet}'
    )


def write_csv_topic(root: Path, topic: str, annotators: dict[str, list[str]]) -> Path:
    """A topic folder with the rows of each annotator."""
    folder = write_topic(root, topic)
    (folder / "annotation" / f"{topic}.annv3.txt").unlink()
    gold = folder / "gold" / "Task1"
    gold.mkdir(parents=True)
    for annotator, rows in annotators.items():
        (gold / f"{topic}_{annotator}.csv").write_text("\n".join([HEADER, *rows, ""]))
    return folder
