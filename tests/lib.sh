# Sourced by tests/run and tests/demo.

say() { printf '\n== %s\n' "$*"; }

# need_packages WHO: installs what tests/packages lists for WHO (demo, run) and this machine lacks.
need_packages() {
    local package only missing=() sudo=()
    while read -r package only; do
        [[ -z $package || $package == \#* ]] && continue
        [[ -n $only && $only != "$1" ]] && continue
        [[ $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) == 'install ok installed' ]] || missing+=("$package")
    done <"$ROOT/tests/packages"
    if ((${#missing[@]} == 0)); then
        say "All Debian packages are there"
        return 0
    fi
    if ((EUID != 0)); then
        if ! sudo -n true 2>/dev/null; then
            echo "These Debian packages are missing, and installing them takes root or sudo without a password:" >&2
            echo "    apt-get install ${missing[*]}" >&2
            exit 2
        fi
        sudo=(sudo -n)
    fi
    say "Installing ${missing[*]}"
    "${sudo[@]}" apt-get update -q || { echo "apt-get update failed" >&2; exit 2; }
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" ||
        { echo "apt-get could not install ${missing[*]}" >&2; exit 2; }
}
