//! The genetic mind: genomes, what their genes see on a board, and the search that plays by them.
//!
//! A genome is a table of numbers (`schema` names them, `genome` reads and
//! writes them as text, `breed` makes new ones from chance and from parents).
//! `survey` gathers what the scoring genes ask of a position, `genes` scores
//! it, `clock` spends the time, `search` looks ahead, `mind` plays move after
//! move, and `duel` is a whole game of two genomes.

pub mod breed;
pub mod clock;
pub mod duel;
pub mod genes;
pub mod genome;
pub mod mind;
pub mod schema;
pub mod search;
pub mod survey;
