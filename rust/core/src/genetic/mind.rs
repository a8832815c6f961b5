//! A genome at the board: what it remembers from one move to the next.
//!
//! That is the line it foresaw, which is looked at first if the opponent
//! follows it, and how fast it was at its last move, which says how far ahead
//! it can look at this one.

use std::sync::atomic::AtomicBool;

use shakmaty::{Chess, Move, Position};

use super::clock;
use super::genes::Scorer;
use super::genome::Genome;
use super::search::{Allowance, Found, Past, Search, Speculation, Unit};
use crate::game::Game;

/// Leaves a second, before the first move has shown better.
const FIRST_SPEED: f64 = 300_000.0;

/// How much thought a move may take.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limit {
    /// Seconds on the clock, gained with each move, and moves until the clock is topped up.
    pub clock: Option<(f64, f64, Option<u32>)>,
    pub movetime: Option<f64>,
    pub nodes: Option<u64>,
    pub depth: Option<u32>,
    /// Ever deeper until stopped.
    pub infinite: bool,
}

#[derive(Clone, Debug)]
pub struct Choice {
    pub line: Vec<Move>,
    pub value: f64,
    pub nodes: u64,
    pub leaves: u64,
    pub depth: u32,
    /// In the unit of the limit.
    pub spent: f64,
    /// Whether thought was cut short.
    pub stopped: bool,
}

#[derive(Clone)]
pub struct Mind {
    pub scorer: Scorer,
    speculation: Speculation,
    game_length: (f64, f64),
    seconds_speed: f64,
    nodes_speed: f64,
    /// The last line, and how many moves the game had before it.
    foreseen: (usize, Vec<Move>),
}

impl Mind {
    pub fn new(genome: &Genome) -> Mind {
        let look = |name| genome.value("Look Ahead Gene", name);
        Mind {
            scorer: Scorer::new(genome),
            speculation: Speculation {
                can_capture: look("Speculation-Can Capture"),
                default: look("Speculation-Default"),
                just_captured: look("Speculation-Just Captured"),
                recapture: look("Speculation-Recapture"),
            },
            game_length: (look("Mean Game Length"), look("Game Length Uncertainty")),
            seconds_speed: FIRST_SPEED,
            nodes_speed: 1.0,
            foreseen: (0, Vec::new()),
        }
    }

    pub fn new_game(&mut self) {
        self.seconds_speed = FIRST_SPEED;
        self.nodes_speed = 1.0;
        self.foreseen = (0, Vec::new());
    }

    /// Choose a move in a game that is not over.
    pub fn play(&mut self, game: &Game, past: &Past, limit: &Limit, stop: &AtomicBool) -> Choice {
        if limit.infinite {
            return self.deepen(game, past, stop);
        }
        let allowance = self.allowance(game.position(), limit);
        self.think(game, past, allowance, stop)
    }

    /// One move out of a clock of positions, for a game of nodes.
    pub fn play_by_nodes(&mut self, game: &Game, past: &Past, left: f64, stop: &AtomicBool) -> Choice {
        let share = Some(self.share(game.position(), left, 0.0, None));
        self.think(game, past, Allowance { unit: Unit::Nodes, share, most: Some(left), depth: None }, stop)
    }

    fn share(&self, position: &Chess, left: f64, increment: f64, to_reset: Option<u32>) -> f64 {
        let made = position.fullmoves().get() - 1;
        let moves = clock::moves_left(self.game_length.0, self.game_length.1, made);
        clock::share(left, increment, moves, to_reset)
    }

    fn allowance(&self, position: &Chess, limit: &Limit) -> Allowance {
        let depth = limit.depth;
        if let Some(nodes) = limit.nodes {
            let nodes = nodes as f64;
            return Allowance { unit: Unit::Nodes, share: Some(nodes), most: Some(nodes), depth };
        }
        let unit = Unit::Seconds;
        if let Some(seconds) = limit.movetime {
            return Allowance { unit, share: Some(seconds), most: Some(seconds), depth };
        }
        if let Some((left, increment, to_reset)) = limit.clock {
            let share = self.share(position, left, increment, to_reset);
            return Allowance { unit, share: Some(share), most: Some(left), depth };
        }
        Allowance { unit: Unit::Nodes, share: None, most: None, depth }
    }

    fn think(&mut self, game: &Game, past: &Past, allowance: Allowance, stop: &AtomicBool) -> Choice {
        let speed = match allowance.unit {
            Unit::Seconds => self.seconds_speed,
            Unit::Nodes => self.nodes_speed,
        };
        let recall = self.recall(game);
        let mut search = Search::new(&self.scorer, self.speculation, allowance, speed, &recall, stop);
        let found = search.best(game.position(), past);
        let choice = choice(&search, found);
        self.remember(game, &choice, allowance.unit);
        choice
    }

    /// One ply deeper after the other; the deepest that was finished counts.
    fn deepen(&mut self, game: &Game, past: &Past, stop: &AtomicBool) -> Choice {
        let recall = self.recall(game);
        let mut last: Option<Choice> = None;
        for depth in 1.. {
            let allowance = Allowance { unit: Unit::Nodes, share: None, most: None, depth: Some(depth) };
            let line = last.as_ref().map_or(&recall, |choice| &choice.line).clone();
            let mut search = Search::new(&self.scorer, self.speculation, allowance, 1.0, &line, stop);
            let found = search.best(game.position(), past);
            let mut choice = choice(&search, found);
            choice.nodes += last.as_ref().map_or(0, |before| before.nodes);
            choice.leaves += last.as_ref().map_or(0, |before| before.leaves);
            if choice.stopped && last.is_some() {
                break;
            }
            let ended = choice.stopped || choice.depth < depth;
            last = Some(choice);
            if ended {
                break;
            }
        }
        let choice = last.expect("depth 1 was looked at");
        self.foreseen = (game.moves().len(), choice.line.clone());
        choice
    }

    /// The rest of the line foreseen at the last move, if both moves since then are on it.
    fn recall(&self, game: &Game) -> Vec<Move> {
        let (at, line) = &self.foreseen;
        let since = game.moves().get(*at..).unwrap_or_default();
        if since.len() == 2 && line.len() > 2 && line[..2] == *since {
            line[2..].to_vec()
        } else {
            Vec::new()
        }
    }

    fn remember(&mut self, game: &Game, choice: &Choice, unit: Unit) {
        self.foreseen = (game.moves().len(), choice.line.clone());
        if choice.leaves > 0 && choice.spent > 0.0 {
            let speed = choice.leaves as f64 / choice.spent;
            match unit {
                Unit::Seconds => self.seconds_speed = speed,
                Unit::Nodes => self.nodes_speed = speed,
            }
        }
    }
}

fn choice(search: &Search<'_>, found: Found) -> Choice {
    Choice {
        line: found.line,
        value: found.value,
        nodes: search.nodes,
        leaves: search.leaves,
        depth: search.deepest,
        spent: search.spent(),
        stopped: search.stopped,
    }
}

/// The past of a game that was played elsewhere.
pub fn past_of(game: &Game) -> Past {
    let mut position = game.start().clone();
    let mut past = Past::new(&position);
    for &m in game.moves() {
        let mut after = position.clone();
        after.play_unchecked(m);
        past.push(&position, m, &after);
        position = after;
    }
    past
}
