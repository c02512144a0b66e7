# shellcheck shell=bash
# Shared functions of the scripts: headings, packages, the compiler. Sourced, not run.

# The options of the build that tests and checks share. With the trait TLS, so that its code is compiled and tested as well
# (docs/decisions/0004-tls-is-a-trait.md); without information for debuggers, which would lengthen the build by a seventh.
# shellcheck disable=SC2034
welkin_test_options=(--traits TLS --explicit-target-dependency-import-check error -debug-info-format none)

welkin_heading() {
    printf '\n\033[1m== %s\033[0m\n' "$1"
}

welkin_fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

# Installs those of the named Debian packages that are missing.
welkin_install() {
    local missing=() package
    command -v dpkg-query >/dev/null 2>&1 ||
        welkin_fail "this system has no apt; install by hand what corresponds to: $*"
    for package in "$@"; do
        dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
    done
    [[ ${#missing[@]} -gt 0 ]] || return 0

    welkin_heading "Install ${missing[*]}"
    local root=()
    if [[ $(id -u) -ne 0 ]]; then
        command -v sudo >/dev/null 2>&1 ||
            welkin_fail "missing packages and no sudo; as root run: apt-get install ${missing[*]}"
        root=(sudo)
    fi
    "${root[@]}" apt-get update -qq
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}

# Installs the packages that a build needs besides Swift.
welkin_install_libraries() {
    welkin_install libsqlite3-dev libpq-dev pkg-config
    # Any variant of libcurl suffices, and they exclude each other.
    pkg-config --exists libcurl || welkin_install libcurl4-openssl-dev
}

welkin_require_swift() {
    command -v swift >/dev/null 2>&1 ||
        welkin_fail "Swift 6.2 or newer is needed: https://www.swift.org/install/linux"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1)
    read -r major minor <<<"${version:-0 0}"
    if (( major < 6 || (major == 6 && minor < 2) )); then
        welkin_fail "Swift 6.2 or newer is needed, this is ${major}.${minor}: https://www.swift.org/install/linux"
    fi
}

# Builds with the given arguments of `swift build`: its progress stays on one line of a terminal, warnings about other packages are left out.
welkin_build() {
    local line status=0
    set +e
    swift build "$@" 2>&1 | while IFS= read -r line; do
        case $line in
            "warning: '"*) ;;
            "["*"] "* | "Building for "* | "Build complete"* | "Compiling "* | "Planning "*)
                [[ ! -t 1 ]] || printf '\r\033[2K%.*s' "$(($(tput cols 2>/dev/null || echo 80) - 1))" "$line"
                ;;
            *)
                [[ ! -t 1 ]] || printf '\r\033[2K'
                printf '%s\n' "$line"
                ;;
        esac
    done
    status=${PIPESTATUS[0]}
    set -e
    [[ ! -t 1 ]] || printf '\r\033[2K'
    return "$status"
}
