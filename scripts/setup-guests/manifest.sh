# shellcheck shell=sh
# manifest.json: what readers of the cache go by. Written last, in one rename.
# shellcheck disable=SC2154 # $cache and $work are set by setup-guests.sh

# Joins lines by commas.
joined() { sed '$!s/$/,/'; }

package_lines() {
    cat "$cache"/.parts/* 2>/dev/null | sed -n 's/^package //p' | sort -u |
        sed 's/^\([^ ]*\) \([^ ]*\) \([^ ]*\)$/    {"name": "\1", "version": "\2", "sha256": "\3"}/' | joined
}

kernel_line() {
    kspeed=null
    if [ -f "$cache/kernels/$1/lockgate_kspeed.ko" ]; then kspeed="\"kernels/$1/lockgate_kspeed.ko\""; fi
    printf '    {"release": "%s", "version": "%s", "image": "kernels/%s/vmlinuz", "modules": "kernels/%s/modules", "config": "kernels/%s/config", "headers": "%s", "kspeed": %s, "kspeed_source_sha256": %s}\n' \
        "$1" "$2" "$1" "$1" "$1" "$(headers_of "$1")" "$kspeed" \
        "$(sed 's/.*/"&"/' "$cache/kernels/$1/.kspeed-source" 2>/dev/null || echo null)"
}

kernel_lines() {
    for part in kernel-bookworm kernel-backports; do
        has_part "$part" || continue
        # shellcheck disable=SC2046 # release and version
        kernel_line $(part_values "$part" kernel)
    done | joined
}

qemu_lines() {
    has_part qemu-backports || return 0
    part_values qemu-backports qemu |
        sed 's/^\([^ ]*\) \(.*\)$/    {"program": "\1", "version": "\2"}/' | joined
}

manifest_text() {
    cat <<TEXT
{
  "schema": 1,
  "mirror": "$(part_values mirror mirror)",
  "packages": [
$(package_lines)
  ],
  "kernels": [
$(kernel_lines)
  ],
  "busybox": "busybox/busybox",
  "busybox_version": "$(part_values busybox busybox)",
  "qemus": [
$(qemu_lines)
  ]
}
TEXT
}

write_manifest() {
    if [ -n "${mirror:-}" ]; then echo "mirror $mirror" >"$cache/.parts/mirror"; fi
    manifest_text >"$work/manifest.json"
    cmp -s "$work/manifest.json" "$cache/manifest.json" || mv "$work/manifest.json" "$cache/manifest.json"
}

# Removes the downloads and folders that no part has any more.
remove_leftovers() {
    for folder in "$cache"/kernels/* "$cache"/headers/* "$cache"/qemus/*; do
        [ -d "$folder" ] || continue
        grep -qxF "folder ${folder#"$cache"/}" "$cache"/.parts/* || rm -rf "$folder"
    done
    rm -rf "$work"
}
