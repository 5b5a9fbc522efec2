"""Reports and topics for human judges. Each report is followed by a numbered list of
the cited documents.
"""

from collections.abc import Mapping

from tasks.types.base import HeadingsAndTexts, HumanEvaluation
from tasks.types.cited_reports.reports import CitedReport
from tasks.types.cited_reports.runs import ReportsByTopic
from tasks.types.cited_reports.topics import read_collection
from tasks.types.files import Files

#: `TOPIC_FIELD_HEADINGS` maps the fields of a topic that judges see to headings.
TOPIC_FIELD_HEADINGS = {
    "title": "Topic",
    "background": "Background",
    "problem_statement": "Problem statement",
}


def read_sources_for_judges(files: Files) -> Mapping[str, HeadingsAndTexts]:
    """Return the public fields of each topic with their headings."""
    topics = read_collection(files, {}).topics
    return {
        name: tuple(
            (heading, str(topic.shown[key]))
            for key, heading in TOPIC_FIELD_HEADINGS.items()
            if topic.shown.get(key)
        )
        or (("Topic", name),)
        for name, topic in topics.items()
    }


def get_texts_for_judges(run: ReportsByTopic) -> Mapping[str, str]:
    """Return the report on each topic with citation marks. The mark [?] stands for a
    citation of an unknown document.
    """
    return {
        name: format_report_with_citation_marks(report) for name, report in run.items()
    }


def format_report_with_citation_marks(report: CitedReport) -> str:
    numbers: dict[str, int] = {}
    sentences = []
    for sentence in report.nonblank_sentences:
        marks = ""
        for document in dict.fromkeys(cited.document for cited in sentence.citations):
            if document is None:
                marks += "[?]"
            else:
                marks += f"[{numbers.setdefault(document, len(numbers) + 1)}]"
        sentences.append(f"{sentence.text.strip()} {marks}".strip())
    listed = "\n".join(f"[{number}] {name}" for name, number in numbers.items())
    return "\n\n".join(part for part in (" ".join(sentences), listed) if part)


HUMAN_EVALUATION = HumanEvaluation(
    sources=read_sources_for_judges, texts=get_texts_for_judges
)
