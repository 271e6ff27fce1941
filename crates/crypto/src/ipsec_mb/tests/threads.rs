//! Many threads, each with a manager of its own.

use super::backend;
use crate::{
    Algorithm, Backend, Data, KeyMaterial, Kind, Operation, Slices, Status, process_slices,
};

#[test]
fn threads_come_and_go() {
    let Some(backend) = backend() else { return };
    for _ in 0..3 {
        std::thread::scope(|scope| {
            for thread in 0..8_u8 {
                let backend = &backend;
                scope.spawn(move || round_trips(&**backend, thread));
            }
        });
    }
}

fn round_trips(backend: &dyn Backend, thread: u8) {
    let algorithm = Algorithm::Aes128Cbc;
    let material = KeyMaterial::take(&mut [thread; 16]);
    let key = backend.key(algorithm, &material).unwrap();
    let text: Vec<u8> = (0..70_000 / 16 * 16).map(|at| at as u8 ^ thread).collect();
    for _ in 0..20 {
        let mut bytes = text.clone();
        for operation in [Operation::Encrypt, Operation::Decrypt] {
            let kind = Kind::new(algorithm, operation);
            let slices = Slices {
                iv: [thread; 16],
                aad: &[],
                data: Data::InPlace(&mut bytes),
                tag: &mut [],
            };
            assert_eq!(process_slices(backend, &*key, kind, slices), Status::Ok);
            assert_eq!(bytes == text, operation == Operation::Decrypt);
        }
    }
}
