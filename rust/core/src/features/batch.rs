//! Many packed positions as sparse features for training: both views, on several threads.

use shakmaty::Color;

use super::{FeatureSet, Gather, Pieces};
use crate::error::{Error, Result};
use crate::packed::Packed;

/// Rows of feature numbers: row `i` is `indices[offsets[i]..offsets[i + 1]]`.
///
/// Both of one type, as torch's `embedding_bag` wants them; a batch is small enough for 31 bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sparse {
    pub offsets: Vec<u32>,
    pub indices: Vec<u32>,
}

/// The side to move's view of each position, and the other side's.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Views {
    pub mover: Sparse,
    pub other: Sparse,
}

/// What one thread made: lengths of rows, and the rows.
#[derive(Default)]
struct Rows {
    ends: [Vec<u32>; 2],
    indices: [Vec<u32>; 2],
}

/// The active features of every position, each row without duplicates.
pub fn batch(positions: &[Packed], set: &FeatureSet, threads: usize) -> Result<Views> {
    let most = i32::MAX as usize / set.max_active();
    if positions.len() > most {
        let (count, set) = (positions.len(), set.expression());
        return Err(Error::Malformed(format!(
            "a batch of {set} holds at most {most} positions, not {count}"
        )));
    }
    let share = positions.len().div_ceil(threads.max(1)).max(1);
    let mut parts: Vec<Rows> = if threads <= 1 {
        vec![rows(positions, set)]
    } else {
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                positions.chunks(share).map(|part| scope.spawn(|| rows(part, set))).collect();
            workers.into_iter().map(|worker| worker.join().expect("rows do not panic")).collect()
        })
    };
    Ok(Views { mover: joined(&mut parts, 0), other: joined(&mut parts, 1) })
}

fn rows(positions: &[Packed], set: &FeatureSet) -> Rows {
    let mut made = Rows::default();
    let mut gather = if set.is_local() { Gather::default() } else { Gather::new(set.size()) };
    let usual = positions.len() * set.max_active().min(32);
    for side in 0..2 {
        made.ends[side].reserve_exact(positions.len());
        made.indices[side].reserve(usual);
    }
    for packed in positions {
        let pieces = Pieces::from(packed);
        let turn = Color::from_white(packed[24] & 1 == 0);
        for (side, view) in [turn, turn.other()].into_iter().enumerate() {
            set.append_active(&pieces, view, &mut gather, &mut made.indices[side]);
            made.ends[side].push(made.indices[side].len() as u32);
        }
    }
    made
}

/// The threads' rows of one side, end to end.
fn joined(parts: &mut [Rows], side: usize) -> Sparse {
    let mut whole = Sparse { offsets: vec![0], indices: Vec::new() };
    for part in parts {
        let before = whole.indices.len() as u32;
        whole.offsets.extend(part.ends[side].iter().map(|&end| before + end));
        let own = std::mem::take(&mut part.indices[side]);
        if whole.indices.is_empty() {
            whole.indices = own;
        } else {
            whole.indices.extend_from_slice(&own);
        }
    }
    whole
}
