"""The trained network as a judge of many positions at once, on the device that trains.

Playing goes through ONNX; this is for what needs a million answers a minute:
self-play, and the value of every successor. Policy and value are asked apart,
so that whoever wants one does not pay for both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tabiya.learn.planes import planes_of
from tabiya.minds.resnet.compiled import compiled
from tabiya.minds.resnet.loss import expected_value
from tabiya.minds.resnet.network import ResNet
from tabiya.minds.resnet.saved import saved_network
from tabiya.minds.resnet.successor import all_considered

BATCH = 1 << 14
"""Positions in one forward pass on a GPU; the last batch is filled up, so that one shape is compiled."""
BATCH_CPU = 256


class Judge:
    """One network, ready to answer."""

    def __init__(self, network: ResNet, device: torch.device, compile: bool = True) -> None:
        self.device = device
        self.network = network.to(device).to(memory_format=torch.channels_last).eval()
        self._gpu = device.type == "cuda"
        if self._gpu:
            self.network.fuse()
        self._batch = BATCH if self._gpu else BATCH_CPU
        value: Callable[[Tensor], Tensor] = self._value
        policy: Callable[[Tensor], Tensor] = self._policy
        everything: Callable[[Tensor], Tensor] = self._everything
        if compile and self._gpu:
            value, policy, everything = (
                compiled(each, network.shape) for each in (value, policy, everything)
            )
        self._ask_value, self._ask_policy, self._ask_everything = value, policy, everything
        self._turn = threading.Lock()

    @classmethod
    def load(cls, path: str | Path, device: str | torch.device, compile: bool = True) -> Judge:
        """From a checkpoint, or the newest one of a run's folder; the averaged weights."""
        return cls(saved_network(path).network, torch.device(device), compile)

    def values(self, packed: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The worth of each position to its mover, by the value's bins."""
        return self._many(packed, self._ask_value)

    def considered(self, packed: NDArray[np.uint8], legal: NDArray[np.int16]) -> NDArray[np.float32]:
        """The same by all that the network says; `legal` [N, W] numbers the replies, −1 fills up."""
        heads = np.broadcast_to(np.arange(2, dtype=np.int16), (len(legal), 2))
        found = self._many(packed, self._ask_everything, np.concatenate([heads, legal + 2], axis=1))
        reply = np.where(legal >= 0, found[:, 2:], -np.inf).max(1, initial=-np.inf)
        return np.asarray(
            all_considered(found[:, 0], 0.5 + 0.5 * np.tanh(0.5 * reply), found[:, 1]), np.float32
        )

    def policy(self, packed: NDArray[np.uint8], legal: NDArray[np.int16]) -> NDArray[np.float32]:
        """Log-probabilities of the legal moves, in the order of `legal` [N, W]; −inf where it is −1."""
        logits = self._many(packed, self._ask_policy, legal)
        logits[legal < 0] = -np.inf
        top = logits.max(1, keepdims=True)
        return np.asarray(logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True)))

    def _value(self, packed: Tensor) -> Tensor:
        bins: Tensor = self.network.values(self._features(packed))[1]
        return expected_value(bins)

    def _policy(self, packed: Tensor) -> Tensor:
        logits: Tensor = self.network.moves(self._features(packed))[0]
        return logits

    def _everything(self, packed: Tensor) -> Tensor:
        """The value by the bins, win + draw / 2, then the logits of Q."""
        features = self._features(packed)
        wdl, bins = self.network.values(features)
        chances = wdl.float().softmax(-1)
        q = self.network.moves(features)[1]
        both = torch.stack([expected_value(bins), chances[:, 0] + chances[:, 1] / 2], dim=1)
        return torch.cat([both.float(), q.float()], dim=1)

    def _features(self, packed: Tensor) -> Tensor:
        planes = planes_of(packed, self.network.shape.planes)
        return self.network.features(planes.contiguous(memory_format=torch.channels_last))

    @torch.inference_mode()
    def _many(
        self,
        packed: NDArray[np.uint8],
        ask: Callable[[Tensor], Tensor],
        pick: NDArray[np.int16] | None = None,
    ) -> NDArray[np.float32]:
        """The answers to all positions; of each only the columns `pick` [N, W], where given."""
        answers: list[Tensor] = []
        for start in range(0, len(packed), self._batch):
            rows = torch.from_numpy(packed[start : start + self._batch])
            count = len(rows)
            if self._gpu and count < self._batch:
                rows = torch.cat([rows, rows[:1].expand(self._batch - count, -1)])
            with self._turn, torch.autocast(self.device.type, torch.bfloat16, enabled=self._gpu):
                answer = ask(rows.to(self.device, non_blocking=True))[:count]
            if pick is not None:
                chosen = torch.from_numpy(pick[start : start + self._batch]).to(self.device)
                answer = answer.gather(1, chosen.clamp(min=0).long())
            answers.append(answer.float())
        if not answers:
            return np.zeros((0,) if pick is None else (0, pick.shape[1]), np.float32)
        return np.asarray(torch.cat(answers).cpu().numpy(), np.float32)
