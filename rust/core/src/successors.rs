//! Every position that a legal move leads to, for many positions at once.

use crate::error::Result;
use crate::move_code::MoveCode;
use crate::packed::{self, Packed};
use crate::{Chess, Position, rules};

/// What is known of a position by the rules alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum State {
    GoesOn = 0,
    /// The side to move is mated.
    Mated = 1,
    /// Stalemate, or too little material.
    Drawn = 2,
}

/// Successors of a run of positions: those of position n stand at `offsets[n]..offsets[n + 1]`, in UCI order.
#[derive(Default)]
pub struct Successors {
    pub offsets: Vec<i64>,
    pub after: Vec<Packed>,
    pub moves: Vec<MoveCode>,
}

pub fn successors(positions: &[Packed], threads: usize) -> Result<Successors> {
    let share = positions.len().div_ceil(threads.max(1)).max(1);
    let parts = std::thread::scope(|scope| {
        let workers: Vec<_> = positions.chunks(share).map(|part| scope.spawn(|| of_part(part))).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("rules do not panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    let mut all = Successors { offsets: vec![0], ..Successors::default() };
    for part in parts {
        let base = all.after.len() as i64;
        all.offsets.extend(part.offsets.iter().map(|&end| base + end));
        all.after.extend_from_slice(&part.after);
        all.moves.extend_from_slice(&part.moves);
    }
    Ok(all)
}

/// As `successors`, but `offsets` without the leading zero.
fn of_part(positions: &[Packed]) -> Result<Successors> {
    let mut part = Successors::default();
    for row in positions {
        let position = packed::unpack(row)?;
        for m in rules::legal_moves_in_uci_order(&position) {
            let mut next = position.clone();
            next.play_unchecked(m);
            part.after.push(packed::pack(&next, 0));
            part.moves.push(MoveCode::of(m));
        }
        part.offsets.push(part.after.len() as i64);
    }
    Ok(part)
}

pub fn state(row: &Packed) -> Result<State> {
    Ok(state_of(&packed::unpack(row)?))
}

pub fn state_of(position: &Chess) -> State {
    if position.is_insufficient_material() {
        return State::Drawn;
    }
    if !position.legal_moves().is_empty() {
        return State::GoesOn;
    }
    if position.is_check() { State::Mated } else { State::Drawn }
}
