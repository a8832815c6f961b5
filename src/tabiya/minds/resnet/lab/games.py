"""The networks' games: everyone against everyone, and everyone against the anchors."""

from __future__ import annotations

from itertools import combinations

from tabiya.arena.adjudication import Adjudication
from tabiya.arena.books import Book
from tabiya.arena.game import Pace
from tabiya.learn.lab.folder import LabFolder
from tabiya.learn.lab.games import LabGames, Progress, silent
from tabiya.minds.resnet.lab.plan import Lab
from tabiya.minds.resnet.lab.variants import Comparison, comparison
from tabiya.minds.resnet.player import open_player as open_resnet
from tabiya.player import OpenPlayer, Player, PlayerName


def opener(lab: Lab, folder: LabFolder, mode: str, others: OpenPlayer) -> OpenPlayer:
    """Opens the experiment's networks by their short names, and every other player as `others` does."""
    names = {variant.name for variant in comparison(lab).variants}
    options = {"mode": mode, "threads": str(lab.measures.threads)}

    def open_player(text: str) -> Player:
        if text not in names:
            return others(text)
        return open_resnet(PlayerName("resnet", str(folder.network(text)), options=options))

    return open_player


def play_games(lab: Lab, folder: LabFolder, others: OpenPlayer, progress: Progress = silent) -> None:
    """Play whatever games are missing."""
    compared, measures = comparison(lab), lab.measures
    names = [variant.name for variant in compared.variants]
    anchors = [anchor.player for anchor in measures.anchors]
    checksums = {name: manifest["sha256"] for name, manifest in folder.manifests(names).items()}
    folder.begin("play.json", {"mode": measures.mode, "networks": checksums})
    games = LabGames(
        folder=folder,
        open_player=opener(lab, folder, measures.mode, others),
        book=Book.read(measures.book) if measures.book else Book.built_in(),
        seed=measures.seed,
        concurrency=measures.concurrency,
        adjudication=Adjudication(max_moves=measures.max_moves),
    )
    movetime = None if measures.movetime is None else measures.movetime / 1000
    pace = Pace(movetime=movetime, depth=measures.depth)
    pairs = list(combinations(names, 2))
    with progress("games between networks", len(pairs) * measures.games) as meter:
        for one, other in pairs:
            identity = {name: checksums[name] for name in (one, other)}
            games.together(one, other, measures.games, identity, meter)
    for number, anchor in enumerate(anchors):
        players = [anchor, *anchors[:number], *names]
        with progress(f"games with {anchor}", (len(players) - 1) * measures.anchor_games) as meter:
            games.gauntlet(players, measures.anchor_games, pace, meter)


def expected_games(lab: Lab, compared: Comparison) -> int:
    """How many games an experiment has when all are played."""
    networks, anchors = len(compared.variants), len(lab.measures.anchors)
    pairs = networks * (networks - 1) // 2
    with_anchors = anchors * networks + anchors * (anchors - 1) // 2
    return pairs * lab.measures.games + with_anchors * lab.measures.anchor_games
