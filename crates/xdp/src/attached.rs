//! Programs on ports, and their replacement.

use libbpf_rs::{Link, ProgramImpl};
use sys::failure::Failure;

pub struct Entry<'p> {
    pub(crate) ifindex: u32,
    pub(crate) program: ProgramImpl<'p, libbpf_rs::Mut>,
}

pub trait Path {
    fn entries(&self) -> Vec<Entry<'_>>;
}

/// Shared with a thread that updates the programs.
impl<P: Path + ?Sized> Path for std::sync::Arc<P> {
    fn entries(&self) -> Vec<Entry<'_>> {
        (**self).entries()
    }
}

/// A path whose programs run. They are gone when it is dropped, or when the process
/// ends in any way.
pub struct Attached<P> {
    path: P,
    links: Vec<(u32, Link)>,
}

impl<P: Path> Attached<P> {
    /// Puts every program on its port. The calling thread must be in the
    /// ports' network namespace.
    ///
    /// # Errors
    /// Then none runs.
    pub fn new(path: P) -> Result<Self, Failure> {
        let links = path
            .entries()
            .iter()
            .map(attach)
            .collect::<Result<_, _>>()?;
        Ok(Self { path, links })
    }

    /// Replaces every port's program by that of `path`, without a moment in
    /// which a port has none: no frame is lost.
    ///
    /// # Errors
    /// Ports that were replaced before stay so, and all
    /// programs are gone with the error.
    pub fn switch<Q: Path>(mut self, path: Q) -> Result<Attached<Q>, Failure> {
        let entries = path.entries();
        let old: Vec<_> = self.links.iter().map(|(ifindex, _)| *ifindex).collect();
        let new: Vec<_> = entries.iter().map(|entry| entry.ifindex).collect();
        if old != new {
            return Err(Failure::new(format!(
                "the new path runs on the ports {new:?}, the old one on {old:?}; attach it anew"
            )));
        }
        for ((ifindex, link), entry) in self.links.iter_mut().zip(&entries) {
            link.update_prog(&entry.program)
                .map_err(refused(*ifindex))?;
        }
        drop(entries);
        Ok(Attached {
            path,
            links: self.links,
        })
    }
}

impl<P> std::ops::Deref for Attached<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.path
    }
}

impl<P> std::ops::DerefMut for Attached<P> {
    fn deref_mut(&mut self) -> &mut P {
        &mut self.path
    }
}

fn attach(entry: &Entry<'_>) -> Result<(u32, Link), Failure> {
    let ifindex = entry.ifindex;
    let number = i32::try_from(ifindex)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| {
            Failure::new(format!(
                "{ifindex} is not a valid interface number: they go from 1 to {}",
                i32::MAX
            ))
        })?;
    let link = entry.program.attach_xdp(number).map_err(refused(ifindex))?;
    Ok((ifindex, link))
}

fn refused(ifindex: u32) -> impl FnOnce(libbpf_rs::Error) -> Failure {
    Failure::of(format!(
        "interface {ifindex} takes no XDP program (is it in this thread's network namespace, without another XDP program, and its MTU within one page?)"
    ))
}
