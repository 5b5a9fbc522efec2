#!/bin/sh
# Prints a Python that can carry the site: 3.11 or newer, with the means to make an environment.
# Versions the pinned packages were tried on come first, of one version the system's own: with one that a version
# manager compiled with its defaults our tests took a quarter longer. PYTHON=/path/to/python names one outright.
set -u

fits() {
    # A name on the path may be a shim that stands for nothing, so each one is asked.
    "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}

if [ -n "${PYTHON:-}" ]; then
    if fits "$PYTHON"; then echo "$PYTHON"; exit 0; fi
    echo "PYTHON=$PYTHON is not a Python 3.11 or newer with the modules venv and ensurepip." >&2
    exit 1
fi

for name in python3.11 python3.12 python3.13 python3.14 python3 python; do
    # All places on the path, since the first may be such a shim.
    IFS=:
    for folder in /usr/bin $PATH; do
        candidate="$folder/$name"
        if [ -x "$candidate" ] && fits "$candidate"; then echo "$candidate"; exit 0; fi
    done
    unset IFS
done

echo "No Python 3.11 or newer (with its modules venv and ensurepip) was found." >&2
echo "Install one (Debian: apt install python3 python3-venv), or name it: PYTHON=/path/to/python3 make run" >&2
exit 1
