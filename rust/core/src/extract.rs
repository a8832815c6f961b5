//! Games to records of 48 bytes, on all cores, in the order of the file.
//!
//! One thread reads and cuts the text into chunks of whole games, workers
//! replay them, and the caller's thread writes what passes the filters. What
//! is random is drawn from the seed and the game's own hash, so neither the
//! number of threads nor an interruption changes the outcome.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::error::{Error, Result};
use crate::exclusion::Exclusion;
use crate::packed::mix;
use crate::pgn::{self, NO_EVAL};
use crate::seen::Seen;
use crate::split::{Chunk, GameText, Splitter};

pub const RECORD_BYTES: usize = 48;
const EVAL_AT: usize = 34;
const TIER_AT: usize = 47;

pub type Record = [u8; RECORD_BYTES];

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
struct Passed {
    records: Vec<Record>,
    keys: Vec<u64>,
    /// All plies of the game, kept or not: what value labels are aligned with.
    plies: usize,
    validation: bool,
}

#[derive(Default)]
struct ChunkOut {
    games: Vec<Passed>,
    broken: Vec<Broken>,
    counts: Counts,
}

/// How many games and positions went which way, by name.
#[derive(Clone, Default, Debug)]
pub struct Counts(pub BTreeMap<&'static str, u64>);

impl Counts {
    fn add(&mut self, name: &'static str, amount: u64) {
        *self.0.entry(name).or_default() += amount;
    }

    fn merge(&mut self, other: &Counts) {
        for (name, amount) in &other.0 {
            self.add(name, *amount);
        }
    }
}

/// Replay and filter one game.
fn pass(text: &GameText<'_>, filters: &Filters, exclusion: Option<&Exclusion>, out: &mut ChunkOut) {
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
    let (mut sampled_out, mut near_puzzles) = (0, 0);
    for (at, ply) in game.plies.iter().enumerate().skip(first) {
        if only.is_some_and(|only| only != at)
            || (sample < 1.0 && draw(filters.seed, game.hash, at as u64) >= sample)
        {
            sampled_out += 1;
            continue;
        }
        if let Some(exclusion) = exclusion {
            let next = game.plies.get(at + 1).map_or(game.last_key, |ply| ply.key);
            if exclusion.covers(ply.key) || exclusion.on_a_line(next) {
                near_puzzles += 1;
                continue;
            }
        }
        let mut record = [0u8; RECORD_BYTES];
        record[..32].copy_from_slice(&ply.packed);
        record[32..34].copy_from_slice(&ply.code.0.to_le_bytes());
        record[EVAL_AT..36].copy_from_slice(&ply.eval.to_le_bytes());
        record[36..38].copy_from_slice(&game.white_elo.to_le_bytes());
        record[38..40].copy_from_slice(&game.black_elo.to_le_bytes());
        record[40..44].copy_from_slice(&(number as u32).to_le_bytes());
        record[44..46].copy_from_slice(&(at.min(65535) as u16).to_le_bytes());
        record[46] = game.result.for_white() as u8;
        record[TIER_AT] = tier;
        passed.records.push(record);
        passed.keys.push(ply.key);
    }
    counts.add("positions_not_sampled", sampled_out);
    counts.add("positions_near_puzzles", near_puzzles);
}

/// What the filters remember from one source to the next; rebuilt from shards after a stop.
#[derive(Default)]
pub struct Memory {
    seen: Seen,
    kept: u64,
    kept_by_tier: Vec<u64>,
}

impl Memory {
    /// Count the records of a shard that was written earlier.
    pub fn recall(&mut self, records: &[Record], filters: &Filters) {
        for record in records {
            let packed: &[u8; 32] = record[..32].try_into().expect("32 bytes");
            let tier = record[TIER_AT];
            self.note(tier);
            if filters.copies > 0 {
                self.seen.meet(crate::packed::key(packed));
            }
        }
    }

    fn note(&mut self, tier: u8) {
        self.kept += 1;
        let tier = usize::from(tier);
        if self.kept_by_tier.len() <= tier {
            self.kept_by_tier.resize(tier + 1, 0);
        }
        self.kept_by_tier[tier] += 1;
    }

    /// Why a record cannot be kept any more, or None after counting it as kept.
    fn refuse(&mut self, record: &Record, key: u64, filters: &Filters) -> Option<&'static str> {
        let tier = record[TIER_AT];
        let tier_limit = if tier == 0 { None } else { filters.tiers[usize::from(tier) - 1].max_positions };
        let in_tier = self.kept_by_tier.get(usize::from(tier)).copied().unwrap_or(0);
        if filters.max_positions.is_some_and(|max| self.kept >= max)
            || tier_limit.is_some_and(|max| in_tier >= max)
        {
            return Some("positions_over_maximum");
        }
        if filters.copies > 0 && self.seen.meet(key) >= filters.copies {
            return Some("positions_duplicate");
        }
        self.note(tier);
        None
    }
}

/// One source file being extracted.
pub struct Extraction {
    path: PathBuf,
    filters: Arc<Filters>,
    chunks: Receiver<Receiver<Result<ChunkOut>>>,
    bytes_read: Arc<AtomicU64>,
    evals: Option<Vec<i16>>,
    /// Plies of replayed games so far: where the next game's value labels start.
    plies: usize,
    games: u64,
}

/// What one shard holds and what was left out on the way to it.
#[derive(Debug, Default)]
pub struct ShardSummary {
    pub train: u64,
    pub validation: u64,
    /// Games of the source that are done, this shard included.
    pub games_done: u64,
    pub plies_done: u64,
    pub bytes_read: u64,
    pub counts: Counts,
    pub broken: Vec<Broken>,
    /// The source is exhausted.
    pub last: bool,
}

impl Extraction {
    /// Start reading; the first `skip_games` games, `skip_plies` plies in all, were extracted before.
    pub fn open(
        path: &Path,
        filters: Filters,
        exclusion: Option<Arc<Exclusion>>,
        evals: Option<Vec<i16>>,
        threads: usize,
        skip: (u64, u64),
    ) -> Result<Extraction> {
        let (reader, bytes_read) = crate::source::open(path)?;
        let threads = threads.max(1);
        let filters = Arc::new(filters);
        let (work_in, work_out) = bounded::<(Chunk, Sender<Result<ChunkOut>>)>(threads * 2);
        let (queue_in, queue_out) = bounded(threads * 4);
        for _ in 0..threads {
            let (work, filters, exclusion) = (work_out.clone(), Arc::clone(&filters), exclusion.clone());
            thread::spawn(move || {
                for (chunk, done) in work {
                    let mut out = ChunkOut::default();
                    for text in chunk.games() {
                        pass(&text, &filters, exclusion.as_deref(), &mut out);
                    }
                    // The caller may have gone; then nobody wants the result.
                    let _ = done.send(Ok(out));
                }
            });
        }
        let source = path.to_path_buf();
        thread::spawn(move || {
            let mut splitter = Splitter::new(reader, skip.0);
            loop {
                let (done_in, done_out) = bounded(1);
                match splitter.next_chunk() {
                    Ok(None) => break,
                    Ok(Some(chunk)) => {
                        if queue_in.send(done_out).is_err() || work_in.send((chunk, done_in)).is_err() {
                            break;
                        }
                    }
                    Err(error) => {
                        let _ = done_in.send(Err(Error::Io(error, source.display().to_string())));
                        let _ = queue_in.send(done_out);
                        break;
                    }
                }
            }
        });
        Ok(Extraction {
            path: path.to_path_buf(),
            filters,
            chunks: queue_out,
            bytes_read,
            evals,
            plies: skip.1 as usize,
            games: skip.0,
        })
    }

    /// Write about `limit` records as one train and one validation file; both end at a game.
    ///
    /// The caller renames the files into place once it has written them down.
    pub fn write_shard(
        &mut self,
        train: &Path,
        validation: &Path,
        limit: u64,
        memory: &mut Memory,
    ) -> Result<ShardSummary> {
        let create =
            |path: &Path| Ok(BufWriter::with_capacity(1 << 20, File::create(path).map_err(Error::io(path))?));
        let mut files = [create(train)?, create(validation)?];
        let mut summary = ShardSummary { last: true, ..ShardSummary::default() };
        while let Ok(chunk) = self.chunks.recv() {
            let chunk = chunk.recv().expect("a worker answers every chunk")?;
            summary.counts.merge(&chunk.counts);
            summary.broken.extend(chunk.broken);
            self.games += chunk.counts.0.get("games").copied().unwrap_or(0);
            for game in chunk.games {
                self.write_game(game, &mut files, &[train, validation], memory, &mut summary)?;
            }
            if summary.train + summary.validation >= limit {
                summary.last = false;
                break;
            }
        }
        for (file, path) in files.into_iter().zip([train, validation]) {
            let file = file.into_inner().map_err(|error| Error::io(path)(error.into_error()))?;
            file.sync_data().map_err(Error::io(path))?;
        }
        if summary.last {
            self.check_evals()?;
        }
        summary.games_done = self.games;
        summary.plies_done = self.plies as u64;
        summary.bytes_read = self.bytes_read.load(Ordering::Relaxed);
        Ok(summary)
    }

    fn write_game(
        &mut self,
        mut game: Passed,
        files: &mut [BufWriter<File>; 2],
        paths: &[&Path; 2],
        memory: &mut Memory,
        summary: &mut ShardSummary,
    ) -> Result<()> {
        let which = usize::from(game.validation);
        for (record, key) in game.records.iter_mut().zip(&game.keys) {
            if let Some(reason) = memory.refuse(record, *key, &self.filters) {
                summary.counts.add(reason, 1);
                continue;
            }
            if let Some(evals) = &self.evals {
                let ply = usize::from(u16::from_le_bytes([record[44], record[45]]));
                let eval = evals.get(self.plies + ply).copied().unwrap_or(NO_EVAL);
                record[EVAL_AT..36].copy_from_slice(&eval.to_le_bytes());
            }
            files[which].write_all(record).map_err(Error::io(paths[which]))?;
            *[&mut summary.train, &mut summary.validation][which] += 1;
            summary.counts.add("positions_kept", 1);
        }
        self.plies += game.plies;
        Ok(())
    }

    /// Value labels must fit the file ply for ply; a miss would teach nonsense.
    fn check_evals(&self) -> Result<()> {
        match &self.evals {
            Some(evals) if evals.len() != self.plies => Err(Error::Malformed(format!(
                "{} has {} plies, but its value labels number {}",
                self.path.display(),
                self.plies,
                evals.len()
            ))),
            _ => Ok(()),
        }
    }
}

/// Every position of every game that can be replayed, in the order of the file.
pub fn all_records(path: &Path, threads: usize) -> Result<Vec<Record>> {
    let extraction = Extraction::open(path, Filters::default(), None, None, threads, (0, 0))?;
    let mut records = Vec::new();
    while let Ok(chunk) = extraction.chunks.recv() {
        let chunk = chunk.recv().expect("a worker answers every chunk")?;
        for game in chunk.games {
            records.extend_from_slice(&game.records);
        }
    }
    Ok(records)
}
