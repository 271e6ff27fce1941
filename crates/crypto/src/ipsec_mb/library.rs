//! The shared library, opened once and never closed.

use std::ffi::{CStr, CString, c_char, c_uint, c_void};
use std::os::unix::ffi::OsStringExt;

use sys::trusted::Untrusted;

use super::layout::{Manager, Version};
use super::unavailable::Unavailable;

const NAMES: [&CStr; 2] = [c"libIPSec_MB.so.2", c"libIPSec_MB.so.1"];

pub(super) type Init = unsafe extern "C" fn(*mut Manager);
type SetPointers = unsafe extern "C" fn(*mut c_void, u64, c_uint) -> *mut Manager;
type ManagerBytes = unsafe extern "C" fn() -> usize;

#[derive(Clone, Copy)]
pub(super) struct Library {
    handle: Handle,
    pub(super) file: &'static str,
    pub(super) version: Version,
    version_text: &'static CStr,
    set_pointers: SetPointers,
    manager_bytes: ManagerBytes,
}

#[derive(Clone, Copy)]
struct Handle(*mut c_void);

// SAFETY: a handle of dlopen may be used from any thread.
unsafe impl Send for Handle {}
// SAFETY: as above; dlsym takes its own lock.
unsafe impl Sync for Handle {}

impl Library {
    pub(super) fn open() -> Result<Self, Unavailable> {
        if !cfg!(all(target_arch = "x86_64", unix)) {
            return Err(Unavailable::Architecture);
        }
        let [newer, older] = NAMES;
        Self::named(newer)
            .or_else(|first| Self::named(older).map_err(|second| more_telling(first, second)))
    }

    fn named(name: &'static CStr) -> Result<Self, Unavailable> {
        let path = find(name)?;
        let handle = Handle::open(&path).map_err(|reason| Unavailable::NotInstalled { reason })?;
        Self::gated(handle, name)
    }

    fn gated(handle: Handle, name: &'static CStr) -> Result<Self, Unavailable> {
        let file = name.to_str().unwrap_or_default();
        let missing = |symbol: &'static CStr| Unavailable::Symbol {
            file,
            symbol: symbol.to_str().unwrap_or_default(),
        };
        let find = |symbol| handle.symbol(symbol).ok_or_else(|| missing(symbol));
        let (number, text) = (find(c"imb_get_version")?, find(c"imb_get_version_str")?);
        // SAFETY: both have existed with these types since 0.50.
        let (number, text) = unsafe {
            let number: unsafe extern "C" fn() -> c_uint = std::mem::transmute(number);
            let text: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(text);
            (number(), text())
        };
        if text.is_null() {
            return Err(missing(c"imb_get_version_str"));
        }
        // SAFETY: not null, so a constant string with its end.
        let text = unsafe { CStr::from_ptr(text) };
        let version = Version::of(number).ok_or_else(|| Unavailable::Version {
            file,
            version: text.to_string_lossy().into_owned(),
        })?;
        let (pointers, bytes) = (
            find(c"imb_set_pointers_mb_mgr")?,
            find(c"imb_get_mb_mgr_size")?,
        );
        // SAFETY: in the versions let through, these have these types.
        let (set_pointers, manager_bytes) = unsafe {
            (
                std::mem::transmute::<*mut c_void, SetPointers>(pointers),
                std::mem::transmute::<*mut c_void, ManagerBytes>(bytes),
            )
        };
        Ok(Self {
            handle,
            file,
            version,
            version_text: text,
            set_pointers,
            manager_bytes,
        })
    }

    pub(super) fn version_text(&self) -> String {
        self.version_text.to_string_lossy().into_owned()
    }

    pub(super) fn init(&self, symbol: &'static CStr) -> Result<Init, Unavailable> {
        let found = self.handle.symbol(symbol).ok_or(Unavailable::Symbol {
            file: self.file,
            symbol: symbol.to_str().unwrap_or_default(),
        })?;
        // SAFETY: every `init_mb_mgr_*` but `_auto`, which is not asked for,
        // has this type in the versions let through.
        Ok(unsafe { std::mem::transmute::<*mut c_void, Init>(found) })
    }

    /// Bytes of a manager with all that belongs to it.
    pub(super) fn manager_bytes(&self) -> usize {
        // SAFETY: takes nothing, returns a constant.
        unsafe { (self.manager_bytes)() }
    }

    /// Lays a manager out in `memory`; null when the flags ask for what the
    /// library was built without.
    ///
    /// # Safety
    /// `memory` is writable for [`Self::manager_bytes`], on a cache line.
    pub(super) unsafe fn lay_out(&self, memory: *mut c_void, flags: u64) -> *mut Manager {
        // SAFETY: forwarded from the caller.
        unsafe { (self.set_pointers)(memory, flags, 1) }
    }
}

/// The file to open, by its path: opened by name it could be another, and its
/// code runs at once.
fn find(name: &CStr) -> Result<CString, Unavailable> {
    let text = name.to_string_lossy();
    let untrusted = |error: Untrusted| Unavailable::Untrusted {
        reason: error.to_string(),
    };
    let path = sys::library::find(&text).map_err(untrusted)?;
    let path = path.and_then(|path| CString::new(path.into_os_string().into_vec()).ok());
    path.ok_or_else(|| Unavailable::NotInstalled {
        reason: format!("{text} is not where the loader looks"),
    })
}

impl Handle {
    fn open(path: &CStr) -> Result<Self, String> {
        // SAFETY: a string with its end; the library's constructors only
        // detect the CPU.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if !handle.is_null() {
            return Ok(Self(handle));
        }
        // SAFETY: the text is this thread's own until its next such call.
        let text = unsafe { libc::dlerror() };
        if text.is_null() {
            return Err("no reason given".to_owned());
        }
        // SAFETY: not null, so a string with its end.
        let text = unsafe { CStr::from_ptr(text) };
        Err(text.to_string_lossy().into_owned())
    }

    fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the handle is never closed.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!found.is_null()).then_some(found)
    }
}

fn more_telling(first: Unavailable, second: Unavailable) -> Unavailable {
    match first {
        Unavailable::NotInstalled { .. } => second,
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_installed_says_why_not() {
        let absent = || Unavailable::NotInstalled {
            reason: "not found".to_owned(),
        };
        let unknown = || Unavailable::Version {
            file: "libIPSec_MB.so.2",
            version: "2.9.0".to_owned(),
        };
        assert_eq!(more_telling(unknown(), absent()), unknown());
        assert_eq!(more_telling(absent(), unknown()), unknown());
        assert_eq!(more_telling(absent(), absent()), absent());
    }
}
