"""Implement `citeboard receipt verify`, which verifies the receipts in a file with a
given public key or with the site's keys.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from scoring.client.connection import SiteConnection
from scoring.client.refusals import ClientCommandRefused
from scoring.offline import receipts as signed
from scoring.offline.arguments import print_output
from scoring.offline.terminal import (
    GREEN_CODE,
    RED_CODE,
    colour_text,
    replace_control_characters,
)
from tasks.types.guarded.json_reader import read_json

INVALID_RECEIPT_EXIT_CODE = 1


def verify(args: argparse.Namespace) -> int:
    if not (args.site or args.key):
        raise ClientCommandRefused(
            "by what? Name the site with --site URL, or a file with its public key with --key FILE"
        )
    receipts = _read_receipts_file(args.file)
    site = SiteConnection(args.site) if args.site else None
    log: dict[str, Any] = site.get("log/") if site else {}
    try:
        listed = log.get("keys", [])
        keys = (
            signed.find_trusted_keys(_read_pinned_public_keys(args.key), listed)
            if args.key
            else {key["public"] for key in listed}
        )
        now = log["head"] if site else None
        if now is not None and (faults := signed.find_head_faults(now, keys)):
            raise ClientCommandRefused(f"the site's log cannot be trusted: {faults[0]}")
        checked = [signed.check_receipt(receipt, keys) for receipt in receipts]
        for receipt in checked:
            if site and now and not receipt.faults:
                receipt.faults += _find_faults_in_site_log(site, now, receipt)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise ClientCommandRefused(
            f"{args.site or args.key} does not say what a site says of its log: {fault}"
        ) from fault
    found = ("faults", "key", "index", "opened", "sealed")
    described = [
        {
            "holds": not receipt.faults,
            **{name: getattr(receipt, name) for name in found},
        }
        for receipt in checked
    ]
    holding = sum(not receipt.faults for receipt in checked)
    last = f"{holding} of {len(checked)} receipts hold"
    named = (
        _format_receipt_lines(f"receipt {number}", receipt, now)
        for number, receipt in enumerate(checked, 1)
    )
    lines = map(replace_control_characters, chain.from_iterable(named))
    print_output(
        args,
        described,
        *lines,
        colour_text(
            last, GREEN_CODE if holding == len(checked) else RED_CODE, sys.stdout
        ),
    )
    return 0 if holding == len(checked) else INVALID_RECEIPT_EXIT_CODE


def _read_receipts_file(path: Path) -> list[Mapping[str, Any]]:
    try:
        content = read_json(path.read_bytes())
    except ValueError as fault:
        raise ClientCommandRefused(f"{path} cannot be read as JSON: {fault}") from fault
    receipts = content if isinstance(content, list) else [content]
    if not receipts or not all(isinstance(receipt, dict) for receipt in receipts):
        raise ClientCommandRefused(
            f"{path} holds no receipt; expected one, or a list of them, as the site gives them"
        )
    return receipts


def _read_pinned_public_keys(path: Path) -> set[str]:
    try:
        return signed.parse_public_keys(path.read_text(encoding="utf-8"))
    except ValueError as fault:
        raise ClientCommandRefused(
            f"{path} holds no public key; expected 64 hexadecimal digits on a line"
        ) from fault


def _find_faults_in_site_log(
    site: SiteConnection, now: signed.JsonObject, receipt: signed.CheckedReceipt
) -> Iterator[str]:
    if receipt.head is None or receipt.index is None:
        return
    before = receipt.head
    if before["size"] > now["size"]:
        yield f"the log had {before['size']} entries and has {now['size']} now: entries were taken out"
        return
    proof = site.get("log/inclusion/", {"index": receipt.index, "size": now["size"]})
    if not signed.is_in_log(
        receipt.entry_hash, receipt.index, now, list(map(bytes.fromhex, proof["path"]))
    ):
        yield f"it does not stand at place {receipt.index} of the log as it is now"
    proof = site.get(
        "log/consistency/", {"first": before["size"], "second": now["size"]}
    )
    if not signed.is_continuation_of_log(before, now, proof["path"]):
        yield f"the log is not the one any more that had {before['size']} entries"


def _format_receipt_lines(
    name: str, receipt: signed.CheckedReceipt, now: Mapping[str, Any] | None
) -> Iterator[str]:
    if receipt.faults:
        yield from (f"{name}: {fault}" for fault in receipt.faults)
        return
    task, run = receipt.opened.get("task", {}), receipt.opened.get("run", {})
    place = [
        str(task[part]) for part in ("season", "task", "phase", "rules") if part in task
    ]
    about = ", ".join(
        filter(
            None, ["/".join(place), f"run {run['number']}" if "number" in run else ""]
        )
    )
    yield f"{name}: {about or 'of a run that it does not open'}; signed by {receipt.key}"
    if receipt.opened:
        yield f"  opens {', '.join(receipt.opened)}"
    if receipt.sealed:
        yield f"  does not open {', '.join(receipt.sealed)}"
    if now is None:
        yield f"  entry {receipt.index} of the log of {(receipt.head or {}).get('size')} that it names"
    else:
        yield f"  entry {receipt.index} of the site's log, which has {now['size']} and begins as it did then"
