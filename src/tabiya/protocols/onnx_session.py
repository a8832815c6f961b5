"""A network file opened in ONNX Runtime, and what its logits mean; torch is not needed.

One file, so that every mind's network gets the same threads, reads its file in
the same way, and refuses a damaged one with the same sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabiya.player import PlayerError


def open_session(mind: str, path: Path, threads: int) -> Any:
    """The session of a file; a `PlayerError` says in a sentence why there is none."""
    try:
        import onnxruntime
    except ImportError:
        raise PlayerError(
            f"{mind} plays with ONNX Runtime, which is not installed: run `pip install onnxruntime`"
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 4  # what goes wrong is raised, and said once
    # Its threads wait busily while a pass runs, and not after it, when the opponent thinks.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    try:
        # The bytes, not the path: a file that is replaced later cannot change a network in use.
        model = path.read_bytes()
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except OSError as error:
        raise PlayerError(f"the network {path} cannot be read: {error.strerror}") from None
    except Exception as error:  # ONNX Runtime's errors have no common kind
        raise PlayerError(f"{path} is no ONNX network, or a damaged one: {first_line(error)}") from None


def expected_score(value_bins: NDArray[np.float32]) -> NDArray[np.float64]:
    """Win probabilities in [0, 1] of logits [N, K] over K equal bins: the mean of the bins' centres."""
    bins = value_bins.shape[-1]
    return np.asarray(softmax(value_bins) @ ((np.arange(bins) + 0.5) / bins))


def softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Probabilities along the last axis."""
    wide = np.asarray(logits, np.float64)
    raised = np.exp(wide - wide.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def first_line(error: Exception) -> str:
    """The first line of what an error says, or its kind if it says nothing."""
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__
