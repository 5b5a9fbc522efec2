"""Where models compute: on a GPU where torch finds one, unless site or command line say otherwise."""

from __future__ import annotations

import os

from tasks.types.unavailable import Unavailable

#: `cpu`, `cuda`, `cuda:1`; anything else is `auto`.
VARIABLE = "CITEBOARD_DEVICE"
AUTO = "auto"


def chosen_device(asked: str = AUTO) -> str:
    """As torch calls it. Raises Unavailable where a GPU was asked for by name and torch finds none."""
    import torch

    asked = os.environ.get(VARIABLE) or AUTO if asked == AUTO else asked
    if asked == AUTO:
        return "cuda" if torch.cuda.is_available() else "cpu"
    if asked.startswith("cuda") and not torch.cuda.is_available():
        raise Unavailable(f"the device {asked} was asked for, and torch finds no GPU on this machine")
    return asked


def is_gpu(device: str) -> bool:
    return device.startswith("cuda")
