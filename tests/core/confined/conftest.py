"""A pool of confined processes, once held by the kernel as far as it can and once by limits alone."""

from pathlib import Path

import pytest

from citeboard.core.confined.limits import ResourceLimits
from citeboard.core.confined.pool import (
    ForkServerSetup,
    SandboxedFunctionCall,
    SandboxPool,
)
from citeboard.core.confined.rights import CONFINEMENT_MECHANISMS, NAMESPACES, SECCOMP
from citeboard.core.confined.turns import UploadSender

ROOT = Path(__file__).resolve().parents[3]
LIMITS = ResourceLimits(
    cpu_seconds=20,
    wall_seconds=90,
    memory_mb=256,
    file_mb=8,
    max_files=64,
    max_processes=0,
)


def make_pool(folder, *, size=2, means=CONFINEMENT_MECHANISMS):
    setup = ForkServerSetup(
        path=[ROOT / "platform", ROOT],
        readable=[ROOT / "platform", ROOT / "tests"],
        preload=["tests.core.confined.hostile"],
        means=means,
    )
    return SandboxPool(size=size, work_folder=folder, setup=setup)


def work(name, limits=LIMITS, files=None, shared=None, **arguments):
    program = f"tests.core.confined.hostile:{name}"
    return SandboxedFunctionCall(
        program=program,
        arguments=arguments,
        limits=limits,
        files=files or {},
        shared=shared,
    )


def sender_of(owner, **facts):
    return None if owner is None else UploadSender(account=owner, **facts)


def result(pool, name, *, owner=None, **given):
    with pool.done(work(name, **given), sender=sender_of(owner)) as done:
        return done.result


#: Kernels as there are, simulated by leaving out what others have.
KERNELS = {
    "kernel": CONFINEMENT_MECHANISMS,
    "without Landlock": (NAMESPACES, SECCOMP),
    "limits": (),
}


@pytest.fixture(scope="module", params=KERNELS)
def pool(request, tmp_path_factory):
    made = make_pool(tmp_path_factory.mktemp("work"), means=KERNELS[request.param])
    made.uses_kernel = bool(KERNELS[request.param])
    yield made
    made.close()


@pytest.fixture(scope="module", params=["kernel", "without Landlock"])
def closed_pool(request, tmp_path_factory):
    """One that the kernel holds."""
    made = make_pool(tmp_path_factory.mktemp("closed"), means=KERNELS[request.param])
    yield made
    made.close()
