//! A long slice in large pages, where the system gives them.
//!
//! A transposition table is read at random places. With pages of 4 KiB nearly
//! every read first waits for the page's address; pages of 2 MiB are few enough
//! for the processor to remember.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

const LARGE_PAGE: usize = 2 << 20;

/// Types of which zero bytes are a value, and that need no drop.
///
/// # Safety
/// Both must be so.
pub unsafe trait Zero: Send + Sync {}

/// A slice on the heap, zero at first.
pub struct Large<T> {
    start: NonNull<T>,
    length: usize,
    layout: Layout,
}

// SAFETY: it owns its values as a box does.
unsafe impl<T: Zero> Send for Large<T> {}
unsafe impl<T: Zero> Sync for Large<T> {}

impl<T: Zero> Large<T> {
    /// So many zeros, at least one.
    pub fn zeros(length: usize) -> Large<T> {
        let exact = Layout::array::<T>(length.max(1)).expect("a table fits the memory's addresses");
        assert!(exact.size() > 0, "values have a size");
        let layout = if exact.size() < LARGE_PAGE {
            exact
        } else {
            exact.align_to(LARGE_PAGE).expect("a table fits the memory's addresses").pad_to_align()
        };
        // SAFETY: the layout's size is not zero; the memory is written before anyone reads it.
        let start = unsafe {
            let bytes = alloc(layout);
            if bytes.is_null() {
                handle_alloc_error(layout);
            }
            ask_for_large_pages(bytes, layout.size());
            bytes.write_bytes(0, layout.size());
            NonNull::new_unchecked(bytes.cast())
        };
        Large { start, length: length.max(1), layout }
    }
}

/// A refusal is no fault: the memory is only slower.
fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        use std::ffi::{c_int, c_void};
        unsafe extern "C" {
            fn madvise(start: *mut c_void, length: usize, advice: c_int) -> c_int;
        }
        const USE_LARGE_PAGES: c_int = 14;
        if bytes >= LARGE_PAGE {
            // SAFETY: the memory is ours, begins at a page and holds nothing yet.
            unsafe { madvise(start.cast(), bytes, USE_LARGE_PAGES) };
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

impl<T> Deref for Large<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: so many values begin there, all of them zero or written since.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl<T> DerefMut for Large<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and borrowed for writing.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl<T> Drop for Large<T> {
    fn drop(&mut self) {
        // SAFETY: made with this layout; the values need no drop.
        unsafe { dealloc(self.start.as_ptr().cast(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe impl Zero for u64 {}

    #[test]
    fn small_and_large_slices_begin_with_zeros_and_keep_what_is_written() {
        for length in [1, 1000, (LARGE_PAGE / 8) + 3] {
            let mut slice = Large::<u64>::zeros(length);
            assert_eq!(slice.len(), length);
            assert!(slice.iter().all(|&value| value == 0));
            slice[length - 1] = 7;
            assert_eq!(slice[length - 1], 7);
        }
    }
}
