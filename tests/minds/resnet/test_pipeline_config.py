"""What a pipeline's file may say, and what is known before any work begins."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tabiya.cli import main  # noqa: E402
from tabiya.minds.resnet.pipeline.config import read_pipeline  # noqa: E402
from tabiya.minds.resnet.pipeline.teacher import _affordable  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
TOY = ROOT / "configs" / "pipeline-toy.toml"


def refusal(capsys: pytest.CaptureFixture[str], tmp_path: Path, old: str, new: str) -> str:
    """The one sentence that answers the toy's file with a change in it; nothing may be begun."""
    text = TOY.read_text()
    assert old in text
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text.replace(old, new, 1))
    assert main(["pipeline", "a", str(wrong), "--out", str(tmp_path / "work")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tabiya: ")
    assert error.count("\n") == 1
    assert not (tmp_path / "work").exists()
    return error


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("[b.train]\nsteps", "[b.train]\nstpes", "unknown setting 'stpes' in [b.train]"),
        ("batch = 64", "bacth = 64", "did you mean 'batch'?"),
        ('path = "@own"', 'path = "@owm"', "distil cannot learn from '@owm'"),
        ('kind = "games"', 'kind = "labels"', 'reads @games with kind = "games"'),
        ("[c.train]", '[c.train]\nstart_from = "x"', "start_from is set by the pipeline"),
        ("[c.train]", "[c.train]\nshape = { blocks = 2 }", "the shape of c.train differs"),
        ('label = "mistakes"', 'label = "blunders"', "must be 'mistakes' or 'all'"),
        ("positions = 500", "least = 1.0", "least is a probability"),
        ("depth = 2", "", "a teacher needs a positive depth"),
        ("games = [", "folder = 'x'\ngames = [", "give either games"),
        ("[b]", "[b", "is no valid TOML"),
    ],
)
def test_a_file_is_read_strictly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, sentence: str
) -> None:
    error = refusal(capsys, tmp_path, old, new)
    assert sentence in error
    assert "wrong.toml" in error


def test_every_shipped_pipeline_is_a_valid_one() -> None:
    for path in sorted(ROOT.glob("configs/pipeline-*.toml")):
        pipeline = read_pipeline(path)
        assert pipeline.b is not None
        assert pipeline.c is not None
        assert pipeline.c.iterations >= 3


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_missed_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no CUDA device here" in refusal(capsys, tmp_path, 'device = "cpu"', 'device = "cuda"')


@pytest.mark.parametrize(
    ("left", "spent", "labelled", "more"),
    [(0.0, 5.0, 64, 0), (100.0, 5.0, 64, 64), (2.5, 5.0, 640, 320), (0.1, 5.0, 640, 0)],
    ids=["nothing left", "at most double", "half as many again", "less than a chunk"],
)
def test_a_budget_is_spent_in_whole_chunks(left: float, spent: float, labelled: int, more: int) -> None:
    assert _affordable(left, spent, labelled, 64) == more


def test_a_machine_without_chess_and_zstandard_can_train() -> None:
    program = (
        "import sys; sys.modules['chess'] = sys.modules['zstandard'] = None\n"
        "import tabiya.cli.pipeline, tabiya.minds.resnet.pipeline.phases"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
