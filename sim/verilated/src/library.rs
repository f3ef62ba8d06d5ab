//! A built model, ready to be instantiated.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cache::{Entry, Manifest};
use crate::ffi::Loaded;
use crate::{Error, Init, Layout, Model};

/// A built and loaded model. Clones share it.
///
/// The library stays loaded until the last clone and the last [`Model`] made
/// from it are gone.
#[derive(Clone)]
pub struct Library {
    shared: Arc<Shared>,
}

struct Shared {
    loaded: Arc<Loaded>,
    manifest: Manifest,
    path: PathBuf,
    from_cache: bool,
    build_time: Duration,
}

impl Library {
    pub(crate) fn load(entry: Entry, from_cache: bool, start: Instant) -> Result<Self, Error> {
        let Entry { library: path, manifest } = entry;
        let loaded = Loaded::open(&path, manifest.inputs.words(), manifest.outputs.words())?;
        let build_time = start.elapsed();
        let loaded = Arc::new(loaded);
        Ok(Self { shared: Arc::new(Shared { loaded, manifest, path, from_cache, build_time }) })
    }

    /// Where each input lies in a row; the clock is not among them.
    pub fn inputs(&self) -> &Layout {
        &self.shared.manifest.inputs
    }

    /// Where each output lies in a row.
    pub fn outputs(&self) -> &Layout {
        &self.shared.manifest.outputs
    }

    /// Whether the model was found already built.
    pub fn from_cache(&self) -> bool {
        self.shared.from_cache
    }

    /// How long [`Builder::build`](crate::Builder::build) took, be it to build
    /// or only to load.
    pub fn build_time(&self) -> Duration {
        self.shared.build_time
    }

    /// The shared library in the cache.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// A new instance of the design, in the given initial state.
    ///
    /// `initial` blocks have run and the design has settled with the clock low
    /// and all inputs at zero.
    pub fn instantiate(&self, init: Init) -> Result<Model, Error> {
        Model::new(self.clone(), init)
    }

    pub(crate) fn loaded(&self) -> &Arc<Loaded> {
        &self.shared.loaded
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.shared.manifest
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("top", &self.shared.manifest.top)
            .field("path", &self.shared.path)
            .finish_non_exhaustive()
    }
}
