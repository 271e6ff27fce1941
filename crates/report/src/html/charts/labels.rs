//! Where the names of series stand: at the ends of their lines, or in a
//! legend below where they do not fit.

use trial::Series;

use super::canvas::{TEXT_PX, width_px};
use sys::plain::one_line;

const LINE_PX: i32 = TEXT_PX + 3;
const WIDTH_PX_MAX: i32 = 190;

/// The pixels that names at line ends need, or `None` where they would not fit in
/// `height_px` or would leave too little room for the lines.
pub(super) fn width(series: &[Series], height_px: i32) -> Option<i32> {
    let widest = series
        .iter()
        .map(|series| width_px(&one_line(&series.name)))
        .max()?;
    let count = i32::try_from(series.len()).ok()?;
    let fits = widest <= WIDTH_PX_MAX && count.checked_mul(LINE_PX)? <= height_px;
    fits.then_some(widest)
}

/// Moves names apart until none overlaps another, as little as it can, within
/// `top..=bottom`. Gives a height for each of `wanted`, in their order.
pub(super) fn spread(wanted: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by_key(|index| wanted[*index]);
    let mut heights = wanted.to_vec();
    let mut least = top;
    for index in &order {
        heights[*index] = heights[*index].max(least);
        least = heights[*index] + LINE_PX;
    }
    let mut most = bottom;
    for index in order.iter().rev() {
        heights[*index] = heights[*index].min(most);
        most = heights[*index] - LINE_PX;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_touch_stay() {
        assert_eq!(spread(&[200, 10, 100], 0, 300), [200, 10, 100]);
    }

    #[test]
    fn names_never_overlap_nor_leave_the_plot() {
        for wanted in [vec![5; 8], vec![300; 8], vec![290, 0, 291, 150, 151, 292]] {
            let mut heights = spread(&wanted, 0, 300);
            heights.sort_unstable();
            let is_inside = heights.iter().all(|height| (0..=300).contains(height));
            let mut pairs = heights.windows(2);
            let is_apart = pairs.all(|pair| pair[1] - pair[0] >= LINE_PX);
            assert!(is_inside && is_apart, "{heights:?}");
        }
    }

    #[test]
    fn many_or_long_names_go_to_the_legend() {
        let series = |name: &str| Series::measured(name, Vec::new());
        assert!(width(&[series("async"), series("sync")], 300).is_some());
        assert!(width(&vec![series("a"); 40], 300).is_none());
        assert!(width(&[series(&"long ".repeat(20))], 300).is_none());
        assert!(width(&[], 300).is_none());
    }
}
