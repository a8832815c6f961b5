//! What earlier parts of the search learnt about moves: which quiet moves and captures were good, and how far
//! the evaluation was off.
//!
//! Every number moves towards its bound by a share of the distance left, so old
//! lessons fade without a pass over the tables.

use shakmaty::Bitboard;

use super::board::Board;
use super::generate::NO_MOVE;
use super::piece::{Piece, side};
use super::score::MAX_EVALUATION;
use crate::move_code::MoveCode;

/// Bound of every move history.
pub const HISTORY_LIMIT: i32 = 16_384;
/// Bound of a correction entry, in units of `CORRECTION_GRAIN`ths of a centipawn.
const CORRECTION_LIMIT: i32 = 16_384;
const CORRECTION_GRAIN: i32 = 256;
const CORRECTION_SIZE: usize = 1 << 14;
/// How far back continuation history looks, in plies.
pub const LOOKBACKS: [usize; 3] = [1, 2, 4];

/// A piece and where it went; index of continuation history.
const PIECE_TO: usize = Piece::KINDS * 64;

/// The index of "no move": an empty square's piece.
pub const NO_PIECE_TO: u16 = 12 * 64;

/// The piece that moves and its target, as one number.
#[inline]
pub fn piece_to(board: &Board, m: MoveCode) -> u16 {
    (board.at(m.from()).index() * 64) as u16 + u16::from(m.to())
}

#[inline]
fn learn(value: &mut i16, bonus: i32) {
    let bonus = bonus.clamp(-HISTORY_LIMIT, HISTORY_LIMIT);
    let old = i32::from(*value);
    *value = (old + bonus - old * bonus.abs() / HISTORY_LIMIT) as i16;
}

pub struct Histories {
    /// By side, whether the piece leaves and meets an attack, and move.
    butterfly: Vec<i16>,
    /// By piece, target and victim.
    capture: Vec<i16>,
    /// By an earlier piece and target, then this piece and target.
    continuation: Vec<i16>,
    /// By the last move's piece and target: the quiet move that refuted it.
    replies: Vec<MoveCode>,
    /// By side and what was looked at: pawns, White's pieces, Black's pieces.
    corrections: [Vec<i16>; 3],
}

impl Default for Histories {
    fn default() -> Histories {
        Histories {
            butterfly: vec![0; 2 * 4 * 64 * 64],
            capture: vec![0; PIECE_TO * 8],
            continuation: vec![0; PIECE_TO * PIECE_TO],
            replies: vec![NO_MOVE; PIECE_TO],
            corrections: std::array::from_fn(|_| vec![0; 2 * CORRECTION_SIZE]),
        }
    }
}

impl Histories {
    pub fn clear(&mut self) {
        self.butterfly.fill(0);
        self.capture.fill(0);
        self.continuation.fill(0);
        self.replies.fill(NO_MOVE);
        self.corrections.iter_mut().for_each(|table| table.fill(0));
    }

    #[inline]
    fn butterfly_index(board: &Board, threats: Bitboard, m: MoveCode) -> usize {
        let danger = usize::from(threats.contains(m.from())) << 1 | usize::from(threats.contains(m.to()));
        side(board.turn) << 14 | danger << 12 | usize::from(m.0 & 0xFFF)
    }

    #[inline]
    pub fn butterfly(&self, board: &Board, threats: Bitboard, m: MoveCode) -> i32 {
        i32::from(self.butterfly[Self::butterfly_index(board, threats, m)])
    }

    pub fn learn_butterfly(&mut self, board: &Board, threats: Bitboard, m: MoveCode, bonus: i32) {
        learn(&mut self.butterfly[Self::butterfly_index(board, threats, m)], bonus);
    }

    #[inline]
    fn capture_index(board: &Board, m: MoveCode) -> usize {
        usize::from(piece_to(board, m)) * 8 + board.victim(m)
    }

    #[inline]
    pub fn capture(&self, board: &Board, m: MoveCode) -> i32 {
        i32::from(self.capture[Self::capture_index(board, m)])
    }

    pub fn learn_capture(&mut self, board: &Board, m: MoveCode, bonus: i32) {
        learn(&mut self.capture[Self::capture_index(board, m)], bonus);
    }

    #[inline]
    pub fn continuation(&self, earlier: u16, now: u16) -> i32 {
        i32::from(self.continuation[usize::from(earlier) * PIECE_TO + usize::from(now)])
    }

    pub fn learn_continuation(&mut self, earlier: u16, now: u16, bonus: i32) {
        if earlier != NO_PIECE_TO {
            learn(&mut self.continuation[usize::from(earlier) * PIECE_TO + usize::from(now)], bonus);
        }
    }

    #[inline]
    pub fn reply(&self, last: u16) -> MoveCode {
        self.replies[usize::from(last)]
    }

    pub fn set_reply(&mut self, last: u16, m: MoveCode) {
        self.replies[usize::from(last)] = m;
    }

    #[inline]
    fn correction_index(board: &Board, key: u64) -> usize {
        side(board.turn) * CORRECTION_SIZE + (key as usize & (CORRECTION_SIZE - 1))
    }

    fn correction_keys(board: &Board) -> [u64; 3] {
        [board.pawn_key, board.piece_keys[0], board.piece_keys[1]]
    }

    /// An evaluation, corrected by how search and evaluation disagreed on positions of the same skeleton.
    pub fn corrected(&self, board: &Board, evaluation: i32) -> i32 {
        let sum: i32 = Self::correction_keys(board)
            .into_iter()
            .zip(&self.corrections)
            .map(|(key, table)| i32::from(table[Self::correction_index(board, key)]))
            .sum();
        (evaluation + sum / CORRECTION_GRAIN).clamp(-MAX_EVALUATION, MAX_EVALUATION)
    }

    /// Search found `difference` more than the evaluation said.
    pub fn learn_correction(&mut self, board: &Board, depth: i32, difference: i32) {
        let bonus =
            (difference * depth * CORRECTION_GRAIN / 64).clamp(-CORRECTION_LIMIT / 4, CORRECTION_LIMIT / 4);
        for (key, table) in Self::correction_keys(board).into_iter().zip(&mut self.corrections) {
            let value = &mut table[Self::correction_index(board, key)];
            let old = i32::from(*value);
            *value = (old + bonus - old * bonus.abs() / CORRECTION_LIMIT) as i16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_approaches_its_bound_and_never_passes_it() {
        let mut value = 0;
        for _ in 0..1000 {
            learn(&mut value, 3000);
        }
        assert!(i32::from(value) <= HISTORY_LIMIT && i32::from(value) > HISTORY_LIMIT * 9 / 10);
        for _ in 0..1000 {
            learn(&mut value, -40_000);
        }
        assert!(i32::from(value) >= -HISTORY_LIMIT);
    }
}
