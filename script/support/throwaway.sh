# shellcheck shell=bash
# A temporary cloud for the sourcing script, and its users. Sourced, not run; needs the variable `programs`.
# A script that uses another cloud on this machine sets welkin_endpoint and welkin_data instead of starting one.

welkin_scratch=$(mktemp -d "${TMPDIR:-/tmp}/welkin-demo.XXXXXX")
welkin_data=$welkin_scratch/data
welkin_cloud=
welkin_endpoint=

welkin_clean_up() {
    welkin_stop_cloud
    rm -rf "$welkin_scratch"
}
trap welkin_clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Starts the cloud on its former port or a free one; sets welkin_endpoint.
welkin_start_cloud() {
    local port=${welkin_endpoint##*:} log=$welkin_scratch/serve.log started
    started=$(grep -cs '^listening on ' "$log" || true)
    "$programs/welkin" serve --data "$welkin_data" --port "${port:-0}" --log-level warning >>"$log" 2>&1 &
    welkin_cloud=$!
    for _ in {1..300}; do
        # The log may not exist yet: nothing counts as 0.
        if [[ $(grep -cs '^listening on ' "$log") -gt ${started:-0} ]]; then
            welkin_endpoint=$(sed -n 's/^listening on //p' "$log" | tail -n 1)
            return
        fi
        kill -0 "$welkin_cloud" 2>/dev/null || break
        sleep 0.1
    done
    welkin_fail "the cloud does not start: $(tail -n 5 "$log")"
}

# Stops the cloud and waits until it has ended.
welkin_stop_cloud() {
    [[ -n $welkin_cloud ]] || return 0
    kill "$welkin_cloud" 2>/dev/null || true
    wait "$welkin_cloud" 2>/dev/null || true
    welkin_cloud=
}

# Prints the cloud's errors and warnings, if any.
welkin_print_cloud_log() {
    grep -qs '^[0-9-]*T' "$welkin_scratch/serve.log" || return 0
    printf '\nLog of the cloud:\n' >&2
    grep '^[0-9-]*T' "$welkin_scratch/serve.log" | tail -n 20 >&2
}

# Creates an account and signs in the named devices: welkin_sign_in CONTAINER EMAIL PROFILE…
welkin_sign_in() {
    local container=$1 email=$2 profile options=()
    shift 2
    for profile in "$@"; do options+=(--profile "$profile"); done
    # Keeps the credentials and files of the demonstration's devices apart from the user's.
    export XDG_DATA_HOME=$welkin_scratch/share XDG_CACHE_HOME=$welkin_scratch/cache
    "$programs/welkin" quickstart --data "$welkin_data" --endpoint "$welkin_endpoint" --container "$container" \
        --email "$email" "${options[@]}" >"$welkin_scratch/environment" 2>"$welkin_scratch/account" ||
        welkin_fail "$(cat "$welkin_scratch/account")"
    printf '   %s on %s\n' "$email" "$*"
    # shellcheck source=/dev/null
    source "$welkin_scratch/environment"
}
