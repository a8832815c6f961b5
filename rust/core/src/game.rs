//! A position together with the moves that led to it.
//!
//! Repetition needs the past, so this is where every way a game ends is known.

use shakmaty::{Chess, Color, Move, Position};

use crate::error::{Error, Result};
use crate::packed::{self, Packed};
use crate::rules;
use crate::successors::{State, state_of};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    Checkmate(Color),
    Stalemate,
    InsufficientMaterial,
    FivefoldRepetition,
    SeventyFiveMoves,
    ThreefoldRepetition,
    FiftyMoves,
}

impl Ending {
    pub fn result(self) -> &'static str {
        match self {
            Ending::Checkmate(Color::White) => "1-0",
            Ending::Checkmate(Color::Black) => "0-1",
            _ => "1/2-1/2",
        }
    }

    pub fn reason(self) -> &'static str {
        match self {
            Ending::Checkmate(_) => "checkmate",
            Ending::Stalemate => "stalemate",
            Ending::InsufficientMaterial => "insufficient material",
            Ending::FivefoldRepetition => "fivefold repetition",
            Ending::SeventyFiveMoves => "75 moves",
            Ending::ThreefoldRepetition => "threefold repetition",
            Ending::FiftyMoves => "50 moves",
        }
    }
}

#[derive(Clone)]
pub struct Game {
    /// Every position from the start to now; never empty.
    positions: Vec<Chess>,
    keys: Vec<u64>,
    moves: Vec<Move>,
}

impl Game {
    pub fn new(start: Chess) -> Game {
        let key = packed::key(&packed::pack(&start, 0));
        Game { positions: vec![start], keys: vec![key], moves: Vec::new() }
    }

    pub fn start(&self) -> &Chess {
        &self.positions[0]
    }

    pub fn position(&self) -> &Chess {
        self.positions.last().expect("a game has a position")
    }

    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Play a move that is known to be legal.
    pub fn push(&mut self, m: Move) {
        let next = self.after(m);
        self.keys.push(packed::key(&packed::pack(&next, 0)));
        self.positions.push(next);
        self.moves.push(m);
    }

    pub fn pop(&mut self) -> Result<Move> {
        let m = self.moves.pop().ok_or_else(|| Error::Illegal("no move to take back".into()))?;
        self.positions.pop();
        self.keys.pop();
        Ok(m)
    }

    /// How often the position on the board stood there before.
    pub fn repetitions(&self) -> u32 {
        let last = self.keys.len() - 1;
        self.earlier(self.keys[last], last, self.position().halfmoves())
    }

    /// How often the position after a legal move stood there before.
    pub fn repetitions_after(&self, m: Move) -> u32 {
        let next = self.after(m);
        let key = packed::key(&packed::pack(&next, 0));
        self.earlier(key, self.keys.len(), next.halfmoves())
    }

    /// Whether a legal move ends the game drawn on the board: stalemate, or nobody can mate any more.
    pub fn draws_after(&self, m: Move) -> bool {
        state_of(&self.after(m)) == State::Drawn
    }

    /// The position after a move that is known to be legal.
    fn after(&self, m: Move) -> Chess {
        let mut next = self.position().clone();
        next.play_unchecked(m);
        next
    }

    /// Occurrences of `key` before ply `at`, no further back than the last irreversible move.
    fn earlier(&self, key: u64, at: usize, halfmoves: u32) -> u32 {
        let first = at.saturating_sub(halfmoves as usize);
        self.keys[first..at].iter().filter(|&&k| k == key).count() as u32
    }

    pub fn packed(&self) -> Packed {
        packed::pack(self.position(), self.repetitions())
    }

    pub fn key(&self) -> u64 {
        *self.keys.last().expect("a game has a position")
    }

    /// How the game has ended, if it has.
    ///
    /// With `claim`, a draw that a player may claim (third occurrence, fifty
    /// moves) counts as claimed.
    pub fn ending(&self, claim: bool) -> Option<Ending> {
        let position = self.position();
        let stuck = position.legal_moves().is_empty();
        if stuck && position.is_check() {
            return Some(Ending::Checkmate(position.turn().other()));
        }
        if position.is_insufficient_material() {
            return Some(Ending::InsufficientMaterial);
        }
        if stuck {
            return Some(Ending::Stalemate);
        }
        let (repetitions, clock) = (self.repetitions(), position.halfmoves());
        if clock >= 150 {
            return Some(Ending::SeventyFiveMoves);
        }
        if repetitions >= 4 {
            return Some(Ending::FivefoldRepetition);
        }
        if claim && clock >= 100 {
            return Some(Ending::FiftyMoves);
        }
        if claim && repetitions >= 2 {
            return Some(Ending::ThreefoldRepetition);
        }
        None
    }

    /// Play a move given as SAN or UCI text.
    pub fn push_text(&mut self, text: &str) -> Result<Move> {
        let m = rules::parse_move(self.position(), text)?;
        self.push(m);
        Ok(m)
    }
}
