"""Samples and features, made once for a whole experiment.

Reading files and making rows is the slow part where a device is quick.
Networks that are taught alike share the samples; those that see the same
features, as in a sweep of sizes, share the rows on the device too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from tabiya._core import FeatureSet
from tabiya.data.shards import Split
from tabiya.minds.nnue.data import Batch, Features
from tabiya.minds.nnue.loss import NnueLoss
from tabiya.minds.nnue.sources import NnueSource, NothingThereError, Samples, read
from tabiya.minds.nnue.training import Supply

_Key = tuple[NnueSource, Split, bool]


class SharedSupply(Supply):
    """Keeps what it has read, and the rows of the one feature set that was asked for last."""

    def __init__(self) -> None:
        self._samples: dict[_Key, Samples | None] = {}
        self._held_out: dict[_Key, Samples] = {}
        self._features: tuple[str, list[Samples], _KeptFeatures] | None = None

    def read(self, source: NnueSource, split: Split, loss: NnueLoss) -> Samples:
        key = _key(source, split, loss)
        if key not in self._samples:
            try:
                self._samples[key] = read(source, split, loss)
            except NothingThereError:
                self._samples[key] = None
        samples = self._samples[key]
        if samples is None:
            raise NothingThereError(f"{source.path} holds no positions to learn from in its {split} split")
        return samples

    def held_out(self, source: NnueSource, loss: NnueLoss) -> Samples:
        key = _key(source, "validation", loss)
        if key not in self._held_out:
            self._held_out[key] = super().held_out(source, loss)
        return self._held_out[key]

    def features(self, features: FeatureSet, samples: Sequence[Samples]) -> Features:
        kept = self._features
        if kept is None or kept[0] != features.expression or not _same(kept[1], samples):
            # The old rows go before the new ones are made: both might not fit.
            self.forget_rows()
            kept = (features.expression, list(samples), _KeptFeatures(features, samples))
            self._features = kept
        return kept[2]

    def forget_rows(self) -> None:
        """Give back the device's memory, so that what is free can be seen."""
        self._features = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def _key(source: NnueSource, split: Split, loss: NnueLoss) -> _Key:
    """What decides the samples; the budget's loss is one but for its method."""
    return replace(source, share=1.0, name=None), split, loss.method == "evaluations"


class _KeptFeatures(Features):
    """Makes the rows of a set of samples on a device once."""

    def __init__(self, features: FeatureSet, samples: Sequence[Samples]) -> None:
        super().__init__(features, samples)
        self._made: list[tuple[Samples, torch.device, Batch]] = []

    def resident(self, samples: Samples, device: torch.device) -> Batch:
        for known, where, batch in self._made:
            if known is samples and where == device:
                return batch
        made = super().resident(samples, device)
        self._made.append((samples, device, made))
        return made


def _same(kept: Sequence[Samples], asked: Sequence[Samples]) -> bool:
    return len(kept) == len(asked) and all(one is other for one, other in zip(kept, asked, strict=True))
