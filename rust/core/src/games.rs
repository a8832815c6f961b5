//! Many games at once: what self-play needs when one network decides a thousand positions together.
//!
//! A game that has ended leaves the batch; the others are always listed in the
//! same order, so row n of every answer belongs to the n-th live game.

use crate::error::{Error, Result};
use crate::game::Game;
use crate::packed::Packed;
use crate::rules;
use crate::{Chess, Position};

pub struct Games {
    games: Vec<Game>,
    /// Numbers of the games still going, in order.
    live: Vec<usize>,
    max_plies: usize,
}

impl Games {
    /// Games from these starts; each is broken off as drawn after `max_plies` moves.
    pub fn new(starts: Vec<Chess>, max_plies: usize) -> Games {
        let games: Vec<Game> = starts.into_iter().map(Game::new).collect();
        let mut batch = Games { live: (0..games.len()).collect(), games, max_plies };
        batch.retire();
        batch
    }

    pub fn live(&self) -> &[usize] {
        &self.live
    }

    pub fn game(&self, number: usize) -> Option<&Game> {
        self.games.get(number)
    }

    pub fn packed(&self) -> Vec<Packed> {
        self.live.iter().map(|&number| self.games[number].packed()).collect()
    }

    /// For each live game and each of its first `width` moves in UCI order: 1 if the move brings back a
    /// position of this game or completes fifty moves without progress.
    pub fn repeating(&self, width: usize, threads: usize) -> Vec<u8> {
        let mut out = vec![0; self.live.len() * width];
        let share = self.live.len().div_ceil(threads.max(1)).max(1);
        std::thread::scope(|scope| {
            for (numbers, rows) in self.live.chunks(share).zip(out.chunks_mut(share * width)) {
                scope.spawn(move || {
                    for (&number, row) in numbers.iter().zip(rows.chunks_exact_mut(width)) {
                        mark_repeating(&self.games[number], row);
                    }
                });
            }
        });
        out
    }

    /// Play, in each live game, the move with this number in UCI order.
    pub fn push(&mut self, slots: &[i16]) -> Result<()> {
        if slots.len() != self.live.len() {
            return Err(Error::Illegal(format!("{} moves for {} games", slots.len(), self.live.len())));
        }
        let chosen = self
            .live
            .iter()
            .zip(slots)
            .map(|(&number, &slot)| {
                let moves = rules::legal_moves_in_uci_order(self.games[number].position());
                usize::try_from(slot).ok().and_then(|slot| moves.get(slot).copied()).ok_or_else(|| {
                    Error::Illegal(format!("game {number} has {} moves, not number {slot}", moves.len()))
                })
            })
            .collect::<Result<Vec<_>>>()?;
        for (&number, m) in self.live.iter().zip(chosen) {
            self.games[number].push(m);
        }
        self.retire();
        Ok(())
    }

    /// A game's result and how it came about; "*" while it goes on.
    pub fn result(&self, number: usize) -> Option<(&'static str, &'static str)> {
        let game = self.games.get(number)?;
        Some(match game.ending(true) {
            Some(ending) => (ending.result(), ending.reason()),
            None if game.moves().len() >= self.max_plies => ("1/2-1/2", "too long"),
            None => ("*", "unfinished"),
        })
    }

    fn retire(&mut self) {
        let (games, max_plies) = (&self.games, self.max_plies);
        self.live.retain(|&number| {
            games[number].moves().len() < max_plies && games[number].ending(true).is_none()
        });
    }
}

fn mark_repeating(game: &Game, row: &mut [u8]) {
    let position = game.position();
    // Without two quiet moves of each side nothing can come back.
    if position.halfmoves() < 3 {
        return;
    }
    for (mark, m) in row.iter_mut().zip(rules::legal_moves_in_uci_order(position)) {
        if m.is_zeroing() {
            continue;
        }
        *mark = u8::from(position.halfmoves() >= 99 || game.repetitions_after(m) > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(games: &Games, number: usize, uci: &str) -> i16 {
        let moves = rules::legal_moves_in_uci_order(games.game(number).unwrap().position());
        moves.iter().position(|&m| rules::uci(m) == uci).unwrap() as i16
    }

    #[test]
    fn a_mated_game_leaves_the_batch_and_the_other_goes_on() {
        let back_rank = rules::from_fen("6k1/5ppp/8/8/8/8/8/K3R3 w - - 0 1").unwrap();
        let mut games = Games::new(vec![back_rank, Chess::default()], 400);
        let moves = [slot(&games, 0, "e1e8"), slot(&games, 1, "e2e4")];
        games.push(&moves).unwrap();
        assert_eq!(games.live(), [1]);
        assert_eq!(games.result(0), Some(("1-0", "checkmate")));
        assert_eq!(games.result(1), Some(("*", "unfinished")));
    }

    #[test]
    fn a_move_that_brings_a_position_back_is_marked() {
        let mut games = Games::new(vec![Chess::default()], 400);
        for uci in ["g1f3", "g8f6", "f3g1"] {
            let moves = [slot(&games, 0, uci)];
            games.push(&moves).unwrap();
        }
        let row = games.repeating(80, 2);
        let home = slot(&games, 0, "f6g8") as usize;
        assert_eq!(row[home], 1);
        assert_eq!(row.iter().map(|&mark| mark as usize).sum::<usize>(), 1);
    }

    #[test]
    fn a_game_is_broken_off_at_its_longest() {
        let mut games = Games::new(vec![Chess::default()], 2);
        for uci in ["e2e4", "e7e5"] {
            let moves = [slot(&games, 0, uci)];
            games.push(&moves).unwrap();
        }
        assert!(games.live().is_empty());
        assert_eq!(games.result(0), Some(("1/2-1/2", "too long")));
    }

    #[test]
    fn a_move_number_that_is_not_there_changes_nothing() {
        let mut games = Games::new(vec![Chess::default(), Chess::default()], 400);
        assert!(games.push(&[0, 20]).is_err());
        assert!(games.push(&[0]).is_err());
        assert!(games.push(&[-1, 0]).is_err());
        assert_eq!(games.game(0).unwrap().moves().len(), 0);
    }
}
