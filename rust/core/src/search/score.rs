//! Scores: centipawns for the side to move, and mates counted from the root.

/// Deepest line that is followed, in plies.
pub const MAX_PLY: usize = 128;

pub const INFINITE: i32 = 32_001;
pub const MATE: i32 = 32_000;
/// Any score beyond this is a forced mate.
pub const MATE_FOUND: i32 = MATE - 2 * MAX_PLY as i32;
/// An evaluation never looks like a mate.
pub const MAX_EVALUATION: i32 = MATE_FOUND - 1;
/// No score: the position is in check, or the table holds none.
pub const UNKNOWN: i32 = 32_002;

/// Mated at this distance from the root.
#[inline]
pub fn mated_in(ply: usize) -> i32 {
    ply as i32 - MATE
}

#[inline]
pub fn is_mate(score: i32) -> bool {
    score.abs() > MATE_FOUND && score.abs() <= MATE
}

/// A mate is stored as its distance from the position, not from the root.
#[inline]
pub fn to_table(score: i32, ply: usize) -> i32 {
    if !is_mate(score) {
        score
    } else if score > 0 {
        score + ply as i32
    } else {
        score - ply as i32
    }
}

#[inline]
pub fn from_table(score: i32, ply: usize) -> i32 {
    if !is_mate(score) {
        score
    } else if score > 0 {
        score - ply as i32
    } else {
        score + ply as i32
    }
}

/// A score as people read it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Centipawns(i32),
    /// Mate in so many moves; negative when the side to move is mated.
    Mate(i32),
}

impl Verdict {
    pub fn of(score: i32) -> Verdict {
        if !is_mate(score) {
            return Verdict::Centipawns(score);
        }
        let plies = MATE - score.abs();
        Verdict::Mate(if score > 0 { (plies + 1) / 2 } else { -(plies / 2) })
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Verdict::Centipawns(score) => write!(to, "cp {score}"),
            Verdict::Mate(moves) => write!(to, "mate {moves}"),
        }
    }
}
