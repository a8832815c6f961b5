//! `Genome`, `GeneticMind` and games between genomes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tabiya_core::genetic::genes::{Castled, Scorer};
use tabiya_core::genetic::mind::{self, Limit, Mind};
use tabiya_core::genetic::schema::{GENES, REGULATORY};
use tabiya_core::genetic::search::{self, Past, Unit};
use tabiya_core::genetic::survey::Survey;
use tabiya_core::genetic::{breed, duel, genome};
use tabiya_core::{Color, Position, rules};

use crate::board::Board;
use crate::errors::to_py;

const PGN_WIDTH: usize = 100;

/// A genome: the numbers by which a genetic mind plays.
#[pyclass(module = "tabiya._core", frozen)]
#[derive(Clone)]
pub struct Genome {
    inner: genome::Genome,
    scorer: Scorer,
}

impl From<genome::Genome> for Genome {
    fn from(inner: genome::Genome) -> Genome {
        let scorer = Scorer::new(&inner);
        Genome { inner, scorer }
    }
}

fn castled(board: &Board) -> Castled {
    mind::past_of(&board.game).castled
}

#[pymethods]
impl Genome {
    #[new]
    fn new(text: &str) -> PyResult<Genome> {
        genome::Genome::parse(text).map(Genome::from).map_err(to_py)
    }

    #[staticmethod]
    fn random(id: u64, seed: u64) -> Genome {
        breed::random(id, seed).into()
    }

    #[staticmethod]
    fn child(id: u64, first: &Genome, second: Option<&Genome>, seed: u64) -> Genome {
        breed::child(id, &first.inner, second.map(|genome| &genome.inner), seed).into()
    }

    #[getter]
    fn id(&self) -> u64 {
        self.inner.id
    }

    #[getter]
    fn parents(&self) -> Option<String> {
        self.inner.parents.clone()
    }

    fn text(&self) -> String {
        self.inner.text()
    }

    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        for (gene, values) in GENES.iter().zip(&self.inner.values) {
            let of = PyDict::new(py);
            for (property, value) in gene.properties.iter().zip(values) {
                of.set_item(property.name, value)?;
            }
            found.set_item(gene.name, of)?;
        }
        Ok(found)
    }

    /// What each scoring gene gives White and Black, before priority and exponent.
    fn gene_scores(&self, board: &Board) -> BTreeMap<&'static str, (f64, f64)> {
        let (position, castled) = (board.game.position(), castled(board));
        let survey = Survey::of(position);
        let mover = self.scorer.scores(position, &survey, &survey.mover, &survey.waiter, &castled);
        let waiter = self.scorer.scores(position, &survey, &survey.waiter, &survey.mover, &castled);
        let white = position.turn() == Color::White;
        let (white, black) = if white { (mover, waiter) } else { (waiter, mover) };
        let names = GENES[REGULATORY..].iter().map(|gene| gene.name);
        names.zip(white.into_iter().zip(black)).collect()
    }

    /// The heuristic score for the side to move.
    fn score(&self, board: &Board) -> f64 {
        let position = board.game.position();
        self.scorer.score(position, &Survey::of(position), &castled(board))
    }

    fn __repr__(&self) -> String {
        format!("Genome({})", self.inner.id)
    }
}

/// A flag that ends games under way, from any thread.
#[pyclass(module = "tabiya._core", frozen)]
#[derive(Clone, Default)]
pub struct StopFlag {
    pub flag: Arc<AtomicBool>,
}

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> StopFlag {
        StopFlag::default()
    }

    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    fn clear(&self) {
        self.flag.store(false, Ordering::Relaxed);
    }
}

/// A genome at the board; it remembers the line that it foresaw and how fast it was.
#[pyclass(module = "tabiya._core")]
pub struct GeneticMind {
    mind: Mind,
}

#[pymethods]
impl GeneticMind {
    #[new]
    fn new(genome: &Genome) -> GeneticMind {
        GeneticMind { mind: Mind::new(&genome.inner) }
    }

    fn new_game(&mut self) {
        self.mind.new_game();
    }

    #[pyo3(signature = (board, stop, clock=None, increment=0.0, moves_to_go=None, movetime=None, nodes=None,
                        depth=None, infinite=false))]
    #[allow(clippy::too_many_arguments)]
    fn play<'py>(
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
        infinite: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let game = board.game.clone();
        if game.position().legal_moves().is_empty() {
            return Err(PyValueError::new_err("there is no move to choose from: the game is over"));
        }
        let clock = clock.map(|left| (left, increment, moves_to_go));
        let limit = Limit { clock, movetime, nodes, depth, infinite };
        let (flag, mind) = (stop.flag.clone(), &mut self.mind);
        let choice = py.detach(|| {
            let past: Past = mind::past_of(&game);
            mind.play(&game, &past, &limit, &flag)
        });
        let found = PyDict::new(py);
        found.set_item("line", choice.line.iter().map(|&m| rules::uci(m)).collect::<Vec<_>>())?;
        found.set_item("value", choice.value)?;
        found.set_item("mate", search::mate_in(choice.value))?;
        found.set_item("pawn", self.mind.scorer.pawn())?;
        found.set_item("nodes", choice.nodes)?;
        found.set_item("leaves", choice.leaves)?;
        found.set_item("depth", choice.depth)?;
        Ok(found)
    }
}

/// A whole game of two genomes, `clock` seconds or positions each; None if it was stopped.
#[pyfunction]
fn genetic_game<'py>(
    py: Python<'py>,
    white: &Genome,
    black: &Genome,
    clock: f64,
    unit: &str,
    stop: &StopFlag,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let unit = match unit {
        "seconds" => Unit::Seconds,
        "nodes" => Unit::Nodes,
        _ => return Err(PyValueError::new_err(format!("a clock counts 'seconds' or 'nodes', not {unit:?}"))),
    };
    let flag = stop.flag.clone();
    let Some(game) = py.detach(|| duel::play(&white.inner, &black.inner, clock, unit, &flag)) else {
        return Ok(None);
    };
    let found = PyDict::new(py);
    found.set_item("moves", game.moves.iter().map(|&m| rules::uci(m)).collect::<Vec<_>>())?;
    found.set_item("movetext", game.movetext(PGN_WIDTH))?;
    found
        .set_item("winner", game.winner.map(|color| if color == Color::White { "White" } else { "Black" }))?;
    found.set_item("reason", game.reason)?;
    found.set_item("left", game.left.to_vec())?;
    found.set_item("nodes", game.nodes)?;
    found.set_item("leaves", game.leaves)?;
    Ok(Some(found))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Genome>()?;
    module.add_class::<StopFlag>()?;
    module.add_class::<GeneticMind>()?;
    module.add_function(wrap_pyfunction!(genetic_game, module)?)
}
