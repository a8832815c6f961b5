//! What is kept of one game: ratings, time control, sampling, distance from puzzles.
//!
//! Nothing here remembers other games, so games are filtered on any core in
//! any order. What is random is drawn from the seed and the game's own hash.

use std::collections::BTreeMap;

use shakmaty::{Chess, Position};

use crate::exclusion::Exclusion;
use crate::packed::{Packed, key, mix, pack, unpack};
use crate::pgn::{self, GameResult};
use crate::split::GameText;

pub const RECORD_BYTES: usize = 48;
pub const MOVE_AT: usize = 32;
pub const EVAL_AT: usize = 34;
pub const PLY_AT: usize = 44;
pub const TIER_AT: usize = 47;

/// One position of a game as it stands in a shard.
pub type Record = [u8; RECORD_BYTES];

/// What sets two more draws of a position apart from the one that samples it.
const WANDERING: u64 = 0x3A17_DE52;
const CHOOSING: u64 = 0x91C4_0B6F;

/// A band of ratings with how much of it is kept.
#[derive(Clone, Debug)]
pub struct Tier {
    pub low: u16,
    /// Exclusive.
    pub high: u16,
    /// Share of its positions that is kept, in (0, 1].
    pub sample: f64,
    pub max_positions: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RatedBy {
    Lower,
    Average,
}

/// What is kept. The default keeps every position of every game.
#[derive(Clone, Debug)]
pub struct Filters {
    pub tiers: Vec<Tier>,
    pub rated_by: RatedBy,
    pub min_elo: Option<u16>,
    pub max_elo: Option<u16>,
    /// Games with a TimeControl tag whose base time is shorter are left out.
    pub min_base_seconds: Option<u32>,
    /// Half-moves into the game before which nothing is kept.
    pub from_ply: u16,
    pub one_per_game: bool,
    /// Share of positions kept.
    pub sample: f64,
    /// In this share of those of training games a move of chance is made first; then nobody's move, verdict or
    /// result is known.
    pub wander: f64,
    /// Copies of one position that are kept; 0: all.
    pub copies: u8,
    pub max_positions: Option<u64>,
    pub seed: u64,
}

impl Default for Filters {
    fn default() -> Self {
        Filters {
            tiers: Vec::new(),
            rated_by: RatedBy::Lower,
            min_elo: None,
            max_elo: None,
            min_base_seconds: None,
            from_ply: 0,
            one_per_game: false,
            sample: 1.0,
            wander: 0.0,
            copies: 0,
            max_positions: None,
            seed: 0,
        }
    }
}

/// A game belongs to the validation split if its hash says so: 1 %, for ever.
pub fn is_validation(game_hash: u64) -> bool {
    game_hash.is_multiple_of(100)
}

/// A number in [0, 1) drawn from the seed, the game and the ply.
fn draw(seed: u64, game_hash: u64, ply: u64) -> f64 {
    (mix(mix(seed ^ 0x7AB1_7A00).wrapping_add(game_hash) ^ mix(ply)) >> 11) as f64 / (1u64 << 53) as f64
}

/// A game that could not be replayed.
#[derive(Clone, Debug)]
pub struct Broken {
    pub line: u64,
    pub why: String,
}

/// One game after the filters that need no memory of other games.
pub struct Passed {
    pub records: Vec<Record>,
    pub keys: Vec<u64>,
    /// All plies of the game, kept or not: what value labels are aligned with.
    pub plies: usize,
    pub validation: bool,
}

/// What came of a chunk of games.
#[derive(Default)]
pub struct Filtered {
    pub games: Vec<Passed>,
    pub broken: Vec<Broken>,
    pub counts: Counts,
}

/// How many games and positions went which way, by name.
#[derive(Clone, Default, Debug)]
pub struct Counts(pub BTreeMap<&'static str, u64>);

impl Counts {
    pub fn add(&mut self, name: &'static str, amount: u64) {
        *self.0.entry(name).or_default() += amount;
    }

    pub fn merge(&mut self, other: &Counts) {
        for (name, amount) in &other.0 {
            self.add(name, *amount);
        }
    }
}

/// Replay and filter one game.
pub fn pass(text: &GameText<'_>, filters: &Filters, exclusion: Option<&Exclusion>, out: &mut Filtered) {
    out.counts.add("games", 1);
    let game = match pgn::read_game(text.bytes) {
        Ok(game) => game,
        Err(why) => {
            out.counts.add("games_broken", 1);
            out.broken.push(Broken { line: text.line, why });
            return;
        }
    };
    let mut passed = Passed {
        records: Vec::new(),
        keys: Vec::new(),
        plies: game.plies.len(),
        validation: is_validation(game.hash),
    };
    out.counts.add("plies", game.plies.len() as u64);
    match tier_of(&game, filters) {
        Err(reason) => out.counts.add(reason, 1),
        Ok(tier) => keep(&game, text.number, tier, filters, exclusion, &mut passed, &mut out.counts),
    }
    out.games.push(passed);
}

/// The tier's number (0: no tiers), or why the game is left out.
fn tier_of(game: &pgn::Game, filters: &Filters) -> std::result::Result<u8, &'static str> {
    if game.is_variant {
        return Err("games_of_variants");
    }
    let (low, high) = (game.white_elo.min(game.black_elo), game.white_elo.max(game.black_elo));
    if filters.min_elo.is_some_and(|min| low < min) || filters.max_elo.is_some_and(|max| high > max) {
        return Err("games_outside_ratings");
    }
    if let (Some(minimum), Some(base)) = (filters.min_base_seconds, game.base_seconds)
        && base < minimum
    {
        return Err("games_too_fast");
    }
    if filters.tiers.is_empty() {
        return Ok(0);
    }
    let rating = match filters.rated_by {
        RatedBy::Lower => low,
        RatedBy::Average => ((u32::from(low) + u32::from(high)) / 2) as u16,
    };
    let tier = filters.tiers.iter().position(|tier| tier.low <= rating && rating < tier.high);
    tier.map(|at| at as u8 + 1).ok_or("games_outside_tiers")
}

fn keep(
    game: &pgn::Game,
    number: u64,
    tier: u8,
    filters: &Filters,
    exclusion: Option<&Exclusion>,
    passed: &mut Passed,
    counts: &mut Counts,
) {
    let sample = filters.sample * if tier == 0 { 1.0 } else { filters.tiers[usize::from(tier) - 1].sample };
    let first = usize::from(filters.from_ply).min(game.plies.len());
    counts.add("positions_early", first as u64);
    let only = filters.one_per_game.then(|| {
        let span = game.plies.len() - first;
        first + (draw(filters.seed, game.hash, u64::MAX) * span as f64) as usize
    });
    let (mut sampled_out, mut near_puzzles, mut ended) = (0, 0, 0);
    for (at, ply) in game.plies.iter().enumerate().skip(first) {
        if only.is_some_and(|only| only != at)
            || (sample < 1.0 && draw(filters.seed, game.hash, at as u64) >= sample)
        {
            sampled_out += 1;
            continue;
        }
        if filters.wander > 0.0
            && !passed.validation
            && draw(filters.seed ^ WANDERING, game.hash, at as u64) < filters.wander
        {
            match wandered(&ply.packed, draw(filters.seed ^ CHOOSING, game.hash, at as u64)) {
                None => ended += 1,
                Some(position) if exclusion.is_some_and(|exclusion| exclusion.is_near(&position)) => {
                    near_puzzles += 1;
                }
                Some(position) => {
                    let packed = pack(&position, 0);
                    passed.keys.push(key(&packed));
                    passed.records.push(record_of(&packed, game, number, at + 1, tier));
                }
            }
            continue;
        }
        if let Some(exclusion) = exclusion {
            let next = game.plies.get(at + 1).map_or(game.last_key, |ply| ply.key);
            if exclusion.covers(ply.key) || exclusion.on_a_line(next) {
                near_puzzles += 1;
                continue;
            }
        }
        let mut record = record_of(&ply.packed, game, number, at, tier);
        record[MOVE_AT..34].copy_from_slice(&ply.code.0.to_le_bytes());
        record[EVAL_AT..36].copy_from_slice(&ply.eval.to_le_bytes());
        record[46] = game.result.for_white() as u8;
        passed.records.push(record);
        passed.keys.push(ply.key);
    }
    counts.add("positions_not_sampled", sampled_out);
    counts.add("positions_near_puzzles", near_puzzles);
    counts.add("positions_ended", ended);
}

/// A position of a game of which nothing else is known.
fn record_of(packed: &Packed, game: &pgn::Game, number: u64, ply: usize, tier: u8) -> Record {
    let mut record = [0u8; RECORD_BYTES];
    record[..32].copy_from_slice(packed);
    record[EVAL_AT..36].copy_from_slice(&pgn::NO_EVAL.to_le_bytes());
    record[36..38].copy_from_slice(&game.white_elo.to_le_bytes());
    record[38..40].copy_from_slice(&game.black_elo.to_le_bytes());
    record[40..44].copy_from_slice(&(number as u32).to_le_bytes());
    record[44..46].copy_from_slice(&(ply.min(65535) as u16).to_le_bytes());
    record[46] = GameResult::Unknown.for_white() as u8;
    record[TIER_AT] = tier;
    record
}

/// The position after one of its moves, picked by a number in [0, 1); None if that ends the game.
fn wandered(packed: &Packed, pick: f64) -> Option<Chess> {
    let mut position = unpack(packed).expect("a position of a game can be read back");
    let moves = position.legal_moves();
    position.play_unchecked(moves[(pick * moves.len() as f64) as usize]);
    (!position.is_game_over()).then_some(position)
}
