//! What the genes ask of a position, for both sides: moves, attacks, reach.
//!
//! A side that is not to move is surveyed as if it were, without en passant.
//! Legal moves are counted, not listed, since most positions of a search are
//! scored and left: this is where the time goes.

use shakmaty::attacks::{
    between, bishop_attacks, king_attacks, knight_attacks, pawn_attacks, ray, rook_attacks,
};
use shakmaty::{Bitboard, CastlingSide, Chess, Color, Position, Square};

/// One side of a position.
pub struct Side {
    pub color: Color,
    pub king: Square,
    pub pieces: Bitboard,
    pub pawns: Bitboard,
    /// Squares that a piece attacks or guards.
    pub attacked: Bitboard,
    /// The same without the king's own.
    pub guarded: Bitboard,
    /// Squares attacked if the other king were not there: where that king may not go.
    pub forbidden: Bitboard,
    /// Squares that could be captured on if nothing stood in the way.
    pub reach: Bitboard,
    /// Squares that a legal move captures on, or could if something stood there.
    pub targets: Bitboard,
    pub legal_moves: u32,
    pub can_capture: bool,
}

pub struct Survey {
    /// The side to move and the other one.
    pub mover: Side,
    pub waiter: Side,
    pub check: bool,
    pub occupied: Bitboard,
}

const PROMOTION_RANKS: Bitboard = Bitboard(0xFF00_0000_0000_00FF);
const THIRD_RANKS: [Bitboard; 2] = [Bitboard(0x0000_FF00_0000_0000), Bitboard(0x0000_0000_00FF_0000)];

impl Survey {
    pub fn of(position: &Chess) -> Survey {
        let turn = position.turn();
        let mut mover = Side::attacks(position, turn);
        let mut waiter = Side::attacks(position, !turn);
        let check = waiter.attacked.contains(mover.king);
        mover.count_moves(position, &waiter, check, position.maybe_ep_square());
        // Whoever is not to move cannot be in check.
        waiter.count_moves(position, &mover, false, None);
        Survey { mover, waiter, check, occupied: position.board().occupied() }
    }
}

impl Side {
    /// Attacks and reach; moves are counted when both sides' attacks are known.
    fn attacks(position: &Chess, color: Color) -> Side {
        let board = position.board();
        let (pieces, occupied) = (board.by_color(color), board.occupied());
        let king = board.king_of(color).expect("each side has a king");
        let enemy_king = board.king_of(!color).expect("each side has a king");
        let pawns = board.pawns() & pieces;
        let pawn_attacked = pawn_captures(pawns, color);
        let (mut attacked, mut reach) = (pawn_attacked, pawn_attacked);
        let mut behind_king = Bitboard::EMPTY;
        for from in board.knights() & pieces {
            attacked |= knight_attacks(from);
        }
        reach |= attacked;
        let through = occupied.without(enemy_king);
        for from in board.bishops_and_queens() & pieces {
            let seen = bishop_attacks(from, occupied);
            attacked |= seen;
            reach |= bishop_attacks(from, Bitboard::EMPTY);
            if seen.contains(enemy_king) {
                behind_king |= bishop_attacks(from, through);
            }
        }
        for from in board.rooks_and_queens() & pieces {
            let seen = rook_attacks(from, occupied);
            attacked |= seen;
            reach |= rook_attacks(from, Bitboard::EMPTY);
            if seen.contains(enemy_king) {
                behind_king |= rook_attacks(from, through);
            }
        }
        let guarded = attacked;
        attacked |= king_attacks(king);
        Side {
            color,
            king,
            pieces,
            pawns,
            attacked,
            guarded,
            forbidden: attacked | behind_king,
            reach: reach | king_attacks(king),
            targets: Bitboard::EMPTY,
            legal_moves: 0,
            can_capture: false,
        }
    }

    fn count_moves(&mut self, position: &Chess, enemy: &Side, check: bool, en_passant: Option<Square>) {
        let board = position.board();
        let occupied = board.occupied();
        let prey = enemy.pieces.without(enemy.king);
        let king_targets = king_attacks(self.king) & !self.pieces & !enemy.forbidden;
        let mut targets = king_targets;
        let mut moves = king_targets.count() as u32;
        // Where a piece must go to answer a check.
        let mut answer = !self.pieces.with(enemy.king);
        if check {
            let checkers = board.attacks_to(self.king, enemy.color, occupied);
            match checkers.single_square() {
                Some(checker) => answer &= between(self.king, checker).with(checker),
                None => {
                    self.conclude(targets, moves, prey);
                    return;
                }
            }
        }
        let pinned = pins(position, self, enemy);
        for from in board.knights() & self.pieces & !pinned {
            let to = knight_attacks(from) & answer;
            targets |= to;
            moves += to.count() as u32;
        }
        for from in (board.bishops() | board.rooks() | board.queens()) & self.pieces {
            let mut to = Bitboard::EMPTY;
            if !board.rooks().contains(from) {
                to |= bishop_attacks(from, occupied);
            }
            if !board.bishops().contains(from) {
                to |= rook_attacks(from, occupied);
            }
            to &= answer;
            if pinned.contains(from) {
                to &= ray(self.king, from);
            }
            targets |= to;
            moves += to.count() as u32;
        }
        let (captures, pawn_moves) = self.count_pawn_moves(pinned, occupied, prey, answer);
        targets |= captures;
        moves += pawn_moves;
        if en_passant.is_some() {
            let taken = position.en_passant_moves();
            moves += taken.len() as u32;
            if let Some(one) = taken.first() {
                targets |= one.to();
                self.can_capture = true;
            }
        }
        if !check {
            for side in CastlingSide::ALL {
                moves += u32::from(self.may_castle(position, enemy, side));
            }
        }
        self.conclude(targets, moves, prey);
    }

    fn conclude(&mut self, targets: Bitboard, moves: u32, prey: Bitboard) {
        self.targets = targets;
        self.legal_moves = moves;
        self.can_capture |= !(targets & prey).is_empty();
    }

    /// Squares that pawns may capture on, and how many moves the pawns have, en passant aside.
    fn count_pawn_moves(
        &self,
        pinned: Bitboard,
        occupied: Bitboard,
        prey: Bitboard,
        answer: Bitboard,
    ) -> (Bitboard, u32) {
        let count = |to: Bitboard| (to.count() + 3 * (to & PROMOTION_RANKS).count()) as u32;
        let free = self.pawns & !pinned;
        let step = forward(free, self.color) & !occupied;
        let leap = forward(step & THIRD_RANKS[self.color as usize], self.color) & !occupied;
        let (left, right) = pawn_wings(free, self.color);
        let (left, right) = (left & prey & answer, right & prey & answer);
        let mut moves = count(step & answer) + count(leap & answer) + count(left) + count(right);
        let mut captures = left | right;
        for from in self.pawns & pinned {
            let line = ray(self.king, from) & answer;
            let step = forward(Bitboard::from(from), self.color) & !occupied;
            let leap = forward(step & THIRD_RANKS[self.color as usize], self.color) & !occupied;
            let taken = pawn_attacks(self.color, from) & prey & line;
            captures |= taken;
            moves += count(step & line) + count(leap & line) + count(taken);
        }
        (captures, moves)
    }

    /// Whether castling is legal, for a side that is not in check.
    fn may_castle(&self, position: &Chess, enemy: &Side, side: CastlingSide) -> bool {
        let castles = position.castles();
        if !castles.has(self.color, side) {
            return false;
        }
        (castles.path(self.color, side) & position.board().occupied()).is_empty()
            && (king_walk(self.color, side) & enemy.attacked).is_empty()
    }
}

/// The squares the king stands on, crosses and arrives at when it castles.
pub fn king_walk(color: Color, side: CastlingSide) -> Bitboard {
    let walk = match side {
        CastlingSide::KingSide => 0x70,
        CastlingSide::QueenSide => 0x1C,
    };
    Bitboard(if color == Color::White { walk } else { walk << 56 })
}

/// Own pieces that shield their king from a slider.
fn pins(position: &Chess, own: &Side, enemy: &Side) -> Bitboard {
    let board = position.board();
    let snipers = enemy.pieces
        & (rook_attacks(own.king, Bitboard::EMPTY) & board.rooks_and_queens()
            | bishop_attacks(own.king, Bitboard::EMPTY) & board.bishops_and_queens());
    let mut pinned = Bitboard::EMPTY;
    for sniper in snipers {
        let shield = between(own.king, sniper) & board.occupied();
        if shield.single_square().is_some() {
            pinned |= shield & own.pieces;
        }
    }
    pinned
}

pub fn forward(pawns: Bitboard, color: Color) -> Bitboard {
    Bitboard(if color == Color::White { pawns.0 << 8 } else { pawns.0 >> 8 })
}

/// What pawns attack towards the a-file and towards the h-file.
fn pawn_wings(pawns: Bitboard, color: Color) -> (Bitboard, Bitboard) {
    const NOT_A: u64 = 0xFEFE_FEFE_FEFE_FEFE;
    const NOT_H: u64 = 0x7F7F_7F7F_7F7F_7F7F;
    let (left, right) = match color {
        Color::White => ((pawns.0 & NOT_A) << 7, (pawns.0 & NOT_H) << 9),
        Color::Black => ((pawns.0 & NOT_A) >> 9, (pawns.0 & NOT_H) >> 7),
    };
    (Bitboard(left), Bitboard(right))
}

fn pawn_captures(pawns: Bitboard, color: Color) -> Bitboard {
    let (left, right) = pawn_wings(pawns, color);
    left | right
}

#[cfg(test)]
mod tests {
    use super::*;
    use shakmaty::Role;

    use crate::playout::Random;
    use crate::rules;

    fn agrees(position: &Chess) {
        let survey = Survey::of(position);
        let moves = position.legal_moves();
        let fen = rules::to_fen(position);
        assert_eq!(survey.mover.legal_moves as usize, moves.len(), "{fen}");
        assert_eq!(survey.check, position.is_check(), "{fen}");
        assert_eq!(survey.mover.can_capture, moves.iter().any(|m| m.is_capture()), "{fen}");
        let capturing: Bitboard = moves
            .iter()
            .filter(|m| m.castling_side().is_none() && (m.role() != Role::Pawn || m.is_capture()))
            .map(|m| m.to())
            .collect();
        assert_eq!(survey.mover.targets, capturing, "{fen}");
    }

    #[test]
    fn counted_moves_are_the_legal_moves_of_random_games() {
        let mut random = Random::new(5);
        for _ in 0..300 {
            let mut position = Chess::default();
            for _ in 0..200 {
                agrees(&position);
                let moves = position.legal_moves();
                if moves.is_empty() {
                    break;
                }
                position.play_unchecked(moves[random.below(moves.len())]);
            }
        }
    }

    #[test]
    fn counted_moves_are_the_legal_moves_where_the_rules_are_odd() {
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",
            "r3k2r/8/8/8/8/8/8/R3K1r1 w Qkq - 0 1",
            "4k3/4r3/8/8/8/8/3nB3/4K3 w - - 0 1",
            "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
        ] {
            agrees(&rules::from_fen(fen).unwrap());
        }
    }
}
