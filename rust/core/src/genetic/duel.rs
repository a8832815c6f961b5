//! A whole game between two genomes, each with its own clock, whose flag falls.

use std::sync::atomic::{AtomicBool, Ordering};

use shakmaty::{Chess, Color, Move, Position};

use super::genome::Genome;
use super::mind::{Limit, Mind};
use super::search::{Past, Unit};
use crate::game::{Ending, Game};
use crate::rules;

pub struct Duel {
    pub moves: Vec<Move>,
    pub winner: Option<Color>,
    /// In the words of the pool's records, such as "White mates".
    pub reason: &'static str,
    /// Left on White's and Black's clock.
    pub left: [f64; 2],
    pub nodes: u64,
    pub leaves: u64,
}

/// Play to the end; None if `stop` was set before it.
pub fn play(white: &Genome, black: &Genome, clock: f64, unit: Unit, stop: &AtomicBool) -> Option<Duel> {
    let mut minds = [Mind::new(white), Mind::new(black)];
    let mut game = Game::new(Chess::default());
    let mut past = Past::new(game.position());
    let mut duel =
        Duel { moves: Vec::new(), winner: None, reason: "", left: [clock; 2], nodes: 0, leaves: 0 };
    loop {
        if let Some(ending) = game.ending(true) {
            (duel.winner, duel.reason) = told(ending);
            break;
        }
        let turn = game.position().turn();
        let seat = if turn == Color::White { 0 } else { 1 };
        let left = duel.left[seat];
        let choice = match unit {
            Unit::Nodes => minds[seat].play_by_nodes(&game, &past, left, stop),
            Unit::Seconds => {
                let limit = Limit { clock: Some((left, 0.0, None)), ..Limit::default() };
                minds[seat].play(&game, &past, &limit, stop)
            }
        };
        if stop.load(Ordering::Relaxed) {
            return None;
        }
        duel.nodes += choice.nodes;
        duel.leaves += choice.leaves;
        duel.left[seat] = (left - choice.spent).max(0.0);
        if duel.left[seat] <= 0.0 {
            duel.winner = Some(!turn);
            duel.reason = "Time forfeiture";
            break;
        }
        let before = game.position().clone();
        game.push(choice.line[0]);
        past.push(&before, choice.line[0], game.position());
    }
    duel.moves = game.moves().to_vec();
    Some(duel)
}

fn told(ending: Ending) -> (Option<Color>, &'static str) {
    match ending {
        Ending::Checkmate(Color::White) => (Some(Color::White), "White mates"),
        Ending::Checkmate(Color::Black) => (Some(Color::Black), "Black mates"),
        Ending::Stalemate => (None, "Stalemate"),
        Ending::InsufficientMaterial => (None, "Insufficient material"),
        Ending::ThreefoldRepetition | Ending::FivefoldRepetition => (None, "Threefold repetition"),
        Ending::FiftyMoves | Ending::SeventyFiveMoves => (None, "50-move limit"),
    }
}

impl Duel {
    pub fn result(&self) -> &'static str {
        match self.winner {
            Some(Color::White) => "1-0",
            Some(Color::Black) => "0-1",
            None => "1/2-1/2",
        }
    }

    /// The numbered moves and the result as PGN has them, in lines of at most `width`.
    pub fn movetext(&self, width: usize) -> String {
        let mut position = Chess::default();
        let mut text = String::new();
        let mut column = 0;
        let mut add = |word: &str| {
            let space = usize::from(column > 0);
            if column + space + word.len() > width {
                text.push('\n');
                column = 0;
            } else if column > 0 {
                text.push(' ');
                column += 1;
            }
            text.push_str(word);
            column += word.len();
        };
        for (at, &m) in self.moves.iter().enumerate() {
            if at % 2 == 0 {
                add(&format!("{}.", at / 2 + 1));
            }
            add(&rules::san(&position, m));
            position.play_unchecked(m);
        }
        add(self.result());
        text
    }
}
