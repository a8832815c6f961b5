//! What a search asks of an evaluation.

use shakmaty::{Chess, Move, Position};

use super::board::Board;
use crate::move_code::MoveCode;

/// An evaluation that may keep state along the line being searched.
///
/// `reset` names the root; every move made is pushed and later popped, so what
/// a network computed for a parent can serve the child. A null move is a push
/// without a move.
pub trait Evaluate: Send {
    fn reset(&mut self, root: &Board, position: &Chess);
    fn push(&mut self, before: &Board, m: MoveCode, after: &Board);
    fn pop(&mut self);
    fn push_null(&mut self, _before: &Board, _after: &Board) {}
    fn pop_null(&mut self) {}
    /// Centipawns for the side to move, which is not in check.
    fn evaluate(&mut self, board: &Board) -> i32;
}

/// An evaluation that knows the rules library's positions only.
pub trait EvaluateChess: Send {
    fn reset(&mut self, root: &Chess);
    fn push(&mut self, before: &Chess, m: Move, after: &Chess);
    fn pop(&mut self);
    /// Centipawns for the side to move. After a null move the position is the one before it, with the other
    /// side to move.
    fn evaluate(&mut self, position: &Chess) -> i32;
}

/// Follows the search with the rules library's positions, for an evaluation that needs them.
///
/// Moves are played here only when an evaluation is asked for: a line that is
/// cut before that costs a push on a list.
#[derive(Clone)]
pub struct Mirror<E> {
    inner: E,
    /// The root and the positions after the moves played so far; null moves are among them.
    played: Vec<Chess>,
    /// Every move since the root; `None` is a null move.
    line: Vec<Option<Move>>,
}

impl<E: EvaluateChess> Mirror<E> {
    pub fn new(inner: E) -> Mirror<E> {
        Mirror { inner, played: vec![Chess::default()], line: Vec::new() }
    }

    fn catch_up(&mut self) -> &Chess {
        for index in self.played.len() - 1..self.line.len() {
            let before = &self.played[index];
            let after = match self.line[index] {
                Some(m) => {
                    let mut after = before.clone();
                    after.play_unchecked(m);
                    self.inner.push(before, m, &after);
                    after
                }
                None => passed(before),
            };
            self.played.push(after);
        }
        self.played.last().expect("the root is always there")
    }

    fn take_back(&mut self) {
        let m = self.line.pop().expect("every pop has its push");
        if self.played.len() > self.line.len() + 1 {
            self.played.pop();
            if m.is_some() {
                self.inner.pop();
            }
        }
    }
}

/// The position with the other side to move; the side to move is not in check.
fn passed(position: &Chess) -> Chess {
    use shakmaty::PositionError;
    position
        .clone()
        .swap_turn()
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check)
        .expect("a side that is not in check may pass")
}

impl<E: EvaluateChess> Evaluate for Mirror<E> {
    fn reset(&mut self, _root: &Board, position: &Chess) {
        self.line.clear();
        self.played.clear();
        self.played.push(position.clone());
        self.inner.reset(position);
    }

    fn push(&mut self, before: &Board, m: MoveCode, _after: &Board) {
        self.line.push(Some(before.to_shakmaty(m)));
    }

    fn pop(&mut self) {
        self.take_back();
    }

    fn push_null(&mut self, _before: &Board, _after: &Board) {
        self.line.push(None);
    }

    fn pop_null(&mut self) {
        self.take_back();
    }

    fn evaluate(&mut self, _board: &Board) -> i32 {
        self.catch_up();
        self.inner.evaluate(self.played.last().expect("the root is always there"))
    }
}
