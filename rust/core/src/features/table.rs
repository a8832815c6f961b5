//! Active features as rows of one width: what a table that lies on a training device holds.
//!
//! Both views of a position stand side by side, the side to move's first, and
//! what a view does not fill holds the set's size, a feature that there is not.

use shakmaty::Color;

use super::{FeatureSet, Gather, Pieces};
use crate::error::{Error, Result};
use crate::packed::Packed;

/// A feature's number as a table stores it.
pub trait Number: Copy + Send {
    /// The largest that it can say.
    const MOST: usize;
    fn of(number: u32) -> Self;
}

impl Number for u16 {
    const MOST: usize = u16::MAX as usize;
    fn of(number: u32) -> u16 {
        number as u16
    }
}

impl Number for i32 {
    const MOST: usize = i32::MAX as usize;
    fn of(number: u32) -> i32 {
        number as i32
    }
}

/// Fill `out`, `[positions][2][width]`.
pub fn fill<T: Number>(
    positions: &[Packed],
    set: &FeatureSet,
    width: usize,
    out: &mut [T],
    threads: usize,
) -> Result<()> {
    if set.size() > T::MOST {
        let (size, most) = (set.size(), T::MOST);
        return Err(Error::Malformed(format!("numbers up to {most} cannot hold a set of {size} features")));
    }
    assert_eq!(out.len(), positions.len() * 2 * width, "a slot for every view");
    if positions.is_empty() || width == 0 {
        return Ok(());
    }
    let share = positions.len().div_ceil(threads.max(1));
    std::thread::scope(|scope| {
        let workers: Vec<_> = positions
            .chunks(share)
            .zip(out.chunks_mut(share * 2 * width))
            .map(|(part, slots)| scope.spawn(move || fill_part(part, set, width, slots)))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("rows do not panic"))
    })
}

fn fill_part<T: Number>(positions: &[Packed], set: &FeatureSet, width: usize, out: &mut [T]) -> Result<()> {
    let nothing = T::of(set.size() as u32);
    let mut slots = out.chunks_exact_mut(width);
    each_view(positions, set, |active| {
        let slot = slots.next().expect("a slot for every view");
        if active.len() > width {
            let (expression, count) = (set.expression(), active.len());
            return Err(Error::Malformed(format!(
                "rows of {width} are too narrow for {expression}: a position has {count} features active"
            )));
        }
        slot.fill(nothing);
        slot.iter_mut().zip(active).for_each(|(slot, &feature)| *slot = T::of(feature));
        Ok(())
    })
}

/// The largest number of features that any of these positions has active in a view.
pub fn most_active(positions: &[Packed], set: &FeatureSet, threads: usize) -> usize {
    let share = positions.len().div_ceil(threads.max(1)).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = positions
            .chunks(share)
            .map(|part| {
                scope.spawn(move || {
                    let mut most = 0;
                    each_view(part, set, |active| {
                        most = most.max(active.len());
                        Ok(())
                    })
                    .map(|()| most)
                    .expect("counting cannot fail")
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().expect("rows do not panic")).max().unwrap_or(0)
    })
}

/// Hand on the active features of each view of each position, the side to move's first.
fn each_view(
    positions: &[Packed],
    set: &FeatureSet,
    mut see: impl FnMut(&[u32]) -> Result<()>,
) -> Result<()> {
    let mut gather = if set.is_local() { Gather::default() } else { Gather::new(set.size()) };
    let mut active = Vec::new();
    for packed in positions {
        let pieces = Pieces::from(packed);
        let turn = Color::from_white(packed[24] & 1 == 0);
        for view in [turn, turn.other()] {
            active.clear();
            set.append_active(&pieces, view, &mut gather, &mut active);
            see(&active)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::batch;
    use crate::playout::random_positions;

    #[test]
    fn rows_hold_what_a_batch_holds() {
        let positions = random_positions(300, 5, 120);
        for expression in ["ALL", "H+V", "KING-MIRRORED", "ALL+MOBILITY-BITS"] {
            let set = FeatureSet::parse(expression).unwrap();
            let width = most_active(&positions, &set, 3);
            let mut rows = vec![0u16; positions.len() * 2 * width];
            fill(&positions, &set, width, &mut rows, 3).unwrap();
            let views = batch(&positions, &set, 1).unwrap();
            for (at, row) in rows.chunks(width).enumerate() {
                let (view, number) = ([&views.mover, &views.other][at % 2], at / 2);
                let [from, to] = [view.offsets[number], view.offsets[number + 1]].map(|end| end as usize);
                let filled = row.iter().map(|&n| u32::from(n)).filter(|&n| (n as usize) < set.size());
                assert_eq!(filled.collect::<Vec<_>>(), view.indices[from..to], "{expression}");
            }
        }
    }

    #[test]
    fn rows_that_are_too_narrow_are_refused() {
        let positions = random_positions(3, 5, 4);
        let set = FeatureSet::parse("ALL").unwrap();
        let refusal = fill(&positions, &set, 8, &mut [0u16; 3 * 16], 1).unwrap_err();
        assert!(refusal.to_string().contains("rows of 8 are too narrow for ALL"), "{refusal}");
    }

    #[test]
    fn sixteen_bits_refuse_a_set_they_cannot_number() {
        let set = FeatureSet::parse("PIECE-PIECE").unwrap();
        assert!(fill::<u16>(&[], &set, 8, &mut [], 1).is_err());
        assert!(fill::<i32>(&[], &set, 8, &mut [], 1).is_ok());
    }
}
