"""Background jobs as a worker does them."""

from scoring.models import BackgroundJob
from tasks.jobs.work import claim_and_do_job_by_id


def work_off() -> list[BackgroundJob]:
    """Does all that is queued, the oldest first; returns it as it is then."""
    queued = list(BackgroundJob.objects.filter(job__state="queued").order_by("pk"))
    for job in queued:
        claim_and_do_job_by_id(job.job_id)
        job.refresh_from_db()
        job.job.refresh_from_db()
    return queued


def done(client, response) -> BackgroundJob:
    """The job that a form's answer leads to, once a worker has done it."""
    assert response.status_code == 302, response.content.decode()[:2000]
    [job] = work_off()
    assert response.url == f"/jobs/{job.pk}/"
    return job


def followed(client, response):
    """What the job's page says once a worker has done it; the answer itself where there is no job."""
    if response.status_code != 302 or not response.url.startswith("/jobs/"):
        return response
    done(client, response)
    return client.get(response.url)
