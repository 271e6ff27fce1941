//! What to run next.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Test {
    Polled,
    PolledAtPeak,
    SmallFootprint,
    Deeper,
    Split,
    GeneratorOnly,
    GeneratorOnlyAtPeak,
    Again,
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Polled => "run the fallen size polled, without notifications",
            Self::PolledAtPeak => {
                "run the peak polled as well: what helps both sizes alike explains no fall"
            }
            Self::SmallFootprint => {
                "run the fallen size at a depth that leaves as many bytes in flight as at the peak"
            }
            Self::Deeper => "run the fallen size at twice the depth",
            Self::Split => {
                "run the same bytes as requests of the peak's size, as many bytes in flight"
            }
            Self::GeneratorOnly => "run the generator alone at the fallen size",
            Self::GeneratorOnlyAtPeak => "run the generator alone at the peak's size as well",
            Self::Again => "run it again with more pairs: the intervals are too wide",
        })
    }
}
