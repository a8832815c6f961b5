//! What a finished node teaches: good and bad moves to the histories, errors of the evaluation to its correction.

use super::alphabeta::Tried;
use super::board::Board;
use super::evaluate::Evaluate;
use super::history::{LOOKBACKS, piece_to};
use super::margins::history_bonus;
use super::node::Search;
use super::score::MATE_FOUND;
use super::table::Bound;
use crate::move_code::MoveCode;

impl<E: Evaluate> Search<'_, E> {
    /// `best` ended the node; the moves tried before it did not.
    pub fn learn_from_cutoff(
        &mut self,
        board: &Board,
        ply: usize,
        best: MoveCode,
        depth: i32,
        quiets: &Tried,
        noisies: &Tried,
    ) {
        let bonus = history_bonus(depth);
        if board.is_noisy(best) {
            self.histories.learn_capture(board, best, bonus);
        } else {
            let last = self.earlier(ply, 1).piece_to;
            self.histories.set_reply(last, best);
            let killers = &mut self.frame(ply).killers;
            if killers[0] != best {
                *killers = [best, killers[0]];
            }
            // A lone quick refutation at low depth says little about the move itself.
            if depth > 3 || !quiets.is_empty() {
                self.learn_quiet(board, ply, best, bonus);
            }
            for &m in quiets {
                self.learn_quiet(board, ply, m, -bonus);
            }
        }
        for &m in noisies {
            self.histories.learn_capture(board, m, -bonus);
        }
    }

    fn learn_quiet(&mut self, board: &Board, ply: usize, m: MoveCode, bonus: i32) {
        self.histories.learn_butterfly(board, m, bonus);
        let now = piece_to(board, m);
        for back in LOOKBACKS {
            let earlier = self.earlier(ply, back).piece_to;
            self.histories.learn_continuation(earlier, now, bonus);
        }
    }

    /// Where the search's score, as far as its bound speaks, contradicts the evaluation, remember by how much.
    pub fn learn_from_error(&mut self, board: &Board, depth: i32, best: i32, bound: Bound, evaluation: i32) {
        let contradicts = match bound {
            Bound::Exact => true,
            Bound::Lower => best > evaluation,
            Bound::Upper => best < evaluation,
            Bound::None => false,
        };
        if self.techniques.correction_history && contradicts && best.abs() < MATE_FOUND {
            self.histories.learn_correction(board, depth, best - evaluation);
        }
    }
}
