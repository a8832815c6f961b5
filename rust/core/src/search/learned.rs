//! The search judged by a network: its accumulators follow the line being searched.
//!
//! A move made costs the copy of eight bitboards; what changed is found by
//! comparing them, and only where an evaluation is asked for.

use std::sync::Arc;

use shakmaty::Chess;

use super::board::Board;
use super::evaluate::Evaluate;
use super::handmade::Handmade;
use crate::features::Pieces;
use crate::move_code::MoveCode;
use crate::nnue::{Accumulators, Network};

impl From<&Board> for Pieces {
    #[inline]
    fn from(board: &Board) -> Pieces {
        Pieces { roles: board.roles().map(u64::from), colors: board.colors().map(u64::from) }
    }
}

/// A network as an evaluation; a clone shares the weights and starts a line of its own.
pub struct Learned(Accumulators);

impl Learned {
    pub fn new(network: Arc<Network>) -> Learned {
        Learned(Accumulators::new(network, Pieces::NONE))
    }

    pub fn network(&self) -> &Arc<Network> {
        self.0.network()
    }
}

impl Clone for Learned {
    fn clone(&self) -> Learned {
        Learned::new(self.network().clone())
    }
}

impl Evaluate for Learned {
    fn reset(&mut self, root: &Board, _position: &Chess) {
        self.0.reset(root);
    }

    #[inline]
    fn push(&mut self, _before: &Board, _m: MoveCode, after: &Board) {
        self.0.push(after);
    }

    #[inline]
    fn pop(&mut self) {
        self.0.pop();
    }

    // Passing moves no piece: the accumulators stay where they are and the turn comes with the board.

    #[inline]
    fn evaluate(&mut self, board: &Board) -> i32 {
        self.0.evaluate(board.turn)
    }
}

/// The evaluations that an engine can be given while it runs.
#[derive(Clone)]
pub enum Evaluator {
    Handmade(Handmade),
    Learned(Box<Learned>),
}

impl Evaluator {
    /// A network's, or the handmade one where there is none.
    pub fn new(network: Option<Arc<Network>>) -> Evaluator {
        match network {
            Some(network) => Evaluator::Learned(Box::new(Learned::new(network))),
            None => Evaluator::Handmade(Handmade),
        }
    }

    pub fn network(&self) -> Option<&Arc<Network>> {
        match self {
            Evaluator::Handmade(_) => None,
            Evaluator::Learned(learned) => Some(learned.network()),
        }
    }
}

impl Evaluate for Evaluator {
    fn reset(&mut self, root: &Board, position: &Chess) {
        match self {
            Evaluator::Handmade(handmade) => handmade.reset(root, position),
            Evaluator::Learned(learned) => learned.reset(root, position),
        }
    }

    #[inline]
    fn push(&mut self, before: &Board, m: MoveCode, after: &Board) {
        if let Evaluator::Learned(learned) = self {
            learned.push(before, m, after);
        }
    }

    #[inline]
    fn pop(&mut self) {
        if let Evaluator::Learned(learned) = self {
            learned.pop();
        }
    }

    #[inline]
    fn evaluate(&mut self, board: &Board) -> i32 {
        match self {
            Evaluator::Handmade(handmade) => handmade.evaluate(board),
            Evaluator::Learned(learned) => learned.evaluate(board),
        }
    }
}
