//! What a feature set holds and costs on real games: counts that are exact, and speeds of this machine.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use shakmaty::{Color, Position};

use super::accumulators::Accumulators;
use super::network::Network;
use super::shape::Shape;
use crate::error::{Error, Result};
use crate::features::{FeatureError, FeatureSet, Pieces};
use crate::packed;
use crate::pgn;
use crate::source;
use crate::split::Splitter;

/// A game as the network meets it: where the pieces stand, and who is to move.
pub type Line = Vec<(Pieces, Color)>;

/// Weights beyond this are not made only to be timed.
const MOST_WEIGHTS: usize = 1 << 27;
/// The quickest of several rounds is what the machine can do while nobody disturbs it.
const ROUNDS: usize = 5;
const ROUND_SECONDS: f64 = 0.06;

/// Sums over every position of the games and both views.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    pub size: usize,
    /// Features that no position can make active.
    pub dead: usize,
    /// Features that some position of these games made active.
    pub seen: usize,
    pub positions: usize,
    pub moves: usize,
    pub active: u64,
    pub most_active: usize,
    /// Of the views that could be updated.
    pub added: u64,
    pub removed: u64,
    /// Views that a move leaves to be made anew.
    pub refreshes: u64,
    pub updates: u64,
    /// Single features are looked up in a table by piece and square.
    pub by_table: bool,
}

/// Up to `most` games of a PGN file, the last positions included; those that cannot be replayed are left out.
pub fn read_lines(path: &Path, most: usize) -> Result<Vec<Line>> {
    let (reader, _) = source::open(path)?;
    let mut splitter = Splitter::new(reader, 0);
    let mut lines = Vec::new();
    while let Some(chunk) = splitter.next_chunk().map_err(Error::io(path))? {
        for text in chunk.games() {
            if lines.len() >= most {
                return Ok(lines);
            }
            let Ok(game) = pgn::read_game(text.bytes) else { continue };
            let Some(last) = game.plies.last() else { continue };
            let mut position = packed::unpack(&last.packed)?;
            let m = crate::rules::parse_uci(&position, &last.code.uci().to_string())?;
            position.play_unchecked(m);
            let turn = |ply: &pgn::Ply| if ply.packed[24] & 1 == 0 { Color::White } else { Color::Black };
            let mut line: Line =
                game.plies.iter().map(|ply| (Pieces::from(&ply.packed), turn(ply))).collect();
            line.push((Pieces::from(&position), position.turn()));
            lines.push(line);
        }
    }
    Ok(lines)
}

/// Count what the set holds along the games.
pub fn count(set: &FeatureSet, lines: &[Line]) -> Usage {
    let mut usage = Usage {
        size: set.size(),
        dead: set.dead().iter().filter(|&&dead| dead).count(),
        by_table: set.is_local(),
        ..Usage::default()
    };
    let mut seen = vec![false; set.size()];
    let (mut active, mut added, mut removed) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        usage.positions += line.len();
        usage.moves += line.len() - 1;
        for view in Color::ALL {
            for (pieces, _) in line {
                set.active(*pieces, view, &mut active);
                usage.active += active.len() as u64;
                usage.most_active = usage.most_active.max(active.len());
                active.iter().for_each(|&feature| seen[feature as usize] = true);
            }
            for pair in line.windows(2) {
                if set.changes(pair[0].0, pair[1].0, view, &mut added, &mut removed) {
                    usage.updates += 1;
                    usage.added += added.len() as u64;
                    usage.removed += removed.len() as u64;
                } else {
                    usage.refreshes += 1;
                }
            }
        }
    }
    usage.seen = seen.iter().filter(|&&seen| seen).count();
    usage
}

/// Positions a second: both views brought up to date, and the same with the evaluation behind it.
///
/// None where the weights alone would fill the memory.
pub fn speed(expression: &str, lines: &[Line], shape: Shape) -> Result<Option<(f64, f64)>> {
    let set = FeatureSet::parse(expression).map_err(FeatureError::malformed)?;
    if set.size().saturating_mul(shape.l1) > MOST_WEIGHTS || lines.is_empty() {
        return Ok(None);
    }
    let mut accumulators = Accumulators::new(Arc::new(Network::random(set, shape, 1)?), Pieces::NONE);
    let updates = rate(lines, |line| {
        accumulators.reset(line[0].0);
        for (pieces, turn) in &line[1..] {
            accumulators.push(*pieces);
            black_box(accumulators.accumulator(*turn));
        }
    });
    let evaluations = rate(lines, |line| {
        accumulators.reset(line[0].0);
        for (pieces, turn) in &line[1..] {
            accumulators.push(*pieces);
            black_box(accumulators.evaluate(*turn));
        }
    });
    Ok(Some((updates, evaluations)))
}

/// Moves a second in the best of a few rounds through the games.
fn rate(lines: &[Line], mut follow: impl FnMut(&Line)) -> f64 {
    let mut best = 0.0_f64;
    let mut turns = lines.iter().cycle();
    for _ in 0..ROUNDS {
        let (start, mut moves, mut spent) = (on_processor(), 0, 0.0);
        while spent < ROUND_SECONDS {
            // A few games at a time, so that the clock is not read all the while.
            for line in turns.by_ref().take(8) {
                follow(line);
                moves += line.len() - 1;
            }
            spent = on_processor() - start;
        }
        best = best.max(moves as f64 / spent);
    }
    best
}

/// Seconds that this thread has had the processor, where the system tells; else seconds gone by.
pub fn on_processor() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    match told.and_then(|text| text.split(' ').next()?.parse::<f64>().ok()) {
        Some(nanoseconds) => nanoseconds / 1e9,
        None => START.get_or_init(Instant::now).elapsed().as_secs_f64(),
    }
}
