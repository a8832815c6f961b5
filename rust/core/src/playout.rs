//! Complete games of random moves: what the Monte Carlo player counts.

use shakmaty::{Chess, Color, Position};

use crate::packed::mix;

/// A small deterministic generator; good enough to pick moves.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(mix(seed))
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.draw()) * limit as u128) >> 64) as usize
    }
}

/// Play random moves until the game is over, or a draw after `max_plies`.
pub fn random_game(mut position: Chess, random: &mut Random, max_plies: u32) -> Option<Color> {
    for _ in 0..max_plies {
        let moves = position.legal_moves();
        if moves.is_empty() {
            return position.is_check().then(|| position.turn().other());
        }
        if position.is_insufficient_material() || position.halfmoves() >= 100 {
            return None;
        }
        position.play_unchecked(moves[random.below(moves.len())]);
    }
    None
}

/// Wins, draws and losses of `games` random games for the side to move in `position` after `m`.
pub fn playouts(
    position: &Chess,
    m: shakmaty::Move,
    games: u32,
    seed: u64,
    max_plies: u32,
) -> (u32, u32, u32) {
    let side = position.turn();
    let mut after = position.clone();
    after.play_unchecked(m);
    let mut random = Random::new(seed);
    let (mut wins, mut draws, mut losses) = (0, 0, 0);
    for _ in 0..games {
        match random_game(after.clone(), &mut random, max_plies) {
            Some(winner) if winner == side => wins += 1,
            Some(_) => losses += 1,
            None => draws += 1,
        }
    }
    (wins, draws, losses)
}

/// Positions from random games: the ply is random, the game is not over.
pub fn random_positions(count: usize, seed: u64, max_plies: u32) -> Vec<crate::packed::Packed> {
    let mut random = Random::new(seed);
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let plies = random.below(max_plies.max(1) as usize);
        let mut game = crate::game::Game::new(Chess::default());
        for _ in 0..plies {
            let moves = game.position().legal_moves();
            if moves.is_empty() {
                break;
            }
            game.push(moves[random.below(moves.len())]);
        }
        if game.ending(false).is_none() {
            found.push(game.packed());
        }
    }
    found
}
