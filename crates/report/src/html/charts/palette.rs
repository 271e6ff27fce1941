//! The colours of charts, for light and for dark surfaces.
//!
//! `plotters` writes literal colours. Charts are drawn in the light ones, so a
//! drawing copied out of the report stands alone; the page's style sheet finds
//! them by attribute and gives each its dark twin.

use plotters::style::RGBColor;

/// A colour on a light and on a dark surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Colour {
    light: [u8; 3],
    dark: [u8; 3],
    /// `stroke-dasharray` of lines in this colour; empty for none.
    dash: &'static str,
}

impl Colour {
    const fn new(light: u32, dark: u32) -> Self {
        Self::dashed(light, dark, "")
    }

    const fn dashed(light: u32, dark: u32, dash: &'static str) -> Self {
        Self {
            light: split(light),
            dark: split(dark),
            dash,
        }
    }

    /// As `plotters` wants it.
    pub(super) fn ink(self) -> RGBColor {
        let [red, green, blue] = self.light;
        RGBColor(red, green, blue)
    }

    fn css(self) -> String {
        let (light, dark) = (hex(self.light), hex(self.dark));
        let mut css = format!(
            "svg [stroke=\"{light}\"] {{ stroke: light-dark({light}, {dark}); }}\n\
             svg [fill=\"{light}\"] {{ fill: light-dark({light}, {dark}); }}\n"
        );
        if !self.dash.is_empty() {
            css.push_str(&format!(
                "svg polyline[stroke=\"{light}\"] {{ stroke-dasharray: {}; }}\n",
                self.dash
            ));
        }
        css
    }
}

/// The surface charts lie on, also inside hollow marks.
pub(super) const SURFACE: Colour = Colour::new(0xFFFFFF, 0x15181C);
pub(super) const INK: Colour = Colour::new(0x24292F, 0xD8DDE3);
pub(super) const MUTED: Colour = Colour::new(0x57606A, 0x9DA7B3);
pub(super) const GRID: Colour = Colour::new(0xE3E7EB, 0x2C323A);
pub(super) const UNITY: Colour = Colour::new(0x8C959F, 0x6E7781);

/// Measured series: Okabe and Ito's hues, darkened or lightened until each has a
/// contrast of 3:1 or more with its surface, then three more.
pub(super) const MEASURED: [Colour; 8] = [
    Colour::new(0x0072B2, 0x56B4E9),
    Colour::new(0xC44E00, 0xFF8A4C),
    Colour::new(0x00805E, 0x2CC295),
    Colour::new(0xA0417D, 0xE08FC0),
    Colour::new(0x946200, 0xE6B400),
    Colour::new(0x5E4FA2, 0xA99DEB),
    Colour::new(0x7A3B1D, 0xC99A7C),
    Colour::new(0x5F6B00, 0xB9C44A),
];

/// Reference series: greys that differ in their dashes.
pub(super) const REFERENCE: [Colour; 4] = [
    Colour::dashed(0x4D4D4D, 0xC4C4C4, "7 4"),
    Colour::dashed(0x4E4E4E, 0xC5C5C5, "2 3"),
    Colour::dashed(0x4F4F4F, 0xC6C6C6, "10 3 2 3"),
    Colour::dashed(0x505050, 0xC7C7C7, "4 2"),
];

/// The rules that give each colour its dark twin and references their dashes.
/// A browser without `light-dark()` shows charts in their light colours on the
/// light page it falls back to; dashes need no such guard but live beside.
pub(in crate::html) fn style() -> String {
    every().map(Colour::css).collect()
}

fn every() -> impl Iterator<Item = Colour> {
    let plain = [SURFACE, INK, MUTED, GRID, UNITY];
    plain.into_iter().chain(MEASURED).chain(REFERENCE)
}

const fn split(rgb: u32) -> [u8; 3] {
    let [_, red, green, blue] = rgb.to_be_bytes();
    [red, green, blue]
}

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2, "relative luminance").
    fn luminance(rgb: [u8; 3]) -> f64 {
        let [red, green, blue] = rgb.map(|channel| {
            let share = f64::from(channel) / 255.0;
            if share <= 0.04045 {
                share / 12.92
            } else {
                ((share + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn marks_and_words_stand_out_on_both_surfaces() {
        let marks = MEASURED.into_iter().chain(REFERENCE);
        let marks = marks.map(|colour| (colour, 3.0));
        let words = [(INK, 7.0), (MUTED, 4.5)];
        for (colour, least) in marks.chain(words) {
            for (mine, surface) in [(colour.light, SURFACE.light), (colour.dark, SURFACE.dark)] {
                assert!(contrast(mine, surface) >= least, "{} too faint", hex(mine));
            }
        }
    }

    #[test]
    fn the_style_sheet_can_tell_every_colour_from_the_others() {
        let mut lights: Vec<_> = every().map(|colour| colour.light).collect();
        lights.sort_unstable();
        let all = lights.len();
        lights.dedup();
        assert_eq!(lights.len(), all);
    }
}
