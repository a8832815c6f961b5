//! What a finished node teaches: good and bad moves to the histories, errors of the evaluation to its correction.

use arrayvec::ArrayVec;

use super::board::Board;
use super::evaluate::Evaluate;
use super::history::piece_to;
use super::margins::history_bonus;
use super::node::Search;
use super::picker::Context;
use super::score::MATE_FOUND;
use super::table::Bound;
use crate::move_code::MoveCode;

/// Moves tried at a node that did not end it; the first few are enough to learn from.
#[derive(Default)]
pub struct Tried {
    pub quiet: ArrayVec<MoveCode, 32>,
    pub noisy: ArrayVec<MoveCode, 32>,
}

impl<E: Evaluate> Search<'_, E> {
    /// `best` ended the node; the moves in `tried` did not.
    pub fn learn_from_cutoff(
        &mut self,
        board: &Board,
        context: &Context,
        ply: usize,
        best: MoveCode,
        depth: i32,
        tried: &Tried,
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
            if depth > 3 || !tried.quiet.is_empty() {
                self.learn_quiet(board, context, best, bonus);
            }
            for &m in &tried.quiet {
                self.learn_quiet(board, context, m, -bonus);
            }
        }
        for &m in &tried.noisy {
            self.histories.learn_capture(board, m, -bonus);
        }
    }

    fn learn_quiet(&mut self, board: &Board, context: &Context, m: MoveCode, bonus: i32) {
        self.histories.learn_butterfly(board, context.threats, m, bonus);
        let now = piece_to(board, m);
        for earlier in context.earlier {
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
