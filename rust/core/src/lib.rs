//! The rules of chess as Tabiya needs them, and everything that must be fast.
//!
//! One noun per file. The rules themselves are shakmaty's; what stands here is
//! what a laboratory adds: a position with its history, packed positions,
//! encodings, games read from PGN, teachers that label. This crate knows no
//! Python.

pub mod encode;
pub mod error;
pub mod exclusion;
pub mod extract;
pub mod features;
pub mod filter;
pub mod forcing;
pub mod game;
pub mod games;
pub mod genetic;
pub mod move_code;
pub mod move_index;
pub mod nnue;
pub mod packed;
pub mod pgn;
pub mod playout;
pub mod quiet;
pub mod rules;
pub mod search;
pub mod seen;
pub mod source;
pub mod split;
pub mod successors;
pub mod teacher;
pub mod verdict;

pub use error::Error;
pub use shakmaty::{Chess, Color, Move, Position, Square};
