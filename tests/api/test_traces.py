"""A request, the job that it made and the scorer's work are one trace, named by the request's id."""

import sys

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from citeboard.core import instruments
from tasks.jobs.work import take_jobs
from tasks.models import Job
from tests.api.sending import send


@pytest.fixture
def finished(settings, monkeypatch):
    settings.TRACES_TO = "http://127.0.0.1:9"
    exporter = InMemorySpanExporter()
    provider = TracerProvider(id_generator=instruments._create_id_generator())
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(
        instruments,
        "create_tracer_for_process",
        lambda process: provider.get_tracer("tests"),
    )
    return exporter.get_finished_spans


def test_a_request_its_job_and_the_scorer_are_one_trace(world, finished):
    name = "edge-7f3a91c2"
    sent = send(world.member, world.phase, headers={"X-Request-ID": name})
    assert sent.status_code == 201
    take_jobs()
    assert set(Job.objects.values_list("state", flat=True)) == {Job.State.DONE}
    spans = {span.name: span for span in finished()}
    request, job, scorer = (
        spans[word] for word in ("POST api:submit", "job score", "scorer")
    )
    trace_id, span_id = instruments.derive_trace_ids(name)
    assert {span.context.trace_id for span in (request, job, scorer)} == {trace_id}
    assert (request.parent, request.context.span_id) == (None, span_id)
    assert (job.parent.span_id, scorer.parent.span_id) == (span_id, job.context.span_id)
    assert request.attributes["http.response.status_code"] == 201
    assert job.attributes["attempt"] == 1


def test_without_a_collector_nothing_is_traced_and_none_of_its_modules_is_imported(
    client, settings, monkeypatch
):
    settings.TRACES_TO = ""
    monkeypatch.setattr(
        instruments,
        "create_tracer_for_process",
        lambda process: pytest.fail("it is asked for"),
    )
    assert client.get("/health/live").status_code == 200


def test_where_the_packages_are_missing_a_line_says_so_and_pages_are_answered(
    client, settings, monkeypatch, caplog
):
    settings.TRACES_TO = "http://127.0.0.1:9"
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    instruments.create_tracer_for_process.cache_clear()
    assert client.get("/health/live").status_code == 200
    assert "OpenTelemetry is not installed" in caplog.text
    instruments.create_tracer_for_process.cache_clear()
