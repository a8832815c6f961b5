//! `Teacher`: a UCI engine that labels packed positions.

use std::time::Duration;

use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use tabiya_core::teacher::{self, Thought};

use crate::arrays::{packed_array, positions};
use crate::errors::{TeacherError, to_py};

type MoveScores<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i16>>);
type BestMoves<'py> = (Bound<'py, PyArray1<i16>>, Bound<'py, PyArray1<i16>>);
type BestLines<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<u8>>,
    Bound<'py, PyArray1<u16>>,
    Bound<'py, PyArray1<i16>>,
);

/// A UCI engine that labels packed positions; one process, one thread.
#[pyclass(module = "tabiya._core")]
pub struct Teacher {
    engine: Option<teacher::Teacher>,
}

impl Teacher {
    fn running(&mut self) -> PyResult<&mut teacher::Teacher> {
        self.engine.as_mut().ok_or_else(|| TeacherError::new_err("the teacher is closed"))
    }
}

#[pymethods]
impl Teacher {
    #[new]
    #[pyo3(signature = (command, options=None, timeout=60.0, arguments=None))]
    fn new(
        py: Python<'_>,
        command: &str,
        options: Option<std::collections::BTreeMap<String, String>>,
        timeout: f64,
        arguments: Option<Vec<String>>,
    ) -> PyResult<Teacher> {
        let arguments = arguments.unwrap_or_default();
        let options: Vec<_> = options.unwrap_or_default().into_iter().collect();
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|_| TeacherError::new_err("a teacher's timeout is a positive number of seconds"))?;
        let engine =
            py.detach(|| teacher::Teacher::start(command, &arguments, &options, timeout)).map_err(to_py)?;
        Ok(Teacher { engine: Some(engine) })
    }

    #[getter]
    fn name(&mut self) -> PyResult<String> {
        Ok(self.running()?.name.clone())
    }

    fn new_game(&mut self, py: Python<'_>) -> PyResult<()> {
        let engine = self.running()?;
        py.detach(|| engine.new_game()).map_err(to_py)
    }

    #[pyo3(signature = (packed, depth=None, nodes=None, movetime=None))]
    fn values<'py>(
        &mut self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        depth: Option<u32>,
        nodes: Option<u64>,
        movetime: Option<f64>,
    ) -> PyResult<Bound<'py, PyArray1<i16>>> {
        let (rows, engine) = (positions(&packed)?, self.running()?);
        let values = py.detach(|| engine.values(rows, &Thought { depth, nodes, movetime })).map_err(to_py)?;
        Ok(PyArray1::from_vec(py, values))
    }

    #[pyo3(signature = (packed, depth=None, nodes=None, movetime=None))]
    fn all_moves<'py>(
        &mut self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        depth: Option<u32>,
        nodes: Option<u64>,
        movetime: Option<f64>,
    ) -> PyResult<MoveScores<'py>> {
        let (rows, engine) = (positions(&packed)?, self.running()?);
        let (offsets, scores) =
            py.detach(|| engine.all_moves(rows, &Thought { depth, nodes, movetime })).map_err(to_py)?;
        Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, scores)))
    }

    #[pyo3(signature = (packed, depth=None, nodes=None, movetime=None))]
    fn best_moves<'py>(
        &mut self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        depth: Option<u32>,
        nodes: Option<u64>,
        movetime: Option<f64>,
    ) -> PyResult<BestMoves<'py>> {
        let (rows, engine) = (positions(&packed)?, self.running()?);
        let (places, scores) =
            py.detach(|| engine.best_moves(rows, &Thought { depth, nodes, movetime })).map_err(to_py)?;
        Ok((PyArray1::from_vec(py, places), PyArray1::from_vec(py, scores)))
    }

    #[pyo3(signature = (packed, length, depth=None, nodes=None, movetime=None))]
    fn best_lines<'py>(
        &mut self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        length: usize,
        depth: Option<u32>,
        nodes: Option<u64>,
        movetime: Option<f64>,
    ) -> PyResult<BestLines<'py>> {
        let (rows, engine) = (positions(&packed)?, self.running()?);
        let thought = Thought { depth, nodes, movetime };
        let lines = py.detach(|| engine.best_lines(rows, &thought, length)).map_err(to_py)?;
        Ok((
            PyArray1::from_vec(py, lines.offsets),
            packed_array(py, &lines.positions)?,
            PyArray1::from_vec(py, lines.moves.iter().map(|code| code.0).collect()),
            PyArray1::from_vec(py, lines.scores),
        ))
    }

    fn close(&mut self, py: Python<'_>) {
        let engine = self.engine.take();
        py.detach(|| drop(engine));
    }
}
