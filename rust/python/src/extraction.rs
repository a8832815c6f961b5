//! Games to records: the extractor, its memory, and the positions near puzzles.

use std::path::PathBuf;
use std::sync::Arc;

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabiya_core::filter::{Filters, RECORD_BYTES, RatedBy, Tier};
use tabiya_core::{Error, exclusion, extract, packed as pack};

use crate::arrays::positions;
use crate::errors::to_py;

/// Positions on the lines of a puzzle file and one ply from them.
#[pyclass(module = "tabiya._core")]
#[derive(Default)]
pub struct Exclusion {
    inner: Arc<exclusion::Exclusion>,
}

#[pymethods]
impl Exclusion {
    #[new]
    fn new() -> Exclusion {
        Exclusion::default()
    }

    /// Add a line: a FEN and the UCI moves from it.
    fn add_line(&mut self, fen: &str, moves: Vec<String>) -> PyResult<()> {
        let moves: Vec<&str> = moves.iter().map(String::as_str).collect();
        let inner = Arc::get_mut(&mut self.inner)
            .ok_or_else(|| PyValueError::new_err("an exclusion in use takes no more lines"))?;
        inner.add_line(fen, &moves).map_err(to_py)
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Which positions stand on a line, one ply after one, or one ply before one.
    fn near(&self, py: Python<'_>, packed: PyReadonlyArray2<'_, u8>) -> PyResult<Vec<bool>> {
        let rows = positions(&packed)?;
        let inner = &self.inner;
        py.detach(|| {
            rows.iter()
                .map(|row| Ok(inner.is_near(&pack::unpack(row)?)))
                .collect::<Result<Vec<bool>, Error>>()
        })
        .map_err(to_py)
    }
}

/// What an extraction remembers from one source to the next.
#[pyclass(module = "tabiya._core")]
#[derive(Default)]
pub struct ExtractionMemory {
    inner: extract::Memory,
}

#[pymethods]
impl ExtractionMemory {
    #[new]
    fn new() -> ExtractionMemory {
        ExtractionMemory::default()
    }

    /// Count the records [N, 48] of a shard that was written earlier.
    fn recall(
        &mut self,
        py: Python<'_>,
        records: PyReadonlyArray2<'_, u8>,
        filters: &Bound<'_, PyDict>,
    ) -> PyResult<()> {
        if records.shape()[1] != RECORD_BYTES {
            return Err(PyValueError::new_err(format!(
                "records have shape [N, 48], got {:?}",
                records.shape()
            )));
        }
        let filters = read_filters(filters)?;
        let rows = records.as_slice()?.as_chunks::<RECORD_BYTES>().0;
        py.detach(|| self.inner.recall(rows, &filters));
        Ok(())
    }
}

/// Reads the filters that `tabiya.data.extract` spells out as a dictionary.
fn read_filters(given: &Bound<'_, PyDict>) -> PyResult<Filters> {
    let mut filters = Filters::default();
    for (key, value) in given {
        let key: String = key.extract()?;
        match key.as_str() {
            "tiers" => {
                let tiers: Vec<(u16, u16, f64, Option<u64>)> = value.extract()?;
                filters.tiers = tiers
                    .into_iter()
                    .map(|(low, high, sample, max_positions)| Tier { low, high, sample, max_positions })
                    .collect();
            }
            "rated_by" => {
                filters.rated_by = match value.extract::<String>()?.as_str() {
                    "lower" => RatedBy::Lower,
                    "average" => RatedBy::Average,
                    other => {
                        return Err(PyValueError::new_err(format!(
                            "rated_by is lower or average, not {other:?}"
                        )));
                    }
                }
            }
            "min_elo" => filters.min_elo = value.extract()?,
            "max_elo" => filters.max_elo = value.extract()?,
            "min_base_seconds" => filters.min_base_seconds = value.extract()?,
            "from_ply" => filters.from_ply = value.extract()?,
            "one_per_game" => filters.one_per_game = value.extract()?,
            "sample" => filters.sample = value.extract()?,
            "wander" => filters.wander = value.extract()?,
            "copies" => filters.copies = value.extract()?,
            "max_positions" => filters.max_positions = value.extract()?,
            "seed" => filters.seed = value.extract()?,
            _ => return Err(PyValueError::new_err(format!("unknown filter {key:?}"))),
        }
    }
    Ok(filters)
}

/// One PGN file being extracted, shard after shard.
#[pyclass(module = "tabiya._core")]
pub struct Extraction {
    inner: extract::Extraction,
}

#[pymethods]
impl Extraction {
    #[new]
    #[pyo3(signature = (path, filters, exclusion=None, evals=None, threads=1, skip_games=0, skip_plies=0))]
    fn new(
        path: PathBuf,
        filters: &Bound<'_, PyDict>,
        exclusion: Option<PyRef<'_, Exclusion>>,
        evals: Option<PyReadonlyArray1<'_, i16>>,
        threads: usize,
        skip_games: u64,
        skip_plies: u64,
    ) -> PyResult<Extraction> {
        let evals = evals.map(|evals| evals.as_slice().map(<[i16]>::to_vec)).transpose()?;
        let exclusion = exclusion.map(|exclusion| Arc::clone(&exclusion.inner));
        let filters = read_filters(filters)?;
        let inner =
            extract::Extraction::open(&path, filters, exclusion, evals, threads, (skip_games, skip_plies))
                .map_err(to_py)?;
        Ok(Extraction { inner })
    }

    /// Write about `limit` records; what the shard holds and what was left out.
    fn write_shard<'py>(
        &mut self,
        py: Python<'py>,
        train: PathBuf,
        validation: PathBuf,
        limit: u64,
        memory: &mut ExtractionMemory,
    ) -> PyResult<Bound<'py, PyDict>> {
        let summary = py
            .detach(|| self.inner.write_shard(&train, &validation, limit, &mut memory.inner))
            .map_err(to_py)?;
        let shard = PyDict::new(py);
        shard.set_item("train", summary.train)?;
        shard.set_item("validation", summary.validation)?;
        shard.set_item("games_done", summary.games_done)?;
        shard.set_item("plies_done", summary.plies_done)?;
        shard.set_item("bytes_read", summary.bytes_read)?;
        shard.set_item("counts", summary.counts.0)?;
        let broken: Vec<(u64, String)> =
            summary.broken.into_iter().map(|game| (game.line, game.why)).collect();
        shard.set_item("broken", broken)?;
        shard.set_item("last", summary.last)?;
        Ok(shard)
    }
}

/// Every position of every game of a PGN file that can be replayed, uint8 [N, 48].
#[pyfunction]
#[pyo3(signature = (path, threads=1))]
fn pgn_records(py: Python<'_>, path: PathBuf, threads: usize) -> PyResult<Bound<'_, PyArray2<u8>>> {
    let records = py.detach(|| extract::all_records(&path, threads)).map_err(to_py)?;
    let flat = numpy::PyArray::from_slice(py, records.as_flattened());
    drop(records);
    flat.reshape([flat.len() / RECORD_BYTES, RECORD_BYTES])
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Exclusion>()?;
    module.add_class::<ExtractionMemory>()?;
    module.add_class::<Extraction>()?;
    module.add_function(wrap_pyfunction!(pgn_records, module)?)
}
