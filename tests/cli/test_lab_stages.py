"""What an experiment does can be handed to processes side by side: `tabiya lab NAME --jobs N`."""

from __future__ import annotations

import argparse
import pickle
from typing import Any

import pytest

pytest.importorskip("torch")

from tabiya.cli import lab_implicit, lab_nnue, lab_resnet, lab_stages


@pytest.mark.parametrize(
    ("face", "name"), [(lab_implicit, "implicit"), (lab_nnue, "axes"), (lab_resnet, "resnet-data")]
)
def test_every_labs_stages_reach_another_process(face: Any, name: str, monkeypatch: pytest.MonkeyPatch):
    """A lambda among them cost the ResNet's labs three minutes of a GPU: it cannot be sent."""
    handed: list[lab_stages.Stages[Any]] = []

    def keep(_args: object, _plan: object, stages: lab_stages.Stages[Any], **_others: object) -> int:
        handed.append(stages)
        return 0

    # Each face has the function by name or by its module.
    for owner in (lab_stages, face):
        if hasattr(owner, "run_stages"):
            monkeypatch.setattr(owner, "run_stages", keep)
    parser = argparse.ArgumentParser()
    face.add_arguments(parser, name)
    face.run(parser.parse_args([]))
    (stages,) = handed
    sent = pickle.dumps(stages)
    assert pickle.dumps(pickle.loads(sent)) == sent
