"""A genome as the lens sees it: pieces taken from its board, and its genes silenced one by one.

A gene whose priority is 0 scores nothing. The genome with that one change
searches the same position under the same limit; if it plays something else,
the gene made the difference.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from tabiya._core import Board, Genome
from tabiya.lens.interface import Finding, OwnReasons
from tabiya.lens.removal import RemovalSubject
from tabiya.minds.genetic.player import GeneticPlayer
from tabiya.player import Limit, Player


def subject(player: Player, board: Board, limit: Limit) -> GeneticSubject:
    """What `tabiya.lens.interface.look_into` asks for."""
    assert isinstance(player, GeneticPlayer)
    return GeneticSubject(player, board, limit)


def scoring_genes(genome: Genome) -> list[str]:
    """The genes that have a priority."""
    return [gene for gene, values in genome.values().items() if "Priority" in values]


def silenced(genome: Genome, gene: str) -> Genome:
    """The same genome with one gene's priority 0."""
    head, name, rest = genome.text().partition(f"Name: {gene}\n")
    assert name, f"{gene} is no gene of {genome.id}"
    body, blank, tail = rest.partition("\n\n")
    return Genome(head + name + re.sub(r"(?m)^Priority: .*$", "Priority: 0", body) + blank + tail)


@dataclass
class GeneticSubject(RemovalSubject):
    """One genome before one position."""

    def own_reasons(self, chosen: str) -> OwnReasons:
        assert isinstance(self.player, GeneticPlayer)
        genome = self.player.genome
        after = self.board.copy()
        after.push(chosen)
        before, behind = genome.gene_scores(self.board), genome.gene_scores(after)
        rows: list[dict[str, Any]] = []
        findings = []
        for gene in scoring_genes(genome):
            choice = GeneticPlayer(silenced(genome, gene)).play(self.board, self.limit).move
            name = gene.removesuffix(" Gene")
            # Scores are White's and Black's.
            gained = (behind[gene][0] - behind[gene][1]) - (before[gene][0] - before[gene][1])
            gained = gained if self.board.white_to_move else -gained
            rows.append(
                {
                    "gene": name,
                    "priority": genome.values()[gene]["Priority"],
                    "gained": round(gained, 4),
                    "choice": choice,
                    "changed": choice != chosen,
                }
            )
            if choice != chosen:
                findings.append(
                    Finding(
                        f"Its gene {name} decides: without it, it plays {self.board.san(choice)} instead.",
                        f"priority of {name} set to 0",
                        True,
                        abs(gained * genome.values()[gene]["Priority"]),
                    )
                )
        if not findings:
            text = f"No single gene decides: whichever is silenced, it plays {self.board.san(chosen)}."
            findings = [Finding(text, "each gene's priority set to 0 in turn", True)]
        rows.sort(key=lambda row: (not row["changed"], -abs(row["gained"] * row["priority"])))
        findings.sort(key=lambda finding: -finding.weight)
        return OwnReasons("genes", tuple(rows), tuple(findings))
