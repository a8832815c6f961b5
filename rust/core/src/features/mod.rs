//! Feature sets: which facts of a position a network sees, as expressions.
//!
//! A *block* reads one thing of one subject and has a fixed number of values:
//! `FILE` 8, `RANK` 8, `DIAG1` 15, `DIAG2` 15, `SQUARE` 64, `ROLE` 6, `COLOR` 2,
//! `FOLDFILE` 4, `FOLDRANK` 4, `DFILE` 15 and `DRANK` 15 (counted from the own
//! king), `BUCKET4` to `BUCKET32` (regions), `MOVES` 32, `ATTACKS` 32. The
//! *subject* is a letter after an underscore: `P` any piece (meant where nothing
//! is said), `W` `B` White's and Black's, `N` any but the kings, `K` the own
//! king, `E` the other, `Q` a second piece; found from P: `R` `U` `D` `X` the
//! next piece right, up, up-right, down-right, `M` a square P can go to, `A` one
//! it attacks. `*` (×) is the product: a tuple is active if some choice of its
//! subjects gives all its values at once. `+` (⊕) puts sets side by side.
//! `MIRRORH(…)`, `MIRRORV(…)`, `MIRRORHV(…)` turn the board by where the own king
//! stands; `[0,7,10-19]` keeps some features. A set always reads the board as
//! one side sees it, that side at the bottom and called White; squares count
//! a1, b1, … h8, so `SQUARE` is `RANK * FILE`.
//!
//! ```
//! use tabiya_core::features::FeatureSet;
//! let set = FeatureSet::parse("(FILE + RANK) * ROLE * COLOR").unwrap();
//! assert_eq!(set.size(), 192);
//! assert_eq!(set.name(54), "white rook on the e-file");
//! ```

mod batch;
mod binding;
mod block;
mod expression;
mod gather;
mod local;
mod named;
mod names;
mod pieces;
pub mod table;
mod tree;

use shakmaty::Color;

pub use batch::{Sparse, Views, batch};
pub use expression::FeatureError;
pub use gather::Gather;
pub use named::{NAMED, SUMS};
pub use pieces::{Changes, Pieces, Standing};

use binding::Plan;
use local::Local;
use tree::Node;

/// A set of features: sizes, names, and what is active where.
pub struct FeatureSet {
    expression: String,
    tree: Node,
    plans: Vec<Plan>,
    local: Option<Local>,
    size: usize,
}

impl FeatureSet {
    /// Read an expression, or the name of a set, which is one.
    pub fn parse(expression: &str) -> Result<FeatureSet, FeatureError> {
        let tree = expression::parse(expression)?;
        let products = tree.products();
        let local = Local::new(&products);
        let size = tree.size() as usize;
        let plans = products.into_iter().map(Plan::new).collect();
        Ok(FeatureSet { expression: expression.trim().to_string(), tree, plans, local, size })
    }

    /// The text it was read from.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The number of features.
    pub fn size(&self) -> usize {
        self.size
    }

    /// At most so many are active at once.
    pub fn max_active(&self) -> usize {
        self.plans.iter().map(Plan::most_active).sum::<usize>().min(self.size)
    }

    /// What feature `index` says; it must be below the size.
    pub fn name(&self, index: usize) -> String {
        assert!(index < self.size, "feature {index} of a set of {}", self.size);
        let mut atoms = Vec::new();
        self.tree.decode(index as u64, &mut atoms);
        names::name(&atoms)
    }

    /// For each feature, whether no position at all can make it active.
    pub fn dead(&self) -> Vec<bool> {
        let mut dead = vec![true; self.size];
        for plan in &self.plans {
            plan.possible(&mut |feature| dead[feature as usize] = false);
        }
        dead
    }

    /// The active features in ascending order, each once, in place of what `out` held.
    pub fn active(&self, pieces: impl Into<Pieces>, view: Color, out: &mut Vec<u32>) {
        out.clear();
        let pieces = pieces.into();
        match &self.local {
            Some(local) => local.active(&pieces, view, out),
            None => self.by_definition(&pieces, view, |feature| out.push(feature)),
        }
        if !out.is_sorted_by(|a, b| a < b) {
            out.sort_unstable();
            out.dedup();
        }
    }

    /// Each product taken literally: every active feature, in no order, some more than once.
    pub fn by_definition(&self, pieces: &Pieces, view: Color, mut emit: impl FnMut(u32)) {
        let seen = pieces.seen_by(view);
        self.plans.iter().for_each(|plan| plan.active(&seen, &mut emit));
    }

    /// Like `active`, appending, without allocation where `out` has room; `gather` is scratch of this size.
    pub(crate) fn append_active(
        &self,
        pieces: &Pieces,
        view: Color,
        gather: &mut Gather,
        out: &mut Vec<u32>,
    ) {
        match &self.local {
            Some(local) => local.active(pieces, view, out),
            None => {
                self.by_definition(pieces, view, |feature| gather.insert(feature));
                gather.draw(out);
            }
        }
    }

    /// What a move adds and removes in a view; false where the view must be refreshed instead.
    ///
    /// The lists are replaced. Any two placements will do: one move, a null move or ten.
    pub fn changes(
        &self,
        before: impl Into<Pieces>,
        after: impl Into<Pieces>,
        view: Color,
        added: &mut Vec<u32>,
        removed: &mut Vec<u32>,
    ) -> bool {
        added.clear();
        removed.clear();
        let (before, after) = (before.into(), after.into());
        if let Some(local) = &self.local {
            let context = local.context(&after, view);
            if local.context(&before, view) != context {
                return false;
            }
            let (mut gone, mut come) = (Changes::default(), Changes::default());
            Pieces::difference(&before, &after, &mut gone, &mut come);
            local.changes(context, view, (&before, &gone), (&after, &come), added, removed);
            return true;
        }
        let (mut old, mut new) = (Vec::new(), Vec::new());
        self.active(before, view, &mut old);
        self.active(after, view, &mut new);
        compare(&old, &new, added, removed);
        true
    }

    /// Whether a table by piece and square says it all, so that updates cost next to nothing.
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// In how many classes the own king's squares fall; moving between them needs a refresh.
    pub fn contexts(&self) -> usize {
        self.local.as_ref().map_or(1, Local::contexts)
    }

    pub(crate) fn local(&self) -> Option<&Local> {
        self.local.as_ref()
    }

    /// The `count` features of the greatest worth, as a set of their own; of equals the first.
    pub fn top(&self, worth: &[f64], count: usize) -> Result<FeatureSet, FeatureError> {
        let mut order: Vec<u32> = (0..self.size.min(worth.len()) as u32).collect();
        order.sort_by(|&a, &b| worth[b as usize].total_cmp(&worth[a as usize]));
        order.truncate(count.max(1));
        order.sort_unstable();
        let runs = order.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [one] => one.to_string(),
            [first, .., last] => format!("{first}-{last}"),
            [] => unreachable!("a run has a number"),
        });
        FeatureSet::parse(&format!("({})[{}]", self.expression, runs.collect::<Vec<_>>().join(",")))
    }
}

/// Sorted lists compared: what only the new one has, and only the old.
pub(crate) fn compare(old: &[u32], new: &[u32], added: &mut Vec<u32>, removed: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        match old[i].cmp(&new[j]) {
            std::cmp::Ordering::Less => {
                removed.push(old[i]);
                i += 1;
            }
            std::cmp::Ordering::Greater => {
                added.push(new[j]);
                j += 1;
            }
            std::cmp::Ordering::Equal => {
                i += 1;
                j += 1;
            }
        }
    }
    removed.extend(&old[i..]);
    added.extend(&new[j..]);
}
