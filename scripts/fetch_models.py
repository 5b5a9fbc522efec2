"""Tries to fetch the models that scorers take by default, and carries on without what cannot be had.

Usage: python scripts/fetch_models.py [pipeline] [bertscore]

What is there already is left alone. Whatever happens, this ends well: a run whose model is missing waits, and
goes on by itself when it is there.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
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
#: What of a model's files scoring reads.
PATTERNS = ["config.json", "tokenizer*", "vocab*", "merges.txt", "*.safetensors"]
LONGEST = 60  # seconds that one download may take before everybody goes on


def fetch_pipeline(name: str = PIPELINE, url: str = PIPELINE_URL) -> str:
    """Parses sentences for positional citations; says in a sentence what came of it."""
    try:
        return f"{name} {metadata.version(name)} is there; it parses sentences."
    except metadata.PackageNotFoundError:
        pass
    words = [
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--timeout",
        "10",
    ]
    words += [f"--target={folder}" for folder in PACKAGES]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", *words, "--retries", "0", url],
            timeout=LONGEST,
            capture_output=True,
            check=False,
        )
        is_there = done.returncode == 0
    except subprocess.TimeoutExpired:
        is_there = False
    if is_there:
        return f"{name} was fetched; it parses sentences."
    return f"{name} could not be fetched; runs that need their sentences parsed wait until it is there."


def fetch_bertscore(name: str | None = None) -> str:
    """Compares texts for BERTScore; says in a sentence what came of it."""
    from scoring.metrics.bertscore import DEFAULT_MODEL
    from scoring.metrics.local_models import folder_of

    wanted = name or DEFAULT_MODEL
    if folder_of(wanted) is not None:
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


FETCHERS: dict[str, Callable[[], str]] = {
    "pipeline": fetch_pipeline,
    "bertscore": fetch_bertscore,
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
