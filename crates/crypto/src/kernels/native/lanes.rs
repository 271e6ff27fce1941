//! A register of AES blocks, side by side.

pub(crate) type Block = [u8; 16];

/// One register of [`Self::BLOCKS`] blocks. The code above is written once
/// for all widths and compiled for each inside a function that enables its
/// instructions; hence everything here and there is `inline(always)`.
///
/// # Safety
/// Of every function: the CPU has the instructions of the implementing type.
/// Addresses must be readable or writable for the bytes named; other parties
/// may change those bytes at any time.
pub(super) trait Lanes: Copy {
    const BLOCKS: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    /// Reads `count` blocks, 1 to `BLOCKS`, and no byte beyond.
    unsafe fn load_blocks(from: *const u8, count: usize) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// Writes `count` blocks, 1 to `BLOCKS`, and no byte beyond.
    unsafe fn store_blocks(self, to: *mut u8, count: usize);
    unsafe fn broadcast(block: *const Block) -> Self;
    unsafe fn xor(self, other: Self) -> Self;
    unsafe fn xor3(self, second: Self, third: Self) -> Self;
    unsafe fn encrypt_round(self, key: Self) -> Self;
    unsafe fn encrypt_last_round(self, key: Self) -> Self;
    /// With a key of the equivalent inverse cipher (FIPS 197 §5.3.5).
    unsafe fn decrypt_round(self, key: Self) -> Self;
    unsafe fn decrypt_last_round(self, key: Self) -> Self;
    /// The XTS tweak τ in block 0, τ·x in block 1, τ·x² in block 2 and so on.
    unsafe fn ramp(tweak: *const Block) -> Self;
    /// Each block times x to the power of `bits`, 1 to 56.
    unsafe fn times_x(self, bits: usize) -> Self;
    /// Each block times x to the power of 8·`BLOCKS`: how far eight registers
    /// reach, and a shift by whole bytes.
    unsafe fn times_x_of_eight(self) -> Self;
    /// Both 64-bit halves of each block as numbers, added.
    unsafe fn add_halves(self, other: Self) -> Self;
    unsafe fn reversed(self) -> Self;
    /// The last block of `before`, then all of `self` but its last block.
    unsafe fn preceded_by(self, before: Self) -> Self;
    /// Carry-less products of the lower 64-bit halves, of the upper ones, and of one's lower
    /// and the other's upper.
    unsafe fn low_low(self, other: Self) -> Self;
    unsafe fn high_high(self, other: Self) -> Self;
    unsafe fn low_high(self, other: Self) -> Self;
    /// The halves of each block exchanged.
    unsafe fn swapped(self) -> Self;
    /// All blocks xored into the first, the others zero.
    unsafe fn added(self) -> Self;
    /// The first block. What is written with a mask cannot be read back at once.
    unsafe fn first_block(self) -> Block;
    /// That block first, the others zero.
    unsafe fn zero_but_first(block: *const Block) -> Self;
    /// Reads 1 to 16·`BLOCKS` bytes, no byte beyond, and zeros behind them.
    unsafe fn load_bytes(from: *const u8, bytes: usize) -> Self;
    /// Writes that many bytes, and no byte beyond.
    unsafe fn store_bytes(self, to: *mut u8, bytes: usize);
    /// That many bytes, and zeros behind them.
    unsafe fn first_bytes(self, bytes: usize) -> Self;
    /// The same registers, of which the compiler must have the values here and
    /// may use the results only after here: where the order of instructions
    /// matters, and it would choose another.
    #[inline(always)]
    unsafe fn now(registers: [Self; 3]) -> [Self; 3] {
        registers
    }
    /// Reads `count` blocks, 1 to `BLOCKS`, of each of `BLOCKS` messages at
    /// `from[..]` + `offset`, and writes a register of the n-th blocks of all
    /// to `to[n * stride]`.
    unsafe fn gather(
        from: *const *const u8,
        offset: usize,
        count: usize,
        to: *mut Self,
        stride: usize,
    );
    unsafe fn scatter(
        from: *const Self,
        stride: usize,
        to: *const *mut u8,
        offset: usize,
        count: usize,
    );
}

/// A register of `bytes` bytes and zeros, by way of private memory.
///
/// # Safety
/// As for [`Lanes::load_bytes`].
#[inline(always)]
pub(super) unsafe fn load_part<V: Lanes>(from: *const u8, bytes: usize) -> V {
    let mut private = [0_u8; 64];
    // SAFETY: the caller's; a register has 64 bytes at most.
    unsafe {
        std::ptr::copy_nonoverlapping(from, private.as_mut_ptr(), bytes);
        V::load(private.as_ptr())
    }
}

/// # Safety
/// As for [`Lanes::store_bytes`].
#[inline(always)]
pub(super) unsafe fn store_part<V: Lanes>(register: V, to: *mut u8, bytes: usize) {
    let mut private = [0_u8; 64];
    // SAFETY: the caller's; a register has 64 bytes at most.
    unsafe {
        register.store(private.as_mut_ptr());
        std::ptr::copy_nonoverlapping(private.as_ptr(), to, bytes);
    }
}

/// # Safety
/// As for [`Lanes::first_bytes`].
#[inline(always)]
pub(super) unsafe fn first_part<V: Lanes>(register: V, bytes: usize) -> V {
    let mut private = [0_u8; 64];
    // SAFETY: the caller's; a register has 64 bytes at most.
    unsafe {
        register.store(private.as_mut_ptr());
        private[bytes..].fill(0);
        V::load(private.as_ptr())
    }
}

/// The instructions of a `Lanes` implementation, each a line.
macro_rules! operations {
    ($($(#[$note:meta])* fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? = $body:expr;)*) => {$(
        $(#[$note])*
        #[inline(always)]
        #[allow(unused_unsafe, reason = "one body is its argument")]
        unsafe fn $name($($argument: $type),*) $(-> $result)? {
            // SAFETY: the contract of `Lanes`: the instructions are there,
            // and addresses good for the bytes that the name tells.
            unsafe { $body }
        }
    )*};
}
pub(super) use operations;
