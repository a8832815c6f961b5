//! Both views' accumulators along a line of play: lazily updated, restored by stepping back.
//!
//! Making a move only notes where the pieces stand. An evaluation then moves
//! each view's accumulator from the nearest earlier position that has one, by
//! what differs; the accumulators of earlier plies stay as they are, so taking
//! a move back is one subtraction. Where the own king's square decides which
//! features there are, one accumulator per class of squares is remembered with
//! the pieces it was made of, and a refresh starts from there.

use std::sync::Arc;

use shakmaty::Color;

use super::aligned::Aligned;
use super::kernel::{Kernel, Scratch};
use super::network::Network;
use crate::features::{Changes, Gather, Pieces, compare};

/// A move changes at most so many squares on either side; captures and answers in between add a few.
const FEW: usize = 8;
/// Room for a line of so many moves is made at once; longer lines make more.
const PLIES: usize = 256;

pub struct Accumulators {
    network: Arc<Network>,
    kernel: Kernel,
    plies: Vec<Ply>,
    /// The ply on the board.
    top: usize,
    /// By ply and view.
    values: Aligned<i16>,
    /// By ply and view: the active features, for sets that are compared as a whole.
    active: Vec<[Vec<u32>; 2]>,
    /// By view and context: the pieces of an accumulator that was made in it, and the accumulator.
    remembered: Vec<Pieces>,
    remembered_values: Aligned<i16>,
    work: Work,
}

/// Lists that would otherwise be made anew for each evaluation.
struct Work {
    added: Vec<u32>,
    removed: Vec<u32>,
    gone: Changes,
    come: Changes,
    gather: Gather,
    scratch: Scratch,
}

#[derive(Clone, Copy)]
struct Ply {
    pieces: Pieces,
    /// For each view the context that its accumulator was made in, once it is made.
    made: [Option<u8>; 2],
}

impl Accumulators {
    pub fn new(network: Arc<Network>, root: impl Into<Pieces>) -> Accumulators {
        Accumulators::with_kernel(network, root, Kernel::best())
    }

    /// With a kernel of one's choice; it must be among those available.
    pub fn with_kernel(network: Arc<Network>, root: impl Into<Pieces>, kernel: Kernel) -> Accumulators {
        assert!(Kernel::available().contains(&kernel), "this processor has no {}", kernel.name());
        let width = network.width();
        let set = network.set();
        let mut remembered_values = Aligned::zeros(2 * set.contexts() * width);
        remembered_values.chunks_exact_mut(width).for_each(|values| values.copy_from_slice(&network.biases));
        let room = set.max_active();
        let mut made = Accumulators {
            kernel,
            plies: Vec::new(),
            top: 0,
            values: Aligned::zeros(0),
            active: Vec::new(),
            remembered: vec![Pieces::NONE; 2 * set.contexts()],
            remembered_values,
            work: Work {
                added: Vec::with_capacity(room),
                removed: Vec::with_capacity(room),
                gone: Changes::default(),
                come: Changes::default(),
                gather: if set.is_local() { Gather::default() } else { Gather::new(set.size()) },
                scratch: Scratch::new(&network),
            },
            network,
        };
        made.reset(root);
        made
    }

    pub fn network(&self) -> &Arc<Network> {
        &self.network
    }

    /// Begin a new line of play.
    pub fn reset(&mut self, root: impl Into<Pieces>) {
        self.top = 0;
        self.put(root.into());
    }

    /// A move was made (or passed): these pieces stand now.
    #[inline]
    pub fn push(&mut self, after: impl Into<Pieces>) {
        self.top += 1;
        self.put(after.into());
    }

    /// The last move was taken back.
    #[inline]
    pub fn pop(&mut self) {
        assert!(self.top > 0, "no move to take back");
        self.top -= 1;
    }

    #[inline]
    fn put(&mut self, pieces: Pieces) {
        if self.top >= self.plies.len() {
            self.make_room();
        }
        self.plies[self.top] = Ply { pieces, made: [None; 2] };
    }

    #[cold]
    fn make_room(&mut self) {
        let length = self.plies.len() + PLIES;
        self.plies.resize(length, Ply { pieces: Pieces::NONE, made: [None; 2] });
        self.values.grow(length * 2 * self.network.width());
        if !self.network.set().is_local() {
            let room = self.network.set().max_active();
            self.active.resize_with(length, || [Vec::with_capacity(room), Vec::with_capacity(room)]);
        }
    }

    /// The evaluation of the position on the board for the side to move.
    ///
    /// The network's output times the output scale of its file, in centipawns as far as its teacher's
    /// were, within ±10,000.
    #[inline]
    pub fn evaluate(&mut self, turn: Color) -> i32 {
        self.make_both();
        let width = self.network.width();
        let of = |view: Color| &self.values[(self.top * 2 + view as usize) * width..][..width];
        let stack = self.network.stack(&self.plies[self.top].pieces);
        self.kernel.forward(stack, of(turn), of(turn.other()), &mut self.work.scratch)
    }

    /// A view's accumulator for the position on the board: `[l1]`.
    pub fn accumulator(&mut self, view: Color) -> &[i16] {
        self.make_both();
        let start = (self.top * 2 + view as usize) * self.network.width();
        &self.values[start..][..self.network.shape().l1]
    }

    #[inline]
    fn make_both(&mut self) {
        let mut compared = usize::MAX;
        for view in Color::ALL {
            if self.plies[self.top].made[view as usize].is_none() {
                self.make(view, &mut compared);
            }
        }
    }

    /// Make a view's accumulator; `compared` is the ply whose differences the lists hold.
    fn make(&mut self, view: Color, compared: &mut usize) {
        let network = &*self.network;
        let (width, side, top) = (network.width(), view as usize, self.top);
        let Ply { pieces, .. } = self.plies[top];
        let earlier = (0..top).rev().find(|&ply| self.plies[ply].made[side].is_some());
        let (before, rest) = self.values.split_at_mut(top * 2 * width);
        let target = &mut rest[side * width..][..width];
        let slot = |ply: usize| (ply * 2 + side) * width;
        let Work { added, removed, gone, come, gather, .. } = &mut self.work;
        added.clear();
        removed.clear();
        let Some(local) = network.set().local() else {
            let (past, now) = self.active.split_at_mut(top);
            let now = &mut now[0][side];
            now.clear();
            network.set().append_active(&pieces, view, gather, now);
            let (source, old) = match earlier {
                Some(ply) => (&before[slot(ply)..][..width], &past[ply][side][..]),
                None => (&network.biases[..], &[][..]),
            };
            compare(old, now, added, removed);
            self.kernel.update(source, target, &network.weights, added, removed);
            self.plies[top].made[side] = Some(0);
            return;
        };
        let context = local.context(&pieces, view);
        match earlier.filter(|&ply| self.plies[ply].made[side] == Some(context as u8)) {
            Some(ply) => {
                let old = &self.plies[ply].pieces;
                if *compared != ply {
                    Pieces::difference(old, &pieces, gone, come);
                    *compared = ply;
                }
                let source = &before[slot(ply)..][..width];
                let few = gone.as_slice().len() <= FEW && come.as_slice().len() <= FEW;
                if let (true, Some(plain)) = (few, local.plain(context, view)) {
                    // Lists that never leave the stack: what the search does a million times a second.
                    let (mut added, mut removed) = ([0; FEW], [0; FEW]);
                    let (come, gone) = (come.as_slice(), gone.as_slice());
                    let (more, less) = (plain.features(come, &mut added), plain.features(gone, &mut removed));
                    self.kernel.update(source, target, &network.weights, &added[..more], &removed[..less]);
                } else {
                    local.changes(context, view, (old, gone), (&pieces, come), added, removed);
                    self.kernel.update(source, target, &network.weights, added, removed);
                }
            }
            None => {
                let at = side * local.contexts() + context;
                let old = &mut self.remembered[at];
                Pieces::difference(old, &pieces, gone, come);
                *compared = usize::MAX;
                local.changes(context, view, (old, gone), (&pieces, come), added, removed);
                let values = &mut self.remembered_values[at * width..][..width];
                self.kernel.update(values, target, &network.weights, added, removed);
                values.copy_from_slice(target);
                *old = pieces;
            }
        }
        self.plies[top].made[side] = Some(context as u8);
    }
}
