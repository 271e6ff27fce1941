use super::*;
#[test]
fn t() {
    let start = std::time::Instant::now();
    let b = opened().unwrap();
    eprintln!("{:?} {} {}", start.elapsed(), b.version(), b.instructions());
    for r in &b.refused {
        eprintln!("{r}");
    }
    for s in &b.supported {
        eprintln!("ok {} {}", s.algorithm, s.operation);
    }
}
