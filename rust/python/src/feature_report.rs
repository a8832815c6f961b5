//! `feature_usage`: what feature sets hold and cost on the games of a file.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabiya_core::features::{FeatureError, FeatureSet};
use tabiya_core::nnue::{Kernel, Shape, usage};

use crate::errors::to_py;

/// Counts over up to `games` games of a PGN file, and speeds with a network of these sizes.
#[pyfunction]
#[pyo3(signature = (expression, pgn, games=200, l1=512, l2=32))]
fn feature_usage<'py>(
    py: Python<'py>,
    expression: &str,
    pgn: PathBuf,
    games: usize,
    l1: usize,
    l2: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let set = FeatureSet::parse(expression).map_err(FeatureError::malformed).map_err(to_py)?;
    let shape = Shape { l1, l2, extra: 0, buckets: 1 };
    shape.check().map_err(to_py)?;
    let measured = py.detach(|| {
        let lines = usage::read_lines(&pgn, games)?;
        let counted = usage::count(&set, &lines);
        usage::speed(expression, &lines, shape).map(|speed| (lines.len(), counted, speed))
    });
    let (games, usage, speed) = measured.map_err(to_py)?;
    let found = PyDict::new(py);
    found.set_item("expression", set.expression())?;
    found.set_item("games", games)?;
    found.set_item("positions", usage.positions)?;
    found.set_item("moves", usage.moves)?;
    found.set_item("size", usage.size)?;
    found.set_item("dead", usage.dead)?;
    found.set_item("seen", usage.seen)?;
    found.set_item("active", usage.active)?;
    found.set_item("most_active", usage.most_active)?;
    found.set_item("added", usage.added)?;
    found.set_item("removed", usage.removed)?;
    found.set_item("updates", usage.updates)?;
    found.set_item("refreshes", usage.refreshes)?;
    found.set_item("by_table", usage.by_table)?;
    found.set_item("updates_per_second", speed.map(|(updates, _)| updates))?;
    found.set_item("evaluations_per_second", speed.map(|(_, evaluations)| evaluations))?;
    found.set_item("kernel", Kernel::best().name())?;
    Ok(found)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(feature_usage, module)?)
}
