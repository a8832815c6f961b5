//! Positions that must not be trained on: the lines of a puzzle file and what is one ply from them.
//!
//! A position is left out if it stands on a line, if a legal move from a line
//! leads to it, or if the next position of its game stands on a line.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use shakmaty::{Chess, Position};

use crate::error::Result;
use crate::packed::{key, pack};
use crate::rules;

/// The keys are hashes already.
#[derive(Default)]
pub struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("only u64 keys are hashed");
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

type Keys = HashSet<u64, BuildHasherDefault<Identity>>;

#[derive(Default)]
pub struct Exclusion {
    on_a_line: Keys,
    after_a_line: Keys,
}

impl Exclusion {
    /// Add a line: a FEN and the UCI moves played from it.
    pub fn add_line(&mut self, fen: &str, moves: &[&str]) -> Result<()> {
        let mut position = rules::from_fen(fen)?;
        self.add_position(&position);
        for text in moves {
            let m = rules::parse_uci(&position, text)?;
            position.play_unchecked(m);
            self.add_position(&position);
        }
        Ok(())
    }

    fn add_position(&mut self, position: &Chess) {
        if !self.on_a_line.insert(key(&pack(position, 0))) {
            return;
        }
        for m in &position.legal_moves() {
            let mut next = position.clone();
            next.play_unchecked(*m);
            self.after_a_line.insert(key(&pack(&next, 0)));
        }
    }

    /// Whether the position stands on a line or one ply after one.
    pub fn covers(&self, key: u64) -> bool {
        self.on_a_line.contains(&key) || self.after_a_line.contains(&key)
    }

    /// Whether the position stands on a line itself.
    pub fn on_a_line(&self, key: u64) -> bool {
        self.on_a_line.contains(&key)
    }

    /// Whether the position stands on a line or one ply from one, on either side.
    pub fn is_near(&self, position: &Chess) -> bool {
        self.covers(key(&pack(position, 0))) || self.is_before_a_line(position)
    }

    /// Whether any legal move from the position leads onto a line.
    pub fn is_before_a_line(&self, position: &Chess) -> bool {
        position.legal_moves().iter().any(|m| {
            let mut next = position.clone();
            next.play_unchecked(*m);
            self.on_a_line(key(&pack(&next, 0)))
        })
    }

    pub fn len(&self) -> usize {
        self.on_a_line.len()
    }

    pub fn is_empty(&self) -> bool {
        self.on_a_line.is_empty()
    }
}
