//! What may end a node before its first move: razoring, reverse futility, null move and ProbCut.

use shakmaty::Bitboard;

use super::board::Board;
use super::evaluate::Evaluate;
use super::generate::NO_MOVE;
use super::margins::*;
use super::node::Search;
use super::picker::Picker;
use super::score::MATE_FOUND;
use super::table::{Bound, Entry};
use crate::move_code::MoveCode;
use crate::search::score::{UNKNOWN, to_table};

/// A node off the principal variation and out of check, before its moves.
pub struct Situation {
    pub beta: i32,
    pub depth: i32,
    /// The evaluation, corrected.
    pub evaluation: i32,
    /// The evaluation or, where it knows better, the table's score.
    pub estimate: i32,
    pub improving: bool,
    pub cut: bool,
    pub table_move: MoveCode,
}

impl<E: Evaluate> Search<'_, E> {
    /// A score to return at once, if one can be trusted.
    pub fn shortcut(&mut self, board: &Board, ply: usize, alpha: i32, here: &Situation) -> Option<i32> {
        let Situation { beta, depth, estimate, .. } = *here;
        if self.techniques.razoring && depth <= RAZOR_DEPTH && estimate + razor_margin(depth) <= alpha {
            let score = self.quiesce::<false>(board, ply, alpha, alpha + 1);
            if self.stopped || score <= alpha {
                return Some(score);
            }
        }
        if self.techniques.reverse_futility
            && depth <= REVERSE_FUTILITY_DEPTH
            && estimate - reverse_futility_margin(depth, here.improving) >= beta
            && estimate < MATE_FOUND
            && beta > -MATE_FOUND
        {
            return Some((estimate + beta) / 2);
        }
        if let Some(score) = self.pass(board, ply, here) {
            return Some(score);
        }
        self.probcut(board, ply, here)
    }

    /// The null move: a side that stands well enough even after passing need not search.
    fn pass(&mut self, board: &Board, ply: usize, here: &Situation) -> Option<i32> {
        let Situation { beta, depth, estimate, evaluation, .. } = *here;
        let allowed = self.techniques.null_move
            && depth >= NULL_MOVE_DEPTH
            && estimate >= beta
            && evaluation >= beta + null_move_margin(depth)
            && beta > -MATE_FOUND
            && self.earlier(ply, 1).code != NO_MOVE
            && ply >= self.null_move_from
            && board.has_pieces(board.turn);
        if !allowed {
            return None;
        }
        let rest = depth - null_move_reduction(depth, estimate - beta);
        let child = self.make_null(board, ply);
        let score = -self.negamax::<false>(&child, ply + 1, -beta, -beta + 1, rest, !here.cut);
        self.unmake_null();
        if self.stopped {
            return Some(0);
        }
        if score < beta {
            return None;
        }
        let score = if score > MATE_FOUND { beta } else { score }; // a mate after passing is not proven
        if depth < NULL_MOVE_VERIFIED || self.null_move_from > 0 {
            return Some(score);
        }
        self.null_move_from = ply + (3 * rest.max(1) as usize) / 4 + 1;
        let verified = self.negamax::<false>(board, ply, beta - 1, beta, rest, false);
        self.null_move_from = 0;
        (verified >= beta || self.stopped).then_some(score)
    }

    /// A capture that beats the window by a margin at low depth will beat it at full depth too.
    fn probcut(&mut self, board: &Board, ply: usize, here: &Situation) -> Option<i32> {
        let Situation { beta, depth, evaluation, .. } = *here;
        let target = beta + PROBCUT_MARGIN - if here.improving { PROBCUT_MARGIN / 4 } else { 0 };
        if !self.techniques.probcut || depth < PROBCUT_DEPTH || target.abs() >= MATE_FOUND {
            return None;
        }
        if let Some(entry) = self.shared.table.probe(board.key)
            && entry.bound == Bound::Upper
            && entry.depth > depth - PROBCUT_REDUCTION
            && entry.score < target
        {
            return None;
        }
        let mut picker = Picker::noisy(
            board,
            here.table_move,
            self.context(ply, Bitboard::EMPTY),
            Some((target - evaluation).max(0)),
        );
        while let Some(m) = picker.next(board, self.histories, &self.techniques) {
            let child = self.make(board, m, ply);
            let mut score = -self.quiesce::<false>(&child, ply + 1, -target, -target + 1);
            let rest = depth - PROBCUT_REDUCTION;
            if score >= target && !self.stopped {
                score = -self.negamax::<false>(&child, ply + 1, -target, -target + 1, rest, !here.cut);
            }
            self.unmake();
            if self.stopped {
                return Some(0);
            }
            if score >= target {
                self.shared.table.store(
                    board.key,
                    Entry {
                        code: m,
                        score: to_table(score, ply),
                        evaluation: UNKNOWN,
                        depth: rest + 1,
                        bound: Bound::Lower,
                        on_pv: false,
                    },
                );
                return Some(score);
            }
        }
        None
    }
}
