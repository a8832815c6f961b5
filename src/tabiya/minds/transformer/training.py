"""One training run of the transformer: from tables on the device to checkpoints, resumable at any step.

A run is a folder: `config.json`, `log.jsonl`, the newest checkpoints, and the
network as ONNX beside the last, so that `transformer:FOLDER` plays it.
"""

from __future__ import annotations

import importlib.util
import time
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from tabiya.data.shards import Split
from tabiya.errors import UserError
from tabiya.learn.config import config_to_dict, load_config
from tabiya.learn.distributed import by_the_first, team
from tabiya.learn.feed import Source
from tabiya.learn.held_out import average_losses, held_out_sample
from tabiya.learn.log import RunLog
from tabiya.learn.run import TrainingRun, carried_out, deadline_after, optimizer_for
from tabiya.learn.stepper import Stepper
from tabiya.learn.token_tables import Ratings, TokenFeed, TokenTable, load_tokens
from tabiya.minds.transformer.loss import first_pass, second_pass, summed
from tabiya.minds.transformer.network import Transformer, parameter_count
from tabiya.minds.transformer.plan import TransformerTraining, stage_ends
from tabiya.minds.transformer.reader import Reader, SecondReader, refined_rows, split_outputs
from tabiya.minds.transformer.refinement import Slots, likeliest
from tabiya.minds.transformer.rights import move_squares
from tabiya.minds.transformer.tokens import mirrored_moves, renumbered


class Run(TrainingRun[TransformerTraining, Transformer, list[TokenTable]]):
    """The transformer's run."""

    def __init__(self, config: TransformerTraining, folder: Path, capture: bool | None = None) -> None:
        if config.attention == "fused" and importlib.util.find_spec("triton") is None:
            raise UserError('attention = "fused" needs Triton, which is not installed: use "plain" or "sdpa"')
        super().__init__(config, folder, capture)
        self.squares = move_squares().to(self.device)
        self.reader = self.compiled(Reader(self.network))
        self.second_reader = self.compiled(SecondReader(self.network))

    def compiled(self, module: nn.Module) -> nn.Module:
        """The module as the run computes it."""
        if not self.config.compile:
            return module
        # Not dynamic: the first and the second pass have each their own size, and keep it.
        made: Any = torch.compile(module, dynamic=False, mode=self.config.compile_mode)
        return made  # type: ignore[no-any-return]

    def new_network(self) -> Transformer:
        return Transformer(self.config.shape).to(self.device)

    def learning_network(self) -> Transformer:
        config = self.config
        narrow = config.bf16 and not config.wide_stream
        stream = torch.bfloat16 if narrow else torch.float32
        return self.new_network().compute(config.attention, config.padded_rows, stream, lean=True)

    def new_optimizer(self, network: Transformer) -> torch.optim.Optimizer:
        config = self.config
        inner = [*network.blocks.parameters(), *network.wires.parameters()]
        tower = [p for p in inner if p.ndim == 2]
        kept = {id(p) for p in tower}
        heads = [
            p
            for name, p in network.named_parameters()
            if p.ndim == 2 and id(p) not in kept and not name.startswith("embedding.")
        ]
        kept |= {id(p) for p in heads}
        groups: list[dict[str, Any]] = [
            {"params": tower, "weight_decay": config.weight_decay},
            {"params": heads, "weight_decay": config.weight_decay},
            {"params": [p for p in network.parameters() if id(p) not in kept], "weight_decay": 0.0},
        ]
        return optimizer_for(groups, config.peak_rate, self.device, muon=config.optimizer == "muon")

    def train(self, minutes: float | None = None) -> dict[str, Any]:
        """Train to the last step, or until the minutes are over; the last report's figures."""
        config = self.config
        always = [self.load(source, "train") for source in config.sources]
        stages = [self.load(bucket.source, "train", bucket.ratings) for bucket in config.curriculum]
        feeds = [self.feed([table, *always], number) for number, table in enumerate(stages)]
        feeds = feeds or [self.feed(always)]
        ends = [config.steps]
        if stages:
            drawn = [feed.counts[0] for feed in feeds]
            ends = stage_ends(config.curriculum, [len(table) for table in stages], drawn, config.steps)
        held_out = self.held_out()
        deadline = deadline_after(minutes)
        figures: dict[str, Any] = {}
        with self.logged() as log:
            log.note(f"{parameter_count(self.network):,} parameters; buckets end at steps {ends}")
            for feed, end in zip(feeds, ends, strict=True):
                if self.step < end:
                    log.note(f"to step {end}: {feed.counts} positions of each source in a batch")
                    figures = self.train_to(end, feed, held_out, log, deadline)
                if deadline is not None and self.team.agreed(time.monotonic() > deadline):
                    break
        return figures

    def train_to(
        self,
        target: int,
        feed: TokenFeed,
        held_out: list[TokenTable],
        log: RunLog,
        deadline: float | None = None,
    ) -> dict[str, Any]:
        """Train up to a step with batches of this feed, or until the deadline."""
        steppers = {twice: Stepper(self.body(feed, twice), capture=self.captures) for twice in (False, True)}

        def take_step() -> dict[str, Tensor]:
            return steppers[self.looks_twice(self.step)](feed.draw(self.step))

        return self.loop(target, take_step, held_out, log, deadline)

    def looks_twice(self, step: int) -> bool:
        """Whether a part of the step's batch has a second pass."""
        config = self.config
        return config.shape.refinement and config.refine_share > 0 and step >= config.refine_from

    def body(self, feed: TokenFeed, twice: bool) -> Any:
        """A step as the stepper wants it: rows that were drawn in, figures out."""
        return lambda draws: self.one_step(feed.take(draws), twice)

    def feed(self, tables: list[TokenTable], stage: int = 0) -> TokenFeed:
        """Batches of these tables: the stage's bucket, if there is one, then the sources."""
        config = self.config
        shares = [bucket.share for bucket in config.curriculum[stage : stage + 1]]
        shares += [source.share for source in config.sources]
        mirrored = mirrored_moves() if config.mirror else None
        return TokenFeed(tables, shares, config.batch, config.seed, mirrored)

    def load(self, source: Source, split: Split, ratings: Ratings | None = None) -> TokenTable:
        """One source's positions on the run's device."""
        shape = self.config.shape
        return load_tokens(
            source,
            split,
            self.device,
            lambda legal, packed: renumbered(legal, packed, shape.flipped),
            ratings=ratings,
            history=shape.refinement,
        )

    def held_out(self) -> list[TokenTable]:
        """A fixed sample of what is held out of each source and of the last bucket, where anything is."""
        wanted: list[tuple[Source, Ratings | None]] = [(source, None) for source in self.config.sources]
        wanted += [(bucket.source, bucket.ratings) for bucket in self.config.curriculum[-1:]]
        loads = [partial(self.load, source, "validation", ratings) for source, ratings in wanted]
        return held_out_sample(loads, self.device)

    def one_step(self, parts: list[Any], twice: bool) -> dict[str, Tensor]:
        """Forward, backward, optimizer and average, for one batch; its losses."""
        self.network.train()
        figures = self.losses(parts, twice, self.reader, self.second_reader)
        self.descend(figures["loss"], self.config.clip)
        return {name: value.detach() for name, value in figures.items()}

    def losses(
        self, parts: list[Any], twice: bool, reader: nn.Module, second_reader: nn.Module
    ) -> dict[str, Tensor]:
        """The total as `loss`, and what it is made of, for a batch whose rows are the parts in turn."""
        weights, counts = self.config.loss, [len(part) for part in parts]
        rows = sum(part.whole for part in parts)
        packed = torch.cat([part.packed for part in parts])
        mirrors = [part.mirror for part in parts if part.mirror is not None]
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
            tokens, outputs = reader(packed, torch.cat(mirrors) if mirrors else None)
        total: Tensor = outputs.policy.new_zeros((), dtype=torch.float32)
        figures: dict[str, Tensor] = {}
        pieces = split_outputs(outputs, counts)
        seen = list(torch.split(tokens, counts))
        for part, piece, own in zip(parts, pieces, seen, strict=True):
            named = first_pass(piece, own, part, weights, self.squares)
            added, shown = summed(named, part.whole / rows, part.kind)
            total, figures = total + added, figures | shown
        if twice:
            again, shown = self._second(parts, [piece.policy for piece in pieces], seen, second_reader)
            total, figures = total + again, figures | shown
        return {"loss": total, **figures}

    def _second(
        self, parts: list[Any], policies: list[Tensor], seen: list[Tensor], second_reader: nn.Module
    ) -> tuple[Tensor | float, dict[str, Tensor]]:
        """The second pass over the first rows of every part that has moves."""
        sizes = refined_rows([part.whole for part in parts], self.config.refine_share)
        chosen = [
            (_first_rows(part, size), policy[: team().count(size)], tokens[: team().count(size)])
            for part, policy, tokens, size in zip(parts, policies, seen, sizes, strict=True)
            if part.legal is not None and size > 0
        ]
        if not chosen:
            return 0.0, {}
        rows = sum(part.whole for part, _, _ in chosen)
        slots = [likeliest(policy, part.legal, part.again) for part, policy, _ in chosen]
        joined = Slots(*(torch.cat(each) for each in zip(*slots, strict=True)))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.config.bf16):
            refined = second_reader(torch.cat([tokens for _, _, tokens in chosen]), joined)
        pieces = torch.split(refined, [len(part) for part, _, _ in chosen])
        total: Tensor | float = 0.0
        figures: dict[str, Tensor] = {}
        for (part, _, _), piece, own in zip(chosen, pieces, slots, strict=True):
            named = second_pass(piece, own, part, self.config.loss)
            added, shown = summed(named, part.whole / rows, part.kind)
            total, figures = total + added, figures | shown
        return total, figures

    @by_the_first
    @torch.no_grad()
    def validate(self, held_out: list[TokenTable]) -> dict[str, float]:
        """The average network's losses on held-out positions."""
        network = self.averaged()
        readers = Reader(network), SecondReader(network)
        twice = self.config.shape.refinement and self.config.refine_share > 0
        return average_losses(
            held_out, self.config.batch, self.device, lambda part: self.losses([part], twice, *readers)
        )

    def export(self, half: bool = True) -> Path:
        """The averaged network as an ONNX file with its manifest in the run's folder."""
        from tabiya.minds.transformer.export import export_network

        path = self.folder / f"step-{self.step:08}.onnx"
        export_network(self.averaged(), path, half=half, config=config_to_dict(self.config))
        return path


def _first_rows(part: Any, size: int) -> TokenTable:
    """The first `size` rows of a part; of several processes, those that are this one's own."""
    (own,) = team().divide([size])
    rows = {name: tensor[:own] for name, tensor in vars(part).items() if isinstance(tensor, Tensor)}
    first = TokenTable(part.kind, **rows)
    first.divided = size
    return first


def train(path: Path, out: Path, minutes: float | None = None) -> dict[str, Any]:
    """`tabiya train` of this mind: the run of a config in its folder."""
    config = load_config(path, TransformerTraining)
    return carried_out(config.device, lambda: Run(config, out), minutes)


def speed(path: Path) -> dict[str, Any]:
    """`tabiya train --speed` of this mind."""
    import tempfile

    from tabiya.minds.transformer.speed import measure

    with tempfile.TemporaryDirectory() as folder:
        return measure(Run(load_config(path, TransformerTraining), Path(folder)))
