//! The only unsafe code: loading a built model and calling into it.
//!
//! The library is one that this crate had compiled from its own shim, and whose
//! content was checked against the manifest written with it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::Error;
use crate::shim::ABI;

/// Mirrors `Api` in the shim, field by field.
#[repr(C)]
#[derive(Clone, Copy)]
struct Api {
    abi: u64,
    in_words: u64,
    out_words: u64,
    create: unsafe extern "C" fn(c_int, u64, *mut c_char, u64) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    run: unsafe extern "C" fn(*mut c_void, u64, *const u64, *mut u64) -> c_int,
    last_error: unsafe extern "C" fn(*mut c_void) -> *const c_char,
    cycle: unsafe extern "C" fn(*mut c_void) -> u64,
    finished: unsafe extern "C" fn(*mut c_void) -> c_int,
    memory_count: unsafe extern "C" fn(*mut c_void) -> u64,
    memory_info: unsafe extern "C" fn(*mut c_void, u64, *mut u64, *mut u64) -> *const c_char,
    memory_read: unsafe extern "C" fn(*mut c_void, u64, *mut u64),
    memory_write: unsafe extern "C" fn(*mut c_void, u64, u64, *const u64) -> c_int,
    trace_open: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    trace_close: unsafe extern "C" fn(*mut c_void) -> c_int,
    coverage_write: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
}

/// A loaded library. Its code stays in place for as long as this lives.
pub(crate) struct Loaded {
    api: Api,
    _library: libloading::Library,
}

impl Loaded {
    /// Loads the library and checks that it is made for rows of these sizes.
    pub(crate) fn open(path: &Path, in_words: usize, out_words: usize) -> Result<Self, Error> {
        let fail = |message: String| Error::Load { path: path.to_owned(), message };
        // SAFETY: loading runs the static initialisers of Verilator's run-time
        // library and of the generated model, which only set up their own data.
        let library = unsafe { libloading::Library::new(path) }.map_err(|e| fail(e.to_string()))?;
        // SAFETY: the shim defines this symbol with this signature.
        let entry = unsafe { library.get::<unsafe extern "C" fn() -> *const Api>(b"verilated_model_api\0") }
            .map_err(|e| fail(e.to_string()))?;
        // SAFETY: the function takes nothing and returns the address of a constant.
        let table = unsafe { entry() };
        // SAFETY: `abi` is the first field in every version of the table; the
        // rest is looked at only if that says it is this version's.
        if unsafe { table.cast::<u64>().read() } != ABI {
            return Err(fail("built by another version of this crate".to_owned()));
        }
        // SAFETY: the table is a constant of the library, of this very layout.
        let api = unsafe { *table };
        if (api.in_words, api.out_words) != (in_words as u64, out_words as u64) {
            return Err(fail("row sizes differ from the manifest's".to_owned()));
        }
        Ok(Self { api, _library: library })
    }
}

/// One instance of a model.
pub(crate) struct Instance {
    handle: NonNull<c_void>,
    loaded: Arc<Loaded>,
}

// SAFETY: the shim keeps all state of an instance behind its handle and sets
// what Verilator keeps per thread on each entry, so the instance may move to
// another thread. It is not `Sync`: the handle must not be used by two at once,
// which `&mut` or the lack of `Sync` makes sure of.
unsafe impl Send for Instance {}

impl Instance {
    /// `mode` is 0 for zeros, 1 for ones, 2 for random by `seed`.
    pub(crate) fn new(loaded: &Arc<Loaded>, mode: c_int, seed: u64) -> Result<Self, Error> {
        let mut message = [0_u8; 1024];
        // SAFETY: the buffer is writable for the length given, and the shim
        // writes at most that less one, so that a terminating zero remains.
        let handle =
            unsafe { (loaded.api.create)(mode, seed, message.as_mut_ptr().cast(), message.len() as u64) };
        let handle = NonNull::new(handle).ok_or_else(|| {
            let text = CStr::from_bytes_until_nul(&message).unwrap_or_default();
            Error::Simulation(text.to_string_lossy().into_owned())
        })?;
        Ok(Self { handle, loaded: Arc::clone(loaded) })
    }

    fn api(&self) -> &Api {
        &self.loaded.api
    }

    /// The shim's 0 or 1 as a result, with the reason it noted.
    fn check(&self, status: c_int) -> Result<(), String> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the handle is live; the string it returns is zero-terminated
        // and stays until the next call on this handle.
        let text = unsafe { CStr::from_ptr((self.api().last_error)(self.handle.as_ptr())) };
        Err(text.to_string_lossy().into_owned())
    }

    /// Runs `cycles` rows.
    ///
    /// # Panics
    /// If the slices do not have exactly the rows' length.
    pub(crate) fn run(&mut self, cycles: usize, inputs: &[u64], outputs: &mut [u64]) -> Result<(), String> {
        let needed = |words: u64| cycles.checked_mul(words as usize);
        assert_eq!(Some(inputs.len()), needed(self.api().in_words));
        assert_eq!(Some(outputs.len()), needed(self.api().out_words));
        // SAFETY: the handle is live and borrowed exclusively; the shim reads
        // `cycles * in_words` and writes `cycles * out_words` words, which the
        // slices have, as just asserted.
        let status = unsafe {
            let (handle, rows) = (self.handle.as_ptr(), cycles as u64);
            (self.api().run)(handle, rows, inputs.as_ptr(), outputs.as_mut_ptr())
        };
        self.check(status)
    }

    /// Cycles run since the start.
    pub(crate) fn cycle(&self) -> u64 {
        // SAFETY: the handle is live; the call only reads.
        unsafe { (self.api().cycle)(self.handle.as_ptr()) }
    }

    /// Whether the design called `$finish`.
    pub(crate) fn finished(&self) -> bool {
        // SAFETY: the handle is live; the call only reads.
        unsafe { (self.api().finished)(self.handle.as_ptr()) != 0 }
    }

    /// Path, rows and width of each memory.
    pub(crate) fn memories(&self) -> Vec<(String, usize, usize)> {
        // SAFETY: the handle is live; the call only reads.
        let count = unsafe { (self.api().memory_count)(self.handle.as_ptr()) };
        let info = |index| {
            let (mut rows, mut width) = (0, 0);
            // SAFETY: the index is below the count; the two places are writable;
            // the path is zero-terminated and lives as long as the handle.
            let path = unsafe {
                let at = self.handle.as_ptr();
                CStr::from_ptr((self.api().memory_info)(at, index, &raw mut rows, &raw mut width))
            };
            (path.to_string_lossy().into_owned(), rows as usize, width as usize)
        };
        (0..count).map(info).collect()
    }

    /// All rows of memory `index`.
    ///
    /// # Panics
    /// If there is no such memory.
    pub(crate) fn memory_read(&self, index: usize) -> Vec<u64> {
        let (_, rows, width) = self.memories().swap_remove(index);
        let mut words = vec![0; rows * width.div_ceil(64)];
        // SAFETY: the index was just used to find the memory; the shim writes
        // rows * ceil(width / 64) words, which the vector has.
        unsafe { (self.api().memory_read)(self.handle.as_ptr(), index as u64, words.as_mut_ptr()) };
        words
    }

    /// Overwrites one row of memory `index`.
    ///
    /// # Panics
    /// If there is no such memory or row, or the value has not the row's length.
    pub(crate) fn memory_write(&mut self, index: usize, row: usize, value: &[u64]) -> Result<(), String> {
        let (_, rows, width) = self.memories().swap_remove(index);
        assert!(row < rows && value.len() == width.div_ceil(64));
        // SAFETY: the index and the row are in range and the shim reads
        // ceil(width / 64) words, as just asserted; the borrow is exclusive.
        let status = unsafe {
            let handle = self.handle.as_ptr();
            (self.api().memory_write)(handle, index as u64, row as u64, value.as_ptr())
        };
        self.check(status)
    }

    /// Starts a VCD. Only for libraries built with tracing.
    pub(crate) fn trace_open(&mut self, path: &Path) -> Result<(), String> {
        let path = c_path(path)?;
        // SAFETY: the handle is live, the path zero-terminated.
        let status = unsafe { (self.api().trace_open)(self.handle.as_ptr(), path.as_ptr()) };
        self.check(status)
    }

    /// Ends the VCD. Only after `trace_open`.
    pub(crate) fn trace_close(&mut self) -> Result<(), String> {
        // SAFETY: the handle is live.
        let status = unsafe { (self.api().trace_close)(self.handle.as_ptr()) };
        self.check(status)
    }

    /// Writes the coverage counts. Only for libraries built with coverage.
    pub(crate) fn coverage_write(&mut self, path: &Path) -> Result<(), String> {
        let path = c_path(path)?;
        // SAFETY: the handle is live, the path zero-terminated.
        let status = unsafe { (self.api().coverage_write)(self.handle.as_ptr(), path.as_ptr()) };
        self.check(status)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the handle is live and never used again; the library is still
        // loaded, since `loaded` is dropped after this.
        unsafe { (self.api().destroy)(self.handle.as_ptr()) }
    }
}

fn c_path(path: &Path) -> Result<CString, String> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|e| e.to_string())
}
