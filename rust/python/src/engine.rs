//! `SearchEngine`: the alpha-beta search, judged by a network or by the handmade evaluation.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabiya_core::move_code::MoveCode;
use tabiya_core::nnue::{Kernel, Network};
use tabiya_core::search::engine::STACK;
use tabiya_core::search::{Clock, Engine, Evaluator, Info, Limits, Techniques, Verdict};
use tabiya_core::{Error, Position};

use crate::board::Board;
use crate::errors::to_py;
use crate::genetic::StopFlag;

/// A search needs a mebibyte of stack or two. Where Python's threads have several, it runs in the caller's:
/// on a busy machine each change of threads may cost a millisecond of a clock.
const ROOMY_THREADS: bool =
    cfg!(all(target_os = "linux", target_env = "gnu", not(debug_assertions))) || cfg!(target_os = "macos");

/// A search with its table and what it has learnt of the game so far.
#[pyclass(module = "tabiya._core")]
pub struct SearchEngine {
    engine: Engine<Evaluator>,
}

#[pymethods]
impl SearchEngine {
    #[new]
    #[pyo3(signature = (eval_file=None, hash=16, threads=1))]
    fn new(
        py: Python<'_>,
        eval_file: Option<PathBuf>,
        hash: usize,
        threads: usize,
    ) -> PyResult<SearchEngine> {
        let mut engine = Engine::new(read_evaluator(py, eval_file)?);
        engine.set_hash(hash);
        engine.set_threads(threads);
        Ok(SearchEngine { engine })
    }

    /// Use the network of another file, or the handmade evaluation.
    #[pyo3(signature = (eval_file=None))]
    fn set_eval_file(&mut self, py: Python<'_>, eval_file: Option<PathBuf>) -> PyResult<()> {
        self.engine.set_evaluator(read_evaluator(py, eval_file)?);
        Ok(())
    }

    fn set_hash(&mut self, mebibytes: usize) {
        self.engine.set_hash(mebibytes);
    }

    fn set_threads(&mut self, threads: usize) {
        self.engine.set_threads(threads);
    }

    /// The names of what the search can do without.
    #[staticmethod]
    fn techniques() -> Vec<&'static str> {
        Techniques::NAMES.to_vec()
    }

    /// Do without these techniques and use all others.
    fn set_without(&mut self, names: Vec<String>) -> PyResult<()> {
        let mut techniques = Techniques::default();
        for name in &names {
            let Some(switch) = techniques.switch(name) else {
                let known = Techniques::NAMES.join(", ");
                return Err(PyValueError::new_err(format!(
                    "the search has no technique {name:?}; it has {known}"
                )));
            };
            *switch = false;
        }
        self.engine.techniques = techniques;
        Ok(())
    }

    fn new_game(&mut self) {
        self.engine.clear();
    }

    /// The network in use: its features, sizes and the arithmetic that this processor gets; None: handmade.
    #[getter]
    fn network<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(network) = self.engine.evaluator().network() else { return Ok(None) };
        let (shape, found) = (network.shape(), PyDict::new(py));
        found.set_item("features", network.set().expression())?;
        found.set_item("inputs", network.set().size())?;
        found.set_item("l1", shape.l1)?;
        found.set_item("l2", shape.l2)?;
        found.set_item("extra", shape.extra)?;
        found.set_item("buckets", shape.buckets)?;
        found.set_item("kernel", Kernel::best().name())?;
        Ok(Some(found))
    }

    /// Search until a limit is reached or the flag is set; `report` hears of every line found on the way.
    #[pyo3(signature = (board, stop, clock=None, increment=0.0, moves_to_go=None, movetime=None, nodes=None,
                        depth=None, overhead=0.0, lines=1, report=None))]
    #[allow(clippy::too_many_arguments)]
    fn search<'py>(
        &mut self,
        py: Python<'py>,
        board: &Board,
        stop: &StopFlag,
        clock: Option<f64>,
        increment: f64,
        moves_to_go: Option<u32>,
        movetime: Option<f64>,
        nodes: Option<u64>,
        depth: Option<u32>,
        overhead: f64,
        lines: usize,
        report: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let game = board.game.clone();
        if game.position().legal_moves().is_empty() {
            return Err(PyValueError::new_err("there is no move to choose from: the game is over"));
        }
        let clock = match clock {
            Some(left) => Some(Clock { left: span(left)?, increment: span(increment)?, moves_to_go }),
            None => None,
        };
        let move_time = movetime.map(span).transpose()?;
        let limits = Limits { depth, nodes, mate: None, move_time, clock, overhead: span(overhead)? };
        self.engine.lines = lines.max(1);
        let (flag, engine) = (stop.flag.clone(), &mut self.engine);
        let (mut last, mut failure) = (None::<Info>, None::<PyErr>);
        let mut hear = |info: &Info| {
            if let (Some(report), None) = (&report, &failure) {
                let told = Python::attach(|py| report.call1(py, (describe(py, info)?,)).map(|_| ()));
                if let Err(error) = told {
                    // Nobody hears any more: answer, so that the error can be raised.
                    failure = Some(error);
                    flag.store(true, Ordering::Relaxed);
                }
            }
            if info.multipv == 1 {
                last = Some(info.clone());
            }
        };
        let think = || engine.search(game.start(), game.moves(), &[], &limits, &flag, &mut hear);
        let outcome = py.detach(|| {
            if ROOMY_THREADS {
                return Ok(catch_unwind(AssertUnwindSafe(think)));
            }
            std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, think);
                thread.map(|handle| handle.join())
            })
        });
        if let Some(error) = failure {
            return Err(error);
        }
        let outcome = outcome
            .map_err(|error| PyRuntimeError::new_err(format!("no thread for the search: {error}")))?
            .map_err(|_| PyRuntimeError::new_err("the search broke; this is a bug in Tabiya"))?;
        let found = PyDict::new(py);
        let mut ranked = Vec::with_capacity(outcome.lines.len());
        for line in &outcome.lines {
            let one = PyDict::new(py);
            set_score(&one, line.score)?;
            one.set_item("pv", uci(&line.moves))?;
            ranked.push(one);
        }
        found.set_item("lines", ranked)?;
        found.set_item("depth", outcome.depth)?;
        found.set_item("seldepth", last.as_ref().map_or(outcome.depth, |info| info.seldepth))?;
        found.set_item("nodes", outcome.nodes)?;
        found.set_item("hashfull", last.as_ref().map_or(0, |info| info.hashfull))?;
        Ok(found)
    }
}

/// The evaluation by the network in a file, or the handmade one.
fn read_evaluator(py: Python<'_>, file: Option<PathBuf>) -> PyResult<Evaluator> {
    let Some(path) = file else { return Ok(Evaluator::new(None)) };
    let network = py.detach(|| {
        let bytes = std::fs::read(&path).map_err(Error::io(&path))?;
        Network::read(&bytes).map_err(|error| Error::Malformed(format!("{}: {error}", path.display())))
    });
    Ok(Evaluator::new(Some(Arc::new(network.map_err(to_py)?))))
}

fn span(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{seconds} is not a span of time in seconds")))
}

fn uci(moves: &[MoveCode]) -> Vec<String> {
    moves.iter().map(|code| code.uci().to_string()).collect()
}

/// `score` in centipawns or `mate` in moves; the other is None.
fn set_score(to: &Bound<'_, PyDict>, score: i32) -> PyResult<()> {
    let (centipawns, mate) = match Verdict::of(score) {
        Verdict::Centipawns(score) => (Some(score), None),
        Verdict::Mate(moves) => (None, Some(moves)),
    };
    to.set_item("score", centipawns)?;
    to.set_item("mate", mate)
}

fn describe<'py>(py: Python<'py>, info: &Info) -> PyResult<Bound<'py, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("depth", info.depth)?;
    told.set_item("seldepth", info.seldepth)?;
    told.set_item("line", info.multipv)?;
    set_score(&told, info.score)?;
    told.set_item("nodes", info.nodes)?;
    told.set_item("seconds", info.time.as_secs_f64())?;
    told.set_item("hashfull", info.hashfull)?;
    told.set_item("pv", uci(&info.pv))?;
    Ok(told)
}
