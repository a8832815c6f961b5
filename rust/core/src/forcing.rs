//! Mates in which the other side has next to nothing to choose: every move a check, few legal replies to each.
//!
//! Such a line can be long and is still narrow, so a few hundred positions settle
//! it where a search of all moves to the same depth would need billions.

use crate::error::Result;
use crate::move_code::MoveCode;
use crate::packed::{self, Packed};
use crate::{Chess, Position, rules};

/// Positions looked at for one line, at most.
const MOST_POSITIONS: usize = 2_000;

/// How long and how wide a line may be.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// Moves of the side that mates.
    pub longest: usize,
    /// Legal replies that a check may leave.
    pub replies: usize,
}

/// For each position the quickest such mate, both sides' moves in turn, against the longest defence; empty
/// where there is none.
pub fn forced_mates(positions: &[Packed], narrow: Narrow, threads: usize) -> Result<Vec<Vec<MoveCode>>> {
    let share = positions.len().div_ceil(threads.max(1)).max(1);
    let parts = std::thread::scope(|scope| {
        let workers: Vec<_> = positions
            .chunks(share)
            .map(|part| {
                scope.spawn(move || part.iter().map(|row| of_row(row, narrow)).collect::<Result<Vec<_>>>())
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("rules do not panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    Ok(parts.into_iter().flatten().collect())
}

fn of_row(row: &Packed, narrow: Narrow) -> Result<Vec<MoveCode>> {
    let position = packed::unpack(row)?;
    let mut search = Search { replies: narrow.replies, left: MOST_POSITIONS };
    let Some(mut line) = search.quickest(&position, narrow.longest) else { return Ok(Vec::new()) };
    line.reverse();
    Ok(line.into_iter().map(MoveCode::of).collect())
}

struct Search {
    replies: usize,
    /// Positions that may still be looked at; a line that is not found by then is not narrow.
    left: usize,
}

/// Both sides' moves, from the end to the beginning.
type Line = Vec<crate::Move>;

impl Search {
    fn quickest(&mut self, position: &Chess, most: usize) -> Option<Line> {
        (1..=most).find_map(|moves| self.mate(position, moves))
    }

    /// A mate in at most `moves`.
    fn mate(&mut self, position: &Chess, moves: usize) -> Option<Line> {
        rules::legal_moves_in_uci_order(position).into_iter().find_map(|m| self.mate_by(position, m, moves))
    }

    fn mate_by(&mut self, position: &Chess, m: crate::Move, moves: usize) -> Option<Line> {
        self.left = self.left.checked_sub(1)?;
        let mut next = position.clone();
        next.play_unchecked(m);
        if !next.is_check() {
            return None;
        }
        let answers = next.legal_moves();
        if answers.is_empty() {
            return Some(vec![m]);
        }
        if moves == 1 || answers.len() > self.replies {
            return None;
        }
        // Every answer must lose; the one that lasts longest is the line.
        let mut longest = Line::new();
        for answer in answers {
            let mut after = next.clone();
            after.play_unchecked(answer);
            let mut line = self.quickest(&after, moves - 1)?;
            line.push(answer);
            if line.len() > longest.len() {
                longest = line;
            }
        }
        longest.push(m);
        Some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fen: &str, longest: usize, replies: usize) -> String {
        let row = packed::pack(&rules::from_fen(fen).unwrap(), 0);
        let found = forced_mates(&[row], Narrow { longest, replies }, 1).unwrap();
        found[0].iter().map(|code| code.uci().to_string()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_smothered_mate_is_found_with_its_only_replies() {
        let fen = "5b1k/6pp/5n2/6N1/8/1Q6/6PP/7K w - - 0 1";
        assert_eq!(line(fen, 4, 1), "g5f7 h8g8 f7h6 g8h8 b3g8 f6g8 h6f7");
        // Three moves are too few.
        assert_eq!(line(fen, 3, 1), "");
    }

    #[test]
    fn a_mate_at_once_needs_no_reply() {
        assert_eq!(line("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1", 5, 1), "e1e8");
    }

    #[test]
    fn a_quiet_mate_is_none_of_these() {
        assert_eq!(line("7k/8/5K2/8/8/8/8/6Q1 b - - 0 1", 5, 3), "");
        assert_eq!(line("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 4, 3), "");
    }
}
