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

install() {
    file=$(files_of "$level" | sed 's/.* //')
    echo "Installing $file; this takes a minute or a few, once."
    : > "$mark"
    # A site compiles what it imports when it does; most of what packages bring it never does. To tests a
    # warning of the compiler is an error, so that they find everything compiled.
    if ! "$venv/bin/python" -m pip install --quiet --no-compile --disable-pip-version-check -r "$file" -c $lock; then
        echo "The packages of $file could not be installed; the lines above say why. Run the command again" >&2
        echo "when that is mended: it starts from a clean environment." >&2
        exit 1
    fi
    [ "$level" = site ] || "$venv/bin/python" -m compileall -qq -j 0 "$venv/lib" || true
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
