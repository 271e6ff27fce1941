//! The little that charts and legends need of a drawing area: words, lines
//! and marks, in whole pixels.

use plotters::coord::Shift;
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::{
    Circle, DrawingArea, IntoDrawingArea, IntoFont, PathElement, Polygon, Rectangle, SVGBackend,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, TextStyle};

use super::palette::{Colour, SURFACE};
use sys::plain::one_line;

pub(super) type Failure = DrawingAreaErrorKind<std::io::Error>;

pub(super) type Pixel = (i32, i32);

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Height of letters in pixels of the drawing.
pub(super) const TEXT_PX: i32 = 13;

/// The shapes of marks: a second sign beside colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    Inverted,
    Cross,
    Upright,
}

pub(super) const SHAPES: [Shape; 7] = [
    Shape::Circle,
    Shape::Square,
    Shape::Triangle,
    Shape::Diamond,
    Shape::Inverted,
    Shape::Cross,
    Shape::Upright,
];

pub(super) fn drawing(
    (width, height): (u32, u32),
    draw: impl FnOnce(&Area<'_>) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width, height)).into_drawing_area();
        draw(&area)?;
        area.present()?;
    }
    Ok(svg)
}

pub(super) fn text_style(colour: Colour, h_pos: HPos, v_pos: VPos) -> TextStyle<'static> {
    // The SVG back-end divides sizes by 1.24.
    ("sans-serif", f64::from(TEXT_PX) * 1.24)
        .into_font()
        .color(&colour.ink())
        .pos(Pos::new(h_pos, v_pos))
}

pub(super) fn words(
    area: &Area<'_>,
    text: &str,
    at: Pixel,
    colour: Colour,
    h_pos: HPos,
) -> Result<(), Failure> {
    area.draw_text(
        &one_line(text),
        &text_style(colour, h_pos, VPos::Center),
        at,
    )
}

pub(super) fn line(
    area: &Area<'_>,
    places: Vec<Pixel>,
    colour: Colour,
    width: u32,
) -> Result<(), Failure> {
    area.draw(&PathElement::new(places, colour.ink().stroke_width(width)))
}

pub(super) fn bar(area: &Area<'_>, from: Pixel, to: Pixel, colour: Colour) -> Result<(), Failure> {
    area.draw(&Rectangle::new([from, to], colour.ink().filled()))
}

/// A mark; hollow ones are rings, so that dashes cannot cut their outline.
pub(super) fn mark(
    area: &Area<'_>,
    at: Pixel,
    shape: Shape,
    colour: Colour,
    hollow: bool,
) -> Result<(), Failure> {
    if !hollow {
        return solid(area, at, shape, colour, 4);
    }
    solid(area, at, shape, colour, 5)?;
    solid(area, at, shape, SURFACE, 3)
}

fn solid(
    area: &Area<'_>,
    (x, y): Pixel,
    shape: Shape,
    colour: Colour,
    radius: i32,
) -> Result<(), Failure> {
    let style = colour.ink().filled();
    let r = radius;
    let corners: &[Pixel] = match shape {
        Shape::Circle => return area.draw(&Circle::new((x, y), radius, style)),
        Shape::Square => &[(-r, -r), (r, -r), (r, r), (-r, r)],
        Shape::Triangle => &[(0, -r - 1), (r + 1, r), (-r - 1, r)],
        Shape::Diamond => &[(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)],
        Shape::Inverted => &[(0, r + 1), (r + 1, -r), (-r - 1, -r)],
        Shape::Cross => &cross(r),
        Shape::Upright => &[
            (1 - r, -r - 2),
            (r - 1, -r - 2),
            (r - 1, r + 2),
            (1 - r, r + 2),
        ],
    };
    let places: Vec<Pixel> = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
    area.draw(&Polygon::new(places, style))
}

fn cross(r: i32) -> [Pixel; 12] {
    let (long, thin) = (r + 1, r - 2);
    [
        (-thin, -long),
        (thin, -long),
        (thin, -thin),
        (long, -thin),
        (long, thin),
        (thin, thin),
        (thin, long),
        (-thin, long),
        (-thin, thin),
        (-long, thin),
        (-long, -thin),
        (-thin, -thin),
    ]
}

/// Approximate width of words, in pixels, rounded up: without fonts it is not known
/// exactly.
pub(super) fn width_px(text: &str) -> i32 {
    let ems: f64 = text
        .chars()
        .map(|c| if c.is_ascii() { 0.58 } else { 1.0 })
        .sum();
    (ems * f64::from(TEXT_PX)).ceil() as i32
}
