//! `tabiya._core`: parse, release the GIL, delegate. What it offers is typed in `src/tabiya/_core.pyi`.

mod arrays;
mod board;
mod encoders;
mod engine;
mod errors;
mod extraction;
mod feature_report;
mod features;
mod games;
mod genetic;
mod names;
mod network;
mod teacher;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    errors::register(module)?;
    board::register(module)?;
    encoders::register(module)?;
    extraction::register(module)?;
    feature_report::register(module)?;
    features::register(module)?;
    module.add_class::<engine::SearchEngine>()?;
    module.add_class::<games::Games>()?;
    genetic::register(module)?;
    network::register(module)?;
    module.add_class::<teacher::Teacher>()?;
    Ok(())
}
