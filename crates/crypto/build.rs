//! Tells the crate how AWS-LC's symbols begin: what the library chose on this
//! CPU is in a variable that its bindings leave out.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Of the library's own build script: "aws_lc_0_47_0_crypto", or "crypto"
    // when it is built without a prefix.
    let library = std::env::vars()
        .find(|(name, _)| name.starts_with("DEP_AWS_LC_") && name.ends_with("_LIBCRYPTO"))
        .map(|(_, library)| library)
        .expect("aws-lc-sys names its library to those who depend on it");
    let prefix = library
        .strip_suffix("crypto")
        .expect("the library's name ends so");
    println!("cargo:rustc-env=AWS_LC_PREFIX={prefix}");
}
