"""Small minds to look into: a transformer that was never trained, written as its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabiya.player import PlayerName

SMALL = {"layers": 2, "width": 16, "heads": 2, "mlp_ratio": 1.0, "value_hidden": 8}
VARIANTS = {
    "flipped": {},
    "unflipped": {"flipped": False},
    "separate": {"flipped": False, "pieces": "separate", "refinement": False, "policy": "fromto"},
}
GENOME = Path(__file__).resolve().parents[1] / "minds" / "genetic" / "example.txt"


@pytest.fixture(scope="session")
def network_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch = pytest.importorskip("torch")
    pytest.importorskip("onnx")
    from tabiya.minds.transformer.export import export_network
    from tabiya.minds.transformer.network import Transformer
    from tabiya.minds.transformer.shape import TransformerShape

    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("networks")
    for name, more in VARIANTS.items():
        torch.manual_seed(3)
        made = Transformer(TransformerShape(**(SMALL | more))).eval()
        for parameter in made.parameters():
            torch.nn.init.normal_(parameter, std=0.4)
        export_network(made, folder / f"{name}.onnx", half=False, positions=2)
    return {name: folder / f"{name}.onnx" for name in VARIANTS}


@pytest.fixture
def transformer(network_files):
    """Opens one of the networks as a player."""

    def open_one(name: str = "flipped", **options: str):
        from tabiya.minds.transformer.player import open_player

        return open_player(
            PlayerName("transformer", str(network_files[name]), "", {"threads": "1", **options})
        )

    return open_one


@pytest.fixture(scope="session")
def resnet():
    """The shipped ResNet."""
    from tabiya.minds.resnet.player import open_player

    return open_player(PlayerName("resnet", "", "", {"threads": "1"}))


@pytest.fixture
def genetic():
    from tabiya.minds.genetic.player import open_player

    return open_player(PlayerName("genetic", str(GENOME)))


@pytest.fixture
def save_run():
    """Writes a network as a run's checkpoint of one step."""

    def save(folder: Path, network, step: int = 1) -> None:
        import torch

        from tabiya.learn.checkpoint import checkpoint_path, save_checkpoint, state_tensors
        from tabiya.learn.config import config_to_dict
        from tabiya.learn.schedule import Ema

        folder.mkdir(exist_ok=True)
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        config = {"mind": "transformer", "shape": config_to_dict(network.shape)}
        save_checkpoint(
            checkpoint_path(folder, step),
            state_tensors(model=network, ema=Ema(network, 0.9), optimizer=optimizer),
            {"step": step, "config": config, "optimizer": []},
        )

    return save
