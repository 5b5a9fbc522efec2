#!/bin/sh
# Prints the images that the Dockerfile and compose.yaml begin with, each by the digest that its registry gives now, as
# lines for the file .env beside compose.yaml, which then replace those of deploy/pins.toml:
#   sh scripts/pin_images.sh >> .env
# Asks by whichever of docker, crane and skopeo is there. An image whose registry does not answer is named on
# standard error, its line is left out, and the exit code is 1.
set -eu

cd "$(dirname "$0")/.."

digest_of() {
    if command -v docker > /dev/null; then
        docker buildx imagetools inspect "$1" --format '{{.Manifest.Digest}}'
    elif command -v crane > /dev/null; then
        crane digest "$1"
    elif command -v skopeo > /dev/null; then
        skopeo inspect --no-tags --format '{{.Digest}}' "docker://$1"
    else
        echo "There is no docker, crane or skopeo to ask a registry with." >&2
        exit 2
    fi
}

# NAME=IMAGE: the Dockerfile's own default, then what compose.yaml says as ${NAME:-IMAGE}.
images() {
    sed -n 's/^ARG BASE=\(.*\)$/CITEBOARD_BASE=\1/p' Dockerfile
    sed -n 's/^ *image: ${\([A-Z0-9_]*_IMAGE\):-\([^}]*\)}$/\1=\2/p' compose.yaml | sort -u
}

missing=0
for line in $(images); do
    name=${line%%=*}
    image=${line#*=}
    image=${image%@*}
    if digest=$(digest_of "$image") && [ "${digest#sha256:}" != "$digest" ]; then
        echo "$name=$image@$digest"
    else
        echo "No digest of $image: its registry does not answer." >&2
        missing=1
    fi
done
exit $missing
