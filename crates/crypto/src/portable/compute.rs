//! One job: copy in, compute, copy out.

#![allow(unsafe_code, reason = "copies raw segments in and out")]

use hmac::Mac;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use zeroize::Zeroizing;

use super::key::{Aes, Context, PortableKey};
use super::{cipher, public_key};
use crate::scatter::{Cursor, wipe};
use crate::work::Work;
use crate::{Operation, Segment, Status};

pub(super) type Private = Zeroizing<Vec<u8>>;

/// Private copies of a job's inputs, which no other party can change.
struct Input<'w> {
    encrypt: bool,
    operation: Operation,
    iv: &'w [u8; 16],
    aad: Private,
    text: Private,
    tag: Private,
    result_bytes: usize,
}

/// A job's results; none of what is not written.
struct Output {
    text: Private,
    tag: Private,
}

impl Output {
    fn text(text: Private) -> Self {
        let tag = Private::default();
        Self { text, tag }
    }

    fn tag(tag: Private) -> Self {
        let text = Private::default();
        Self { text, tag }
    }
}

/// Runs one job.
///
/// # Safety
/// The segments of `work` are readable, those that the operation writes
/// writable; `work` has passed the checks for the key's algorithm.
pub(super) unsafe fn run(key: &PortableKey, operation: Operation, work: &Work<'_>) -> Status {
    // SAFETY: the caller vouches for every segment.
    let input = unsafe { input(operation, work) };
    match compute(&key.context, input) {
        Ok(output) => {
            // SAFETY: the caller vouches for the destination, and for the tag
            // where one is written; the checks gave them these lengths.
            unsafe {
                put(&output.text, work.destination);
                put(&output.tag, &[work.tag]);
            }
            Status::Ok
        }
        Err(Status::Unsupported) => Status::Unsupported,
        Err(status) => {
            // SAFETY: the caller vouches for the destination.
            unsafe { wipe(work.destination) };
            status
        }
    }
}

/// # Safety
/// As for [`run`].
unsafe fn input<'w>(operation: Operation, work: &'w Work<'_>) -> Input<'w> {
    let reads_tag = matches!(operation, Operation::Decrypt | Operation::Verify);
    let tag_bytes = if reads_tag { work.tag.len } else { 0 };
    // SAFETY: forwarded from the caller.
    let [text, aad, tag] = unsafe {
        [
            copied(work.source, work.source_bytes),
            copied(&[work.aad], work.aad.len),
            copied(&[work.tag], tag_bytes),
        ]
    };
    Input {
        encrypt: operation == Operation::Encrypt,
        operation,
        iv: work.iv,
        aad,
        text,
        tag,
        result_bytes: work.destination.iter().map(|segment| segment.len).sum(),
    }
}

/// # Safety
/// The list is readable and holds `bytes`.
unsafe fn copied(list: &[Segment], bytes: usize) -> Private {
    let mut private = Zeroizing::new(vec![0; bytes]);
    // SAFETY: forwarded from the caller; the vector has room.
    unsafe { Cursor::new(list).gather(private.as_mut_ptr(), bytes) };
    private
}

/// # Safety
/// The list is writable and holds as many bytes as `private`.
unsafe fn put(private: &[u8], list: &[Segment]) {
    // SAFETY: forwarded from the caller.
    unsafe { Cursor::new(list).scatter(private.as_ptr(), private.len()) };
}

fn compute(context: &Context, mut input: Input<'_>) -> Result<Output, Status> {
    let (encrypt, iv) = (input.encrypt, input.iv);
    match context {
        Context::Ecb(aes) => with(aes, Mode::Ecb, &mut input),
        Context::Cbc(aes) => with(aes, Mode::Cbc, &mut input),
        Context::Ctr(aes) => with(aes, Mode::Ctr, &mut input),
        Context::Xts128(cipher) if encrypt => {
            cipher.encrypt_sector(&mut input.text, (*iv).into());
        }
        Context::Xts128(cipher) => cipher.decrypt_sector(&mut input.text, (*iv).into()),
        Context::Xts256(cipher) if encrypt => {
            cipher.encrypt_sector(&mut input.text, (*iv).into());
        }
        Context::Xts256(cipher) => cipher.decrypt_sector(&mut input.text, (*iv).into()),
        Context::Gcm128(cipher) => return aead(&**cipher, input),
        Context::Gcm192(cipher) => return aead(&**cipher, input),
        Context::Gcm256(cipher) => return aead(&**cipher, input),
        Context::ChaCha20Poly1305(cipher) => return aead(&**cipher, input),
        Context::Sha1 => input.text = digest::<Sha1>(&input.text),
        Context::Sha256 => input.text = digest::<Sha256>(&input.text),
        Context::Sha384 => input.text = digest::<Sha384>(&input.text),
        Context::Sha512 => input.text = digest::<Sha512>(&input.text),
        Context::Hmac(keyed) => {
            let code = (**keyed).clone().chain_update(&*input.text).finalize();
            input.text = code.into_bytes().to_vec().into();
        }
        Context::X25519(own) => input.text = super::agreement::x25519(own, &input.text)?,
        Context::Ffdh(own) => input.text = own.derive(&input.text)?,
        Context::Rsa(..) | Context::Ecdsa(_) => return with_public_key(context, &input),
    }
    Ok(Output::text(input.text))
}

fn digest<D: Digest>(message: &[u8]) -> Private {
    D::digest(message).to_vec().into()
}

/// A mode without a tag.
#[derive(Clone, Copy)]
enum Mode {
    Ecb,
    Cbc,
    Ctr,
}

fn with(aes: &Aes, mode: Mode, input: &mut Input<'_>) {
    match aes {
        Aes::Of128(cipher) => in_mode(&**cipher, mode, input),
        Aes::Of192(cipher) => in_mode(&**cipher, mode, input),
        Aes::Of256(cipher) => in_mode(&**cipher, mode, input),
    }
}

fn in_mode(of: &impl cipher::Cipher, mode: Mode, input: &mut Input<'_>) {
    match mode {
        Mode::Ecb => cipher::ecb(of, input.encrypt, &mut input.text),
        Mode::Cbc => cipher::cbc(of, input.encrypt, input.iv, &mut input.text),
        Mode::Ctr => cipher::ctr(of, input.iv, &mut input.text),
    }
}

fn aead<A>(cipher: &A, mut input: Input<'_>) -> Result<Output, Status>
where
    A: aes_gcm::AeadInOut<NonceSize = aes::cipher::consts::U12, TagSize = aes::cipher::consts::U16>,
{
    if input.encrypt {
        let tag = cipher::seal(cipher, input.iv, &input.aad, &mut input.text)?;
        let text = input.text;
        return Ok(Output { text, tag });
    }
    cipher::open(cipher, input.iv, &input.aad, &mut input.text, &input.tag)?;
    Ok(Output::text(input.text))
}

fn with_public_key(context: &Context, input: &Input<'_>) -> Result<Output, Status> {
    let (text, tag) = (&input.text, &input.tag);
    match (context, input.operation) {
        (Context::Ecdsa(key), Operation::Sign) => {
            public_key::sign_ecdsa(key.private()?, text).map(Output::tag)
        }
        (Context::Ecdsa(key), _) => public_key::verify_ecdsa(&key.public, text, tag)
            .map(|()| Output::text(Private::default())),
        (Context::Rsa(scheme, key), Operation::Sign) => {
            public_key::sign(key.private()?, *scheme, text).map(Output::tag)
        }
        (Context::Rsa(scheme, key), Operation::Verify) => {
            public_key::verify(&key.public, *scheme, text, tag)
                .map(|()| Output::text(Private::default()))
        }
        (Context::Rsa(scheme, key), Operation::Encrypt) => {
            public_key::encrypt(&key.public, *scheme, text).map(Output::text)
        }
        (Context::Rsa(scheme, key), _) => {
            public_key::decrypt(key.private()?, *scheme, text, input.result_bytes).map(Output::text)
        }
        _ => Err(Status::Unsupported),
    }
}
