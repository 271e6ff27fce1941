#!/usr/bin/env bash
# Writes the fixtures of crates/disk/tests anew, in a guest: what the kernel's dm-crypt
# makes of known text in every mode (kernel/answers.txt), and images that cryptsetup
# formats and the kernel writes to (images/). Salts and keys are random: images differ
# each time.
#
#   scripts/disk-fixtures.sh answers|images
#
# Needs cryptsetup (2.6.1: others have other defaults), dmsetup, a guest cache
# (make setup-guests) and a built lockgate in target/release.
set -euo pipefail

cd "$(dirname "$0")/.."
lockgate=$PWD/target/release/lockgate
fixtures=$PWD/crates/disk/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in cryptsetup dmsetup; do
    command -v "$program" >/dev/null || {
        echo "$program is missing: apt-get install cryptsetup-bin dmsetup" >&2
        exit 1
    }
done

guest() {
    local modules=()
    for module in dm-crypt brd aesni-intel ecb cbc ctr lrw pcbc xts essiv; do
        modules+=(--module "$module")
    done
    (cd "$work" && "$lockgate" vm run --limit 3600 "${modules[@]}" "$@")
}

# Byte i is i * $2 + i / $3 * $4 + $5, modulo 256.
pattern() {
    awk -v n="$1" -v a="$2" -v b="$3" -v c="$4" -v d="$5" \
        'BEGIN { for (i = 0; i < n; i++) printf "%02x", (i * a + int(i / b) * c + d) % 256 }' |
        xxd -r -p
}

answers() {
    pattern 16384 167 512 13 0 >"$work/text"
    pattern 64 73 64 0 11 | od -An -v -tx1 | tr -d ' \n' >"$work/key"
    for mode in ecb cbc ctr lrw pcbc xts; do
        case $mode in
        xts) sizes="256 384 512" ;;
        lrw) sizes="256 320 384" ;;
        *) sizes="128 192 256" ;;
        esac
        for iv in null plain plain64 plain64be benbi essiv:sha256; do
            for bits in $sizes; do
                for sectors in "512 0 0" "512 0 4294967289" "4096 0 8" "4096 1 8" "1024 0 2"; do
                    echo "aes-$mode-$iv $bits $sectors"
                done
            done
        done
    done >"$work/cases"
    cat >"$work/answers.sh" <<'EOF'
while read -r spec bits sector large offset; do
    options=
    case $sector$large in
    5120) ;;
    *0) options="1 sector_size:$sector" ;;
    *1) options="2 sector_size:$sector iv_large_sectors" ;;
    esac
    echo "0 32 crypt $spec $(head -c $((bits / 4)) key) $offset /dev/ram0 0 $options" |
        ./dmsetup --noudevrules --noudevsync create answers 2>/dev/null || continue
    dd if=text of=/dev/dm-0 bs=16384 count=1 conv=fsync 2>/dev/null
    ./dmsetup --noudevrules --noudevsync remove answers
    echo 3 >/proc/sys/vm/drop_caches
    sum=$(dd if=/dev/ram0 bs=16384 count=1 2>/dev/null | sha256sum | head -c 16)
    echo "answer $spec $bits $sector $large $offset $sum"
done <cases
uname -r | sed 's/^/release /'
EOF
    guest --file "$(command -v dmsetup)" --file text --file key --file cases answers.sh >"$work/all"
    {
        echo "# Linux $(sed -n 's/^release //p' "$work/all") dm-crypt over the script's text and key: spec, key bits,"
        echo "# sector bytes, iv_large_sectors, iv_offset, first 8 bytes of the ciphertext's SHA-256."
        sed -n 's/^answer //p' "$work/all"
    } >"$fixtures/kernel/answers.txt"
}

images() {
    local first='first passphrase' quiet=(-q --pbkdf-force-iterations)
    pattern 16384 31 4096 7 5 >"$work/text"
    cd "$work"
    printf %s "$first" >first
    printf 'second\nwith a newline' >second
    truncate -s 561152 luks1.img
    cryptsetup luksFormat --type luks1 "${quiet[@]}" 1000 --cipher aes-cbc-essiv:sha256 \
        --key-size 128 --hash sha256 --align-payload 8 luks1.img first
    truncate -s 589824 luks2.img
    cryptsetup luksFormat --type luks2 "${quiet[@]}" 4 --pbkdf argon2id --pbkdf-memory 32 \
        --pbkdf-parallel 1 --cipher aes-cbc-essiv:sha256 --key-size 128 --sector-size 4096 \
        --luks2-metadata-size 16k --luks2-keyslots-size 512k --offset 1088 --label small \
        --subsystem test --uuid 66666666-2222-3333-4444-555555555555 luks2.img first
    cryptsetup luksAddKey "${quiet[@]}" 1000 --key-file first --pbkdf pbkdf2 --hash sha512 \
        --key-slot 4 luks2.img second
    cryptsetup luksAddKey "${quiet[@]}" 1000 --unbound --key-size 128 --key-slot 2 \
        --pbkdf pbkdf2 --key-file second luks2.img second
    cryptsetup config --key-slot 4 --priority prefer luks2.img
    cryptsetup token add --key-description lockgate:test --token-id 3 luks2.img
    cat >images.sh <<'EOF'
set -e
export DM_DISABLE_UDEV=1
mkdir -p /run/cryptsetup /out
written() { # ram, image, text bytes, sectors of the image
    dd if=text of=/dev/dm-0 bs="$3" count=1 conv=fsync 2>/dev/null
    ./cryptsetup close --disable-locks data
    sync
    echo 3 >/proc/sys/vm/drop_caches
    dd if="/dev/ram$1" of="/out/$2" bs=512 count="$4" 2>/dev/null
}
for n in 1 2; do
    dd if=luks$n.img of=/dev/ram$n bs=4096 conv=fsync 2>/dev/null
    ./cryptsetup open --disable-locks --disable-keyring --key-file first /dev/ram$n data
    written $n luks$n.out 16384 $(($(stat -c %s luks$n.img) / 512))
done
./cryptsetup open --disable-locks --type plain --size 8 /dev/ram3 data <first
written 3 plain.out 4096 16
./cryptsetup open --disable-locks --type plain --cipher aes-xts-plain64 --key-size 512 \
    --hash sha512 --offset 8 --skip 1000 --sector-size 4096 --iv-large-sectors --size 8 \
    /dev/ram4 data <first
written 4 skipped.out 4096 16
EOF
    local fetched=()
    for name in luks1 luks2 plain skipped; do
        fetched+=(--get "/out/$name.out:$name.out")
    done
    guest --file "$(command -v cryptsetup)" --file text --file first --file luks1.img \
        --file luks2.img "${fetched[@]}" images.sh
    # Areas of key slots that are empty are random, and of no use here.
    dd if=/dev/zero of=luks1.out bs=1 seek=68096 count=460288 conv=notrunc 2>/dev/null
    for area in "96768 1536" "162304 1536" "227840 329216"; do
        # shellcheck disable=SC2086  # two words
        set -- $area
        dd if=/dev/zero of=luks2.out bs=1 seek="$1" count="$2" conv=notrunc 2>/dev/null
    done
    for name in luks1 luks2; do
        gzip -9nc "$name.out" >"$fixtures/images/$name.img.gz"
    done
    for name in plain skipped; do
        cp "$name.out" "$fixtures/images/$name.img"
    done
}

case ${1:-} in
answers | images) "$1" ;;
*)
    echo "usage: $0 answers|images" >&2
    exit 2
    ;;
esac
