//! The twelve scoring genes: what each makes of one side of a position, and their sum.
//!
//! Score = Σ priority · sgn(s) · |s|^exponent over the genes, the side to
//! move's minus the other's. The genes are scaled alike: in ordinary games the
//! sides differ by some hundredths in each, as they do in Total Force, so that
//! equal priorities weigh equally and none drowns the others out at birth. The
//! scales are said where they are used and in docs/genetic.md.

use shakmaty::attacks::{bishop_attacks, knight_attacks, rook_attacks};
use shakmaty::{Bitboard, CastlingSide, Chess, Color, Position, Role};

use super::genome::Genome;
use super::schema::{GENES, REGULATORY, SCORING_GENES};
use super::survey::{Side, Survey, king_walk};

/// Which way each side has castled, by colour: a position alone does not know.
pub type Castled = [Option<CastlingSide>; 2];

/// No heuristic score is larger, so that none is mistaken for a win.
pub const LARGEST_SCORE: f64 = 1e12;

const MOVES: f64 = 200.0;
const SQUARES: f64 = 64.0;
const RANKS_GONE: f64 = 64.0;
const PASSED: f64 = 16.0;
const CONFINED: f64 = 20.0;
const CASTLED: f64 = 5.0;
const STACKED: f64 = 8.0;
const ISLAND: f64 = 16.0;
/// A queen's and a knight's squares from the middle of an empty board.
const MOST_EXPOSED: f64 = 35.0;
const FILE_A: u64 = 0x0101_0101_0101_0101;
const FILE_H: u64 = FILE_A << 7;
const EDGE_FILES: u64 = FILE_A | FILE_H;
const LIGHT: Bitboard = Bitboard(0x55AA_55AA_55AA_55AA);

/// The squares at each king's distance from a square.
static RINGS: [[u64; 8]; 64] = rings();

const fn rings() -> [[u64; 8]; 64] {
    let mut rings = [[0; 8]; 64];
    let mut from = 0;
    while from < 64 {
        let mut to = 0;
        while to < 64 {
            let files = (from as i32 % 8 - to % 8).unsigned_abs();
            let ranks = (from as i32 / 8 - to / 8).unsigned_abs();
            rings[from][if files > ranks { files } else { ranks } as usize] |= 1 << to;
            to += 1;
        }
        from += 1;
    }
    rings
}

/// A genome made ready to score positions.
#[derive(Clone, Debug)]
pub struct Scorer {
    weights: [(f64, f64); SCORING_GENES],
    /// Pawn to king; over the starting army their absolute values sum to 1.
    strength: [f64; 6],
    /// By ranks gone.
    advancement: [f64; 7],
    legal_square: [f64; 8],
    illegal_square: [f64; 8],
    friendly_block: f64,
    enemy_block: f64,
    confinement_distance: u32,
    kingside: f64,
    queenside: f64,
}

impl Scorer {
    pub fn new(genome: &Genome) -> Scorer {
        let weights = std::array::from_fn(|at| {
            let gene = GENES[REGULATORY + at].name;
            (genome.value(gene, "Priority"), genome.value(gene, "Exponent"))
        });
        let raw = ["P", "N", "B", "R", "Q", "K"].map(|piece| genome.value("Piece Strength Gene", piece));
        let army: f64 =
            raw.iter().zip([8.0, 2.0, 2.0, 2.0, 1.0, 1.0]).map(|(each, men)| each.abs() * men).sum();
        let strength = raw.map(|each| if army > 0.0 { each / army } else { 0.0 });
        let power = 1.0 + genome.value("Pawn Advancement Gene", "Non-linearity");
        let mut advancement = [0.0; 7];
        for (ranks, value) in advancement.iter_mut().enumerate().skip(1) {
            *value = ((ranks as f64).powf(power) / RANKS_GONE).min(LARGEST_SCORE);
        }
        let sphere = |name| genome.value("Sphere of Influence Gene", name);
        let by_distance = |score: f64| {
            let factor = sphere("King Target Factor");
            std::array::from_fn(|distance| score * (1.0 + factor / (1.0 + distance as f64)) / SQUARES)
        };
        let confinement = |name| genome.value("King Confinement Gene", name);
        Scorer {
            weights,
            strength,
            advancement,
            legal_square: by_distance(sphere("Legal Square Score")),
            illegal_square: by_distance(sphere("Illegal Square Score")),
            friendly_block: confinement("Friendly Block Score"),
            enemy_block: confinement("Enemy Block Score"),
            confinement_distance: confinement("Maximum Distance") as u32,
            kingside: genome.value("Castling Possible Gene", "Kingside Preference"),
            queenside: genome.value("Castling Possible Gene", "Queenside Preference"),
        }
    }

    /// The heuristic score of a position for the side to move.
    pub fn score(&self, position: &Chess, survey: &Survey, castled: &Castled) -> f64 {
        let own = self.weigh(&self.scores(position, survey, &survey.mover, &survey.waiter, castled));
        let other = self.weigh(&self.scores(position, survey, &survey.waiter, &survey.mover, castled));
        let score = own - other;
        if score.is_nan() { 0.0 } else { score.clamp(-LARGEST_SCORE, LARGEST_SCORE) }
    }

    /// A pawn in the genome's own currency, taking the army without its king for 39 pawns.
    pub fn pawn(&self) -> f64 {
        self.weights[0].0 * (1.0 - self.strength[5].abs()) / 39.0
    }

    fn weigh(&self, scores: &[f64; SCORING_GENES]) -> f64 {
        let mut sum = 0.0;
        for (&(priority, exponent), &score) in self.weights.iter().zip(scores) {
            // Most genes keep the exponent 1, and a power is costly.
            let powered = if exponent == 1.0 || score == 0.0 {
                score
            } else {
                score.signum() * score.abs().powf(exponent)
            };
            sum += priority * powered;
        }
        sum
    }

    /// What each scoring gene gives `own` side, in the schema's order, before priority and exponent.
    pub fn scores(
        &self,
        position: &Chess,
        survey: &Survey,
        own: &Side,
        enemy: &Side,
        castled: &Castled,
    ) -> [f64; SCORING_GENES] {
        [
            self.total_force(position, own.pieces.without(own.king)),
            f64::from(own.legal_moves) / MOVES,
            self.pawn_advancement(own),
            passed_pawns(own, enemy) / PASSED,
            self.total_force(position, enemy.pieces & own.attacked)
                + if own.attacked.contains(enemy.king) { self.strength[5] } else { 0.0 },
            self.sphere_of_influence(own, enemy),
            self.king_confinement(own, enemy) / CONFINED,
            king_protection(survey, own),
            self.castling_possible(position, own, enemy, castled[own.color as usize]) / CASTLED,
            stacked_pawns(own) / STACKED,
            pawn_islands(own) / ISLAND,
            checkmate_material(position, own),
        ]
    }

    /// The strength of some pieces, kings apart.
    fn total_force(&self, position: &Chess, pieces: Bitboard) -> f64 {
        let board = position.board();
        [board.pawns(), board.knights(), board.bishops(), board.rooks(), board.queens()]
            .into_iter()
            .zip(&self.strength)
            .map(|(role, strength)| (role & pieces).count() as f64 * strength)
            .sum()
    }

    fn pawn_advancement(&self, own: &Side) -> f64 {
        // Turned so that every side's pawns walk up.
        let pawns = if own.color == Color::White { own.pawns.0 } else { own.pawns.0.swap_bytes() };
        (1..=5)
            .map(|gone| (pawns >> (8 * (gone + 1)) & 0xFF).count_ones() as f64 * self.advancement[gone])
            .sum()
    }

    fn sphere_of_influence(&self, own: &Side, enemy: &Side) -> f64 {
        let (legal, illegal) = (own.targets.0, own.reach.0 & !own.targets.0);
        let mut sum = 0.0;
        for (distance, ring) in RINGS[enemy.king as usize].iter().enumerate() {
            sum += f64::from((legal & ring).count_ones()) * self.legal_square[distance]
                + f64::from((illegal & ring).count_ones()) * self.illegal_square[distance];
        }
        sum
    }

    fn king_confinement(&self, own: &Side, enemy: &Side) -> f64 {
        let mut free = 1u64 << own.king as u32;
        let (mut friend, mut foe, mut frontier) = (0u64, 0u64, free);
        for _ in 0..self.confinement_distance {
            let next = king_steps(frontier) & !(free | friend | foe);
            friend |= next & own.pieces.0;
            foe |= next & !own.pieces.0 & enemy.forbidden.0;
            frontier = next & !own.pieces.0 & !enemy.forbidden.0;
            if frontier == 0 {
                break;
            }
            free |= frontier;
        }
        let blocked = self.friendly_block * f64::from(friend.count_ones())
            + self.enemy_block * f64::from(foe.count_ones());
        blocked / f64::from(free.count_ones())
    }

    /// A wing's preference where the king has castled there; before, the better of the wings that
    /// are still open, in the measure in which castling is near.
    fn castling_possible(
        &self,
        position: &Chess,
        own: &Side,
        enemy: &Side,
        done: Option<CastlingSide>,
    ) -> f64 {
        let preference = |side| match side {
            CastlingSide::KingSide => self.kingside,
            CastlingSide::QueenSide => self.queenside,
        };
        if let Some(side) = done {
            return preference(side);
        }
        let castles = position.castles();
        let near = |side| {
            let path = castles.path(own.color, side);
            let walk = king_walk(own.color, side);
            let ready = (path & !position.board().occupied()).count() + (walk & !enemy.attacked).count();
            preference(side) * ready as f64 / (path.count() + walk.count()) as f64
        };
        let open = CastlingSide::ALL.into_iter().filter(|&side| castles.has(own.color, side));
        open.map(near).reduce(f64::max).unwrap_or(0.0)
    }
}

fn king_steps(squares: u64) -> u64 {
    let wide = squares | (squares & !FILE_A) >> 1 | (squares & !FILE_H) << 1;
    wide | wide << 8 | wide >> 8
}

/// The squares that have one of `pawns` ahead of them in their file, as `color` walks.
fn behind(pawns: Bitboard, color: Color) -> u64 {
    let mut fill = pawns.0;
    if color == Color::White {
        fill >>= 8;
        fill |= fill >> 8;
        fill |= fill >> 16;
        fill | fill >> 32
    } else {
        fill <<= 8;
        fill |= fill << 8;
        fill |= fill << 16;
        fill | fill << 32
    }
}

/// One for each pawn that no enemy pawn can stop or capture; a part for each free file ahead:
/// a third, on the edge a half.
fn passed_pawns(own: &Side, enemy: &Side) -> f64 {
    let blocked = behind(enemy.pawns, own.color);
    let (inner, edge) = (own.pawns.0 & !EDGE_FILES, own.pawns.0 & EDGE_FILES);
    let free = |pawns: u64| {
        (pawns & !blocked).count_ones()
            + (pawns & !FILE_A & !(blocked << 1)).count_ones()
            + (pawns & !FILE_H & !(blocked >> 1)).count_ones()
    };
    f64::from(free(inner)) / 3.0 + f64::from(free(edge)) / 2.0
}

/// One for a king that no unguarded square has a line or a knight's leap to.
fn king_protection(survey: &Survey, own: &Side) -> f64 {
    let access = bishop_attacks(own.king, survey.occupied)
        | rook_attacks(own.king, survey.occupied)
        | knight_attacks(own.king);
    1.0 - (access & !own.pieces & !own.guarded).count() as f64 / MOST_EXPOSED
}

fn stacked_pawns(own: &Side) -> f64 {
    // Not a negative zero, which would be written as one.
    0.0 - f64::from((own.pawns.0 & behind(own.pawns, own.color)).count_ones())
}

/// Pawns to an island.
fn pawn_islands(own: &Side) -> f64 {
    let mut files = own.pawns.0;
    for shift in [32, 16, 8] {
        files |= files >> shift;
    }
    let files = files & 0xFF;
    let islands = (files & !(files << 1)).count_ones();
    if islands == 0 { 0.0 } else { own.pawns.count() as f64 / f64::from(islands) }
}

/// Whether the pieces that stand there can mate a lone king: pawns cannot before they promote.
fn checkmate_material(position: &Chess, own: &Side) -> f64 {
    let board = position.board();
    let of = |role: Role| board.by_role(role) & own.pieces;
    let (bishops, knights) = (of(Role::Bishop), of(Role::Knight));
    let enough = !(of(Role::Queen) | of(Role::Rook)).is_empty()
        || !(bishops & LIGHT).is_empty() && !(bishops & !LIGHT).is_empty()
        || !bishops.is_empty() && !knights.is_empty()
        || knights.count() > 2;
    f64::from(u8::from(enough))
}
