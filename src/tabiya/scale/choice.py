"""From the words after `--on` to an executor: the one place that knows every kind."""

from __future__ import annotations

import importlib.util

from tabiya.errors import UserError
from tabiya.scale.executor import Executor


def executor_from(text: str) -> Executor:
    """`local`, `ray` (the cluster this machine belongs to, or a new one here) or `ray:ADDRESS`.

    Nothing is connected to before the first crew is asked for.
    """
    kind, _, address = text.partition(":")
    if text == "local":
        from tabiya.scale.local import LOCAL

        return LOCAL
    if kind != "ray":
        raise UserError(f"work is done on local, ray or ray:ADDRESS, got --on {text}")
    if importlib.util.find_spec("ray") is None:
        raise UserError("--on ray needs the package ray, which is not installed: pip install 'tabiya[ray]'")
    from tabiya.scale.ray_cluster import RayExecutor

    # ray://HOST:PORT is an address in Ray's own writing.
    return RayExecutor((text if address.startswith("//") else address) or None)
