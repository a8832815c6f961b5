//! Numbers that begin on a cache line, so that vector loads never straddle two.

use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Types of which any bytes are a value and that divide a line evenly.
///
/// # Safety
/// Implement it for plain integers of at most 64 bytes only.
pub unsafe trait Plain: Copy {}
unsafe impl Plain for i8 {}
unsafe impl Plain for u8 {}
unsafe impl Plain for i16 {}
unsafe impl Plain for i32 {}
unsafe impl Plain for u32 {}

/// A slice of `T` on the heap, zero at first, its start aligned to 64 bytes.
pub struct Aligned<T> {
    lines: Vec<Line>,
    length: usize,
    kind: std::marker::PhantomData<T>,
}

impl<T: Plain> Aligned<T> {
    pub fn zeros(length: usize) -> Aligned<T> {
        let lines = (length * size_of::<T>()).div_ceil(64);
        Aligned { lines: vec![Line([0; 64]); lines], length, kind: std::marker::PhantomData }
    }

    /// Make it longer, with zeros behind what there is.
    pub fn grow(&mut self, length: usize) {
        let lines = (length * size_of::<T>()).div_ceil(64);
        self.lines.resize(lines.max(self.lines.len()), Line([0; 64]));
        self.length = self.length.max(length);
    }
}

impl<T: Plain> Deref for Aligned<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the lines hold at least `length` values of a type of which any bytes are one.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.length) }
    }
}

impl<T: Plain> DerefMut for Aligned<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.length) }
    }
}
