//! Products on a board: every way to find their subjects, each giving one active feature.
//!
//! This is the definition of a set, taken literally; it serves every
//! expression. Sets whose features each hang on one piece have a quicker way
//! (`local`), and the tests hold the two equal. The same walk over all pieces
//! that could ever stand, instead of those that do, finds the dead features.

use super::block::{Atom, Block, COUNTS, Subject};
use super::pieces::{KINDS, OTHER_KING, OWN_KING, Pieces, Standing, attacked, pushes, squares};
use super::tree::Product;

pub struct Plan {
    pub product: Product,
    steps: Vec<Step>,
}

/// One subject of a product, with its atoms.
struct Step {
    subject: Subject,
    /// Their part of the sum by kind and square, apart from the atoms below.
    table: Vec<u32>,
    /// Atoms that look at the own king.
    looking: Vec<(Atom, u32)>,
    counting: Vec<(Atom, u32)>,
}

impl Step {
    fn new(subject: Subject, product: &Product) -> Step {
        let of_subject = || product.atoms.iter().copied().filter(move |(atom, _)| atom.subject == subject);
        let plain = |atom: &Atom| !atom.looks_at_king() && !atom.block.counts();
        let kinds = if subject.is_square() { 1 } else { KINDS };
        let mut table = vec![0u32; kinds * 64];
        for (atom, stride) in of_subject().filter(|(atom, _)| plain(atom)) {
            for (at, sum) in table.iter_mut().enumerate() {
                *sum += atom.value((at / 64) as u8, (at % 64) as u8, 0) * stride;
            }
        }
        Step {
            subject,
            table,
            looking: of_subject().filter(|(atom, _)| atom.looks_at_king()).collect(),
            counting: of_subject().filter(|(atom, _)| atom.block.counts()).collect(),
        }
    }

    /// The subject's part of the feature's number, counts apart.
    #[inline]
    fn part(&self, piece: Standing, king: u8) -> u32 {
        let kind = if self.subject.is_square() { 0 } else { usize::from(piece.kind) };
        let mut sum = self.table[kind * 64 + usize::from(piece.square)];
        for (atom, stride) in &self.looking {
            sum += atom.value(piece.kind, piece.square, king) * stride;
        }
        sum
    }
}

/// How many squares the pieces of each kind can go to, and attack.
#[derive(Default)]
struct Counts {
    moves: [u32; KINDS],
    attacks: [u32; KINDS],
}

impl Counts {
    fn of(pieces: &Pieces) -> Counts {
        let mut counts = Counts::default();
        for kind in 0..KINDS as u8 {
            let (mut reached, mut struck) = (0, 0);
            for square in squares(pieces.of_kind(kind)) {
                let piece = Standing { kind, square };
                reached |= pieces.reached_from(piece);
                struck |= pieces.attacked_from(piece);
            }
            counts.moves[usize::from(kind)] = reached.count_ones().min(COUNTS - 1);
            counts.attacks[usize::from(kind)] = struck.count_ones().min(COUNTS - 1);
        }
        counts
    }
}

/// What stays the same while the subjects of one product are sought.
struct Board<'a> {
    pieces: &'a Pieces,
    king: u8,
    counts: Counts,
}

impl Plan {
    pub fn new(product: Product) -> Plan {
        let steps = product.subjects().into_iter().map(|subject| Step::new(subject, &product)).collect();
        Plan { product, steps }
    }

    /// At most so many features of it are active at once.
    pub fn most_active(&self) -> usize {
        let bound: usize = self.steps.iter().map(|step| step.subject.most()).product();
        bound.min(self.product.size() as usize)
    }

    /// Every active feature of the board as the view has it; one may come more than once.
    pub fn active(&self, seen: &Pieces, mut emit: impl FnMut(u32)) {
        let counting = self.steps.iter().any(|step| !step.counting.is_empty());
        let counts = if counting { Counts::of(seen) } else { Counts::default() };
        let board = Board { pieces: seen, king: seen.king(0), counts };
        self.find(&self.steps, self.product.offset, None, &board, &mut emit);
    }

    fn find(
        &self,
        steps: &[Step],
        sum: u32,
        piece: Option<Standing>,
        board: &Board<'_>,
        emit: &mut impl FnMut(u32),
    ) {
        let Some((step, rest)) = steps.split_first() else {
            return self.emit(sum, emit);
        };
        let origin = || piece.expect("P is sought before what is found from it");
        match step.subject {
            Subject::Goal | Subject::Target => {
                let goal = step.subject == Subject::Goal;
                let from = origin();
                let found =
                    if goal { board.pieces.reached_from(from) } else { board.pieces.attacked_from(from) };
                for square in squares(found) {
                    let sum = sum + step.part(Standing { kind: 0, square }, board.king);
                    // The last step of the sets with the most features: not worth a call.
                    if rest.is_empty() {
                        self.emit(sum, emit);
                    } else {
                        self.find(rest, sum, piece, board, emit);
                    }
                }
            }
            Subject::Right | Subject::Up | Subject::UpRight | Subject::DownRight => {
                let occupied = board.pieces.occupied();
                let next = ray(origin().square, step.subject).find(|&square| occupied >> square & 1 != 0);
                if let Some(square) = next {
                    let found = Standing { kind: board.pieces.kind_at(square), square };
                    self.find(rest, sum + self.sum_of(step, found, board), piece, board, emit);
                }
            }
            subject => {
                for found in board.pieces.standing().filter(|found| subject.allows(found.kind)) {
                    let piece = if subject == Subject::Any { Some(found) } else { piece };
                    let sum = sum + self.sum_of(step, found, board);
                    if rest.is_empty() {
                        self.emit(sum, emit);
                    } else {
                        self.find(rest, sum, piece, board, emit);
                    }
                }
            }
        }
    }

    #[inline]
    fn emit(&self, sum: u32, emit: &mut impl FnMut(u32)) {
        if let Some(number) = self.product.number(sum) {
            emit(number);
        }
    }

    #[inline]
    fn sum_of(&self, step: &Step, piece: Standing, board: &Board<'_>) -> u32 {
        let mut sum = step.part(piece, board.king);
        for (atom, stride) in &step.counting {
            let of_kinds =
                if atom.block == Block::Moves { &board.counts.moves } else { &board.counts.attacks };
            sum += of_kinds[usize::from(piece.kind)] * stride;
        }
        sum
    }

    /// Every feature that some placement of pieces makes active.
    ///
    /// No pawn stands on the first or last rank, no square holds two pieces, each
    /// side has one king and kings do not touch; whether a game could lead there is
    /// not asked.
    pub fn possible(&self, emit: &mut impl FnMut(u32)) {
        self.imagine(&self.steps, self.product.offset, None, 0, &mut Vec::new(), emit);
    }

    fn imagine(
        &self,
        steps: &[Step],
        sum: u32,
        piece: Option<Standing>,
        king: u8,
        bound: &mut Vec<Standing>,
        emit: &mut impl FnMut(u32),
    ) {
        let Some((step, rest)) = steps.split_first() else {
            return self.emit(sum, emit);
        };
        if step.subject.is_square() {
            let from = piece.expect("P is sought before what is found from it");
            for square in squares(imagined_squares(from, step.subject, bound)) {
                let part = step.part(Standing { kind: 0, square }, king);
                self.imagine(rest, sum + part, piece, king, bound, emit);
            }
            return;
        }
        let mut places = u64::MAX;
        if let Some(from) = piece.filter(|_| step.subject.follows_piece()) {
            places = 0;
            for square in ray(from.square, step.subject) {
                places |= 1 << square;
                if bound.iter().any(|other| other.square == square) {
                    break; // Nothing behind a piece is next.
                }
            }
        }
        for square in squares(places) {
            for kind in (0..KINDS as u8).filter(|&kind| step.subject.allows(kind)) {
                let found = Standing { kind, square };
                if !can_stand(found) || !bound.iter().all(|&other| compatible(found, other)) {
                    continue;
                }
                let piece = if step.subject == Subject::Any { Some(found) } else { piece };
                let king = if step.subject == Subject::King { square } else { king };
                bound.push(found);
                for part in imagined_parts(step, found, king) {
                    self.imagine(rest, sum + part, piece, king, bound, emit);
                }
                bound.pop();
            }
        }
    }
}

/// The subject's part of the sum, with every count its kind can have.
fn imagined_parts(step: &Step, found: Standing, king: u8) -> Vec<u32> {
    let mut parts = vec![step.part(found, king)];
    for (atom, stride) in &step.counting {
        let role = usize::from(found.kind >> 1);
        // Even hemmed in a piece attacks its neighbours: so many at least, from the corner.
        let least = if atom.block == Block::Attacks { [1, 2, 1, 2, 3, 3][role] } else { 0 };
        let most = if role == 5 { 8 } else { COUNTS - 1 };
        parts =
            parts.iter().flat_map(|part| (least..=most).map(move |count| part + count * stride)).collect();
    }
    parts
}

/// Where a piece could go or strike among the pieces already imagined.
fn imagined_squares(from: Standing, subject: Subject, bound: &[Standing]) -> u64 {
    let occupied = bound.iter().fold(0, |all, piece| all | 1u64 << piece.square);
    let struck = attacked(from, occupied);
    if subject == Subject::Target {
        return struck;
    }
    let own = bound.iter().filter(|piece| piece.kind & 1 == from.kind & 1);
    let goals = if from.kind > 1 { struck } else { struck | pushes(from, occupied) };
    goals & !own.fold(0, |all, piece| all | 1u64 << piece.square)
}

fn can_stand(piece: Standing) -> bool {
    piece.kind > 1 || (8..56).contains(&piece.square)
}

/// Whether two pieces can stand on one board, or are the same piece.
fn compatible(a: Standing, b: Standing) -> bool {
    if a.square == b.square {
        return a.kind == b.kind;
    }
    if a.kind < OWN_KING || b.kind < OWN_KING {
        return true;
    }
    let files = (a.square & 7).abs_diff(b.square & 7);
    let ranks = (a.square >> 3).abs_diff(b.square >> 3);
    a.kind + b.kind == OWN_KING + OTHER_KING && files.max(ranks) > 1
}

/// The squares from one to the edge, in the subject's direction.
fn ray(from: u8, subject: Subject) -> impl Iterator<Item = u8> {
    let (files, ranks) = subject.step().expect("a subject with a direction");
    let (mut file, mut rank) = ((from & 7) as i8, (from >> 3) as i8);
    std::iter::from_fn(move || {
        file += files;
        rank += ranks;
        let inside = (0..8).contains(&file) && (0..8).contains(&rank);
        inside.then(|| (rank * 8 + file) as u8)
    })
}
