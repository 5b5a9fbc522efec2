#!/bin/sh
# Brings .venv to one of three levels: site, all (with the scorers that need models) or dev.
#
# What a requirement file leads to has the version that the lock says, so that a package published since
# changes nothing. What was installed is kept beside it, as the text of these files: the same text means
# nothing to do. While an installation runs a mark stands in the environment; where it is found at the
# start, the last installation was cut off, and the environment is made anew rather than trusted.
set -eu

cd "$(dirname "$0")/.."
level=${1:?site, all or dev}
venv=.venv
lock=requirements-dev.lock
mark=$venv/.unfinished

files_of() {
    case $1 in
        site) echo requirements-site.txt ;;
        all) echo requirements-site.txt requirements.txt ;;
        dev) echo requirements-site.txt requirements.txt requirements-dev.txt ;;
        *) echo "There is no level '$1'; there are site, all and dev." >&2; exit 2 ;;
    esac
}

text_of() { cat $(files_of "$1") $lock; }

stamp_of() { echo "$venv/.installed-$1"; }

is_current() {
    [ -f "$(stamp_of "$1")" ] && text_of "$1" | cmp -s - "$(stamp_of "$1")"
}

is_sound() {
    "$venv/bin/python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

make_venv() {
    python=$(sh scripts/find_python.sh)
    rm -rf "$venv"
    echo "Making the environment .venv with $python"
    "$python" -m venv "$venv" || {
        echo "The environment could not be made; the lines above say why." >&2
        rm -rf "$venv"
        exit 1
    }
}

pip() { "$venv/bin/python" -m pip "$@" --disable-pip-version-check; }

# uv takes a fifth of pip's time, and has the public index only: who has one of their own has told pip, and may
# have told it of a build of PyTorch without gigabytes, which only levels above the site need.
install_by_uv() {
    [ "$level" = site ] || return 1
    pip config list | grep -Eq '[.](index-url|no-index)=' && return 1
    pip install --quiet --no-compile --only-binary :all: --retries 0 uv -c $lock && "$venv/bin/uv" pip install \
        --quiet --no-config --no-compile-bytecode --python "$venv/bin/python" "$@"
}

install() {
    file=$(files_of "$level" | sed 's/.* //')
    echo "Installing $file; this takes a minute or a few, once."
    : > "$mark"
    # Where uv cannot, pip does it or says why not. Without a network pip speaks of versions that conflict,
    # and only uv names the server that it cannot reach.
    reason=$venv/.uv-said
    if ! install_by_uv -r "$file" -c $lock 2>"$reason" && ! pip install --quiet --no-compile -r "$file" -c $lock; then
        grep -v '^$' "$reason" | sed 's/^/uv: /' | tail -n 5 >&2
        echo "The packages of $file could not be installed; the lines above say why. Run the command again" >&2
        echo "when that is mended: it starts from a clean environment." >&2
        exit 1
    fi
    # What reads uploads writes no bytecode, and to tests a warning of the compiler is an error: all is compiled
    # here, tests and languages that nobody reads left out. A site starts meanwhile.
    set -- "$venv/bin/python" -m compileall -qq -j 0 -x '/tests/|/punkt/data/(?!english\.)' "$venv/lib"
    if [ "$level" = site ]; then nice "$@" >/dev/null 2>&1 & else "$@" || true; fi
    rm -f "$mark"
    # Each level holds the ones before it.
    for held in site all dev; do
        text_of "$held" > "$(stamp_of "$held")"
        [ "$held" = "$level" ] && break
    done
}

files_of "$level" > /dev/null
if [ -e "$mark" ]; then
    echo "The last installation was not finished; starting it anew."
    rm -rf "$venv"
fi
is_sound || make_venv
is_current "$level" || install
