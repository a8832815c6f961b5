//! Which positions an evaluation without search can be asked about.
//!
//! A search calls its evaluation only where nothing hangs: in check, or where
//! a capture or a promotion wins something, it looks further first. Positions
//! that it never asks about teach a network the wrong thing.

use crate::error::Result;
use crate::move_code::MoveCode;
use crate::packed::{self, Packed};
use crate::search::generate::{MoveList, NO_MOVE};
use crate::search::{Board, exchange};

/// For each position, whether it is quiet; `best` has its best move, or 0 where that is not known.
pub fn quiet(positions: &[Packed], best: Option<&[u16]>, threads: usize) -> Result<Vec<bool>> {
    let share = positions.len().div_ceil(threads.max(1)).max(1);
    let of_part = &|number: usize, part: &[Packed]| -> Result<Vec<bool>> {
        let known = |at: usize| best.map(|codes| MoveCode(codes[number * share + at]));
        part.iter()
            .enumerate()
            .map(|(at, row)| is_quiet(row, known(at).filter(|code| *code != NO_MOVE)))
            .collect()
    };
    let parts = std::thread::scope(|scope| {
        let chunks = positions.chunks(share).enumerate();
        let workers: Vec<_> =
            chunks.map(|(number, part)| scope.spawn(move || of_part(number, part))).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, _>| worker.join().expect("rules do not panic");
        workers.into_iter().map(join).collect::<Result<Vec<_>>>()
    })?;
    Ok(parts.concat())
}

/// No check, and no capture or promotion that wins by exchanges.
///
/// Where the best move is known it decides instead: it must be neither.
fn is_quiet(row: &Packed, best: Option<MoveCode>) -> Result<bool> {
    let board = Board::new(&packed::unpack(row)?);
    if board.in_check() {
        return Ok(false);
    }
    if let Some(best) = best {
        return Ok(!board.is_noisy(best));
    }
    let mut noisy = MoveList::new();
    board.noisy_moves(&mut noisy);
    Ok(!noisy.iter().any(|scored| board.is_legal(scored.code) && exchange::at_least(&board, scored.code, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    fn quiet(fen: &str, best: Option<&str>) -> bool {
        let position = rules::from_fen(fen).unwrap();
        let best = best.map(|text| MoveCode::parse(text).unwrap());
        is_quiet(&packed::pack(&position, 0), best).unwrap()
    }

    #[test]
    fn the_first_position_is_quiet() {
        assert!(quiet("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", None));
    }

    #[test]
    fn a_check_is_not() {
        assert!(!quiet("4k3/8/8/8/8/8/4r3/4K3 w - - 0 1", None));
    }

    #[test]
    fn a_piece_that_hangs_is_not_and_a_defended_one_is() {
        assert!(!quiet("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1", None));
        assert!(quiet("4k3/8/4p3/3n4/8/8/8/3RK3 w - - 0 1", None));
    }

    #[test]
    fn a_known_best_move_decides() {
        let hangs = "4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1";
        assert!(quiet(hangs, Some("e1e2")));
        assert!(!quiet(hangs, Some("d1d5")));
    }
}
