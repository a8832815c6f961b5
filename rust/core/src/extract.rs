//! Games to records of 48 bytes, on all cores, in the order of the file.
//!
//! One thread reads and cuts the text into chunks of whole games, workers
//! replay and filter them, and the caller's thread writes what passes, with
//! what it remembers of earlier games. Neither the number of threads nor an
//! interruption changes the outcome.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use crate::error::{Error, Result};
use crate::exclusion::Exclusion;
use crate::filter::{
    Broken, Counts, EVAL_AT, Filtered, Filters, MOVE_AT, PLY_AT, Passed, Record, TIER_AT, pass,
};
use crate::pgn::NO_EVAL;
use crate::seen::Seen;
use crate::split::{Chunk, Splitter};

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
    chunks: Receiver<Receiver<Result<Filtered>>>,
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
        let (work_in, work_out) = bounded::<(Chunk, Sender<Result<Filtered>>)>(threads * 2);
        let (queue_in, queue_out) = bounded(threads * 4);
        for _ in 0..threads {
            let (work, filters, exclusion) = (work_out.clone(), Arc::clone(&filters), exclusion.clone());
            thread::spawn(move || {
                for (chunk, done) in work {
                    let mut out = Filtered::default();
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
            let played = record[MOVE_AT..EVAL_AT] != [0, 0];
            if let Some(evals) = self.evals.as_ref().filter(|_| played) {
                let ply = usize::from(u16::from_le_bytes([record[PLY_AT], record[PLY_AT + 1]]));
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
