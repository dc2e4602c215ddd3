#!/usr/bin/env bash
# Tests the shell scripts on a copy of them, in a path with spaces, where every program that they
# call is a stub: nothing is installed, configured or built.
#
#   tests/scripts/test_scripts.sh SOURCE_DIR
# shellcheck disable=SC2016 # a stub expands its own variables
set -euo pipefail
source_dir=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree="$work/a clone of attnbench"
bin=$work/bin
have=$work/have # a file for each library or package that the machine is said to have
calls=$work/calls
failures=0

# stub NAME: a program that runs the script on standard input.
stub() {
    { printf '#!/bin/bash\n' && cat; } >"$bin/$1"
    chmod +x "$bin/$1"
}

# A complete machine, and user 1000; kept as a model of the next ones.
make_machine() {
    local program
    mkdir -p "$tree/build/release" "$bin" "$have" "$work/model"
    cp -R "$source_dir/scripts" "$tree/"
    find "$tree" -name __pycache__ -exec rm -r {} +
    for program in bash env dirname cat sed sort mkdir date uname cp cmp touch rm; do
        ln -s "$(type -P "$program")" "$bin/$program"
    done
    touch "$have/"{hwloc,jansson,libmd,libxxhash,cmocka,mpi-c,libopenblas-openmp-dev}
    stub id <<<"echo 1000"
    stub gcc <<<'[[ $1 != -dumpfullversion ]] || echo 12.2.0'
    stub cmake <<<"if [[ \$1 == --version ]]; then echo 'cmake version 3.25.1'; else
        echo cmake \"\$@\" >>'$calls'; echo noise of a build; fi"
    stub ninja <<<''
    stub mpiexec <<<''
    stub fish <<<''
    stub man <<<''
    stub mandoc <<<''
    stub zsh <<<''
    stub python3 <<<''
    stub pkg-config <<<"[[ -e '$have'/\$2 ]]"
    stub dpkg-query <<<"[[ ! -e '$have'/\$4 ]] || echo install ok installed"
    stub apt-get <<<"echo apt-get \"\$@\" >>'$calls'"
    stub ctest <<<"printf '<%s>' ctest \"\$@\" >>'$calls'; [[ \$2 != \${CTEST_FAILS:-} ]] || exit 8"
    cat >"$tree/build/release/attnbench" <<'STUB'
#!/bin/bash
echo "cwd=$PWD"
printf 'arg=%s\n' "$@"
exit "${ATTNBENCH_EXIT:-0}"
STUB
    chmod +x "$tree/build/release/attnbench"
    cp -R -P "$tree" "$bin" "$have" "$work/model"
}

fresh_machine() {
    rm -rf "$tree" "$bin" "$have" "$calls"
    cp -R -P "$work/model/." "$work"
}

# run COMMAND...: sets status, out, err and log (the calls of stubs).
run() {
    status=0
    env -u CC PATH="$bin" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    out=$(<"$work/out")
    err=$(<"$work/err")
    log=$(cat "$calls" 2>/dev/null || true)
}

fail() {
    printf 'FAILED: %s: %s\n--- stdout\n%s\n--- stderr\n%s\n--- calls\n%s\n' \
        "$current" "$1" "$out" "$err" "$log"
    failures=$((failures + 1))
}
status_is() { [[ $status == "$1" ]] || fail "exit code $status, not $1"; }
is() { [[ $2 == "$3" ]] || fail "$1 is '$2', not '$3'"; }
has() { [[ $2 == *"$3"* ]] || fail "$1 lacks '$3'"; }
lacks() { [[ $2 != *"$3"* ]] || fail "$1 has '$3'"; }

test_setup_is_silent_when_all_is_there() {
    run "$tree/scripts/setup"
    status_is 0
    is output "$out$err$log" ''
}

# Nothing may be installed or built for a page of help, nor may any package be there.
test_help_prints_at_once() {
    local script
    rm -rf "$have" "$bin/python3" "$bin/ninja"
    for script in bench build setup test compare explain gate history report export plot icount bisect capsule capture fleet/submit \
        fleet/node dev/lint dev/fuzz dev/races dev/gate-trials dev/gate-replay dev/mutate dev/studies/networks; do
        for option in --help -h; do
            rm -f "$calls"
            run "$tree/scripts/$script" "$option"
            is "$script $option: calls" "$log" ''
            is "$script $option: errors" "$err" ''
            has "$script $option: page" "$out" "$script"
            status_is 0
        done
    done
    run "$tree/scripts/gate" --base a --new b --help
    has page "$out" 'Exit codes: 0 no regression'
    has page "$out" 'scripts/setup --python tools'
}

test_setup_without_root_prints_the_line() {
    rm "$bin/ninja" "$bin/python3" "$have/hwloc" "$have/libopenblas-openmp-dev"
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" \
        'apt-get install --no-install-recommends ninja-build libhwloc-dev libopenblas-openmp-dev python3'
    is calls "$log" ''
}

test_setup_without_a_compiler() {
    rm "$bin/gcc"
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'apt-get install --no-install-recommends gcc libc6-dev'
}

test_setup_as_root_installs_what_is_missing() {
    rm "$have/jansson"
    stub id <<<'echo 0'
    stub apt-get <<<"echo apt-get \"\$@\" >>'$calls'; touch '$have/jansson'"
    run "$tree/scripts/setup"
    status_is 0
    has calls "$log" 'install --no-install-recommends libjansson-dev'
    lacks calls "$log" libhwloc-dev
    is stdout "$out" ''
}

test_setup_goes_through_sudo() {
    rm "$have/cmocka"
    stub sudo <<<"[[ \$1 != -n ]] || exit 0; echo sudo >>'$calls'; touch '$have/cmocka'; \"\$@\""
    run "$tree/scripts/setup"
    status_is 0
    has calls "$log" $'sudo\napt-get'
    has calls "$log" 'install --no-install-recommends libcmocka-dev'
}

test_setup_installs_without_a_package_list() {
    rm "$have/jansson"
    stub id <<<'echo 0'
    stub apt-get <<<"[[ \$* != *update* ]] || exit 100; touch '$have/jansson'"
    run "$tree/scripts/setup"
    status_is 0
}

test_setup_says_that_apt_failed() {
    rm "$have/jansson"
    stub id <<<'echo 0'
    stub apt-get <<<'[[ $* == *update* ]] || exit 100'
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'apt-get failed'
}

test_setup_looks_again_after_installing() {
    rm "$have/jansson"
    stub id <<<'echo 0'
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'still not usable: libjansson-dev'
}

test_setup_without_apt() {
    rm "$bin/ninja" "$bin/apt-get"
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'missing: ninja-build (Debian'
    lacks stderr "$err" 'command not found'
}

test_setup_takes_any_openblas_off_debian() {
    rm "$bin/dpkg-query" "$bin/apt-get" "$have/libopenblas-openmp-dev"
    touch "$have/openblas"
    run "$tree/scripts/setup"
    status_is 0
}

test_setup_refuses_old_tools() {
    stub cmake <<<'echo cmake version 3.22.1'
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'cmake 3.22.1 is too old'
    fresh_machine
    stub gcc <<<'[[ $1 != -dumpfullversion ]] || echo 9.4.0'
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'gcc 9.4.0 is too old'
}

# The cross compiler, its emulator and all libraries for arm64 but jansson.
aarch64_but_jansson() {
    stub aarch64-linux-gnu-gcc <<<''
    stub qemu-aarch64 <<<''
    stub dpkg <<<"echo dpkg \"\$@\" >>'$calls'"
    touch "$have/"{libhwloc,libmd,libxxhash,libopenblas-openmp,libcmocka}-dev:arm64
}

test_setup_of_aarch64_prints_the_line() {
    aarch64_but_jansson
    run "$tree/scripts/setup" --aarch64
    status_is 3
    has stderr "$err" 'dpkg --add-architecture arm64 && apt-get update && apt-get install --no-install-recommends libjansson-dev:arm64'
    stub dpkg <<<'echo arm64'
    run "$tree/scripts/setup" --aarch64
    lacks stderr "$err" 'dpkg --add-architecture'
    touch "$have/libjansson-dev:arm64"
    run "$tree/scripts/setup" --aarch64
    status_is 0
    is output "$out$err" ''
}

test_setup_of_aarch64_adds_the_architecture() {
    aarch64_but_jansson
    stub id <<<'echo 0'
    stub apt-get <<<"echo apt-get \"\$@\" >>'$calls'; touch '$have/libjansson-dev:arm64'"
    run "$tree/scripts/setup" --aarch64
    status_is 0
    is calls "$(sed -n 's/^dpkg \|^apt-get .* \(update\|install\)/\1/p' <<<"$log")" \
        $'--print-foreign-architectures\n--add-architecture arm64\nupdate\ninstall --no-install-recommends libjansson-dev:arm64'
}

test_setup_of_a_fleet_prints_the_line() {
    run "$tree/scripts/setup" --fleet
    status_is 3
    has stderr "$err" 'munge slurmctld slurmd slurm-client'
    stub munged <<<''
    touch "$have/slurmctld" "$have/slurmd"
    run "$tree/scripts/setup" --fleet
    status_is 3
    has stderr "$err" 'apt-get install --no-install-recommends slurm-client'
    lacks stderr "$err" munge
}

test_setup_usage() {
    run "$tree/scripts/setup" --everything
    status_is 2
    has stderr "$err" usage
    run "$tree/scripts/setup" --python nonsense
    status_is 3
    has stderr "$err" 'no such environment: nonsense'
}

test_setup_keeps_an_environment_that_is_up_to_date() {
    mkdir "$tree/.venv-capture"
    cp "$tree/scripts/requirements-capture.txt" "$tree/.venv-capture/requirements.txt"
    stub python3 <<<"echo python3 \"\$@\" >>'$calls'; exit 1"
    run "$tree/scripts/setup" --python capture
    status_is 0
    is output "$out$err$log" ''
    printf 'numpy==1.0\n' >>"$tree/scripts/requirements-capture.txt"
    run "$tree/scripts/setup" --python capture
    status_is 3
}

test_bench_passes_arguments_and_exit_code() {
    mkdir "$work/else where"
    cd "$work/else where"
    run env ATTNBENCH_EXIT=1 "$tree/scripts/bench" --suite 'my suite.txt' --kernel naive
    cd "$work"
    status_is 1
    has stdout "$out" "cwd=$work/else where"
    has stdout "$out" $'arg=--suite\narg=my suite.txt\narg=--kernel\narg=naive'
    is 'first argument' "$(sed -n 2p <<<"$out")" arg=run
    rmdir "$work/else where"
}

test_bench_writes_to_results_local() {
    run "$tree/scripts/bench"
    status_is 0
    has stdout "$out" $'arg=--output\narg='"$tree/results-local/"
    [[ -d $tree/results-local ]] || fail 'results-local is not there'
    lacks stdout "$out" noise
    is calls "$log" \
        "cmake --preset release -D ATTNBENCH_OTHER_VARIANTS=none --log-level=NOTICE
cmake --build --preset release --target attnbench"
}

# A folder that has the variants of other hosts keeps them, and what is built to be copied has them.
test_variants_of_other_hosts() {
    touch "$tree/build/release/CMakeCache.txt"
    run "$tree/scripts/build" --host release --target attnbench
    status_is 0
    lacks calls "$log" ATTNBENCH_OTHER_VARIANTS
    rm "$calls"
    run "$tree/scripts/build" release --target attnbench
    has calls "$log" 'release -D ATTNBENCH_OTHER_VARIANTS=optimized'
    rm "$calls" "$tree/build/release/CMakeCache.txt"
    run "$tree/scripts/test" --all
    has calls "$log" 'release -D BUILD_TESTING=ON -D ATTNBENCH_FEW_TILES=ON -D ATTNBENCH_OTHER_VARIANTS=optimized'
    rm "$calls"
    run "$tree/scripts/test"
    has calls "$log" 'release -D BUILD_TESTING=ON -D ATTNBENCH_FEW_TILES=ON -D ATTNBENCH_OTHER_VARIANTS=none'
}

test_bench_needs_nothing_of_the_tests() {
    rm "$have/cmocka" "$bin/python3"
    run "$tree/scripts/bench"
    status_is 0
    lacks calls "$log" BUILD_TESTING
    run "$tree/scripts/setup"
    status_is 3
    has stderr "$err" 'libcmocka-dev python3'
}

test_build_without_a_preset_is_refused() {
    for words in "" --tests; do
        run "$tree/scripts/build" ${words:+"$words"}
        status_is 2
        has stderr "$err" 'name a preset, such as release'
        is calls "$log" ''
    done
}

test_build_takes_presets_and_a_target() {
    run "$tree/scripts/build" release check
    status_is 0
    lacks calls "$log" BUILD_TESTING
    is calls "$(grep -e --build <<<"$log")" \
        $'cmake --build --preset release\ncmake --build --preset check'
    rm "$calls"
    run "$tree/scripts/build" check --target attnbench_host
    status_is 0
    is calls "$(grep -e --build <<<"$log")" 'cmake --build --preset check --target attnbench_host'
    lacks calls "$log" BUILD_TESTING
    rm "$calls"
    run "$tree/scripts/build" release --target
    [[ $status -ne 0 ]] || fail 'a target without a name is accepted'
    is calls "$log" ''
}

test_bench_leaves_a_given_output_alone() {
    local option
    for option in '--output=x.jsonl' '--resume=x.jsonl'; do
        run "$tree/scripts/bench" "${option%=*}" "${option#*=}"
        is stdout "$out" "cwd=$PWD"$'\narg=run\narg='"${option%=*}"$'\narg='"${option#*=}"
        run "$tree/scripts/bench" "$option"
        is stdout "$out" "cwd=$PWD"$'\narg=run\narg='"$option"
    done
}

test_bench_stops_when_the_build_fails() {
    local step
    for step in --preset --build; do
        stub cmake <<<"[[ \$1 != $step ]] || exit 1; echo cmake version 3.25.1"
        run "$tree/scripts/bench"
        status_is 1
        is stdout "$out" ''
    done
}

# The calls of ctest, without the path of the report.
ctests() { sed "s/<--output-junit><[^>]*>//g; s/<ctest>/\n&/g" <<<"$log" | grep '^<ctest>'; }

test_test_builds_and_runs_what_its_form_says() {
    run "$tree/scripts/test"
    status_is 0
    has calls "$log" 'cmake --preset release -D BUILD_TESTING=ON'
    is ctest "$(ctests)" '<ctest><--preset><release><--no-tests=error><-LE><^(ci|nightly)$>'
    rm "$calls"
    run "$tree/scripts/test" -R 'parse or print'
    is ctest "$(ctests)" '<ctest><--preset><release><--no-tests=error><-R><parse or print>'
    rm "$calls"
    run "$tree/scripts/test" --ci -j 3
    is ctest "$(ctests)" '<ctest><--preset><release><--no-tests=error><-LE><^nightly$><-j><3>
<ctest><--preset><check><--no-tests=error><-LE><^nightly$><-j><3>'
    rm "$calls"
    run "$tree/scripts/test" --all
    is ctest "$(ctests)" '<ctest><--preset><release><--no-tests=error>
<ctest><--preset><check><--no-tests=error>'
}

test_test_fails_when_one_build_fails() {
    local preset
    for preset in release check; do
        rm -f "$calls"
        run env CTEST_FAILS="$preset" "$tree/scripts/test" --ci
        status_is 8
        has calls "$log" '<ctest><--preset><release>'
        has calls "$log" '<ctest><--preset><check>'
    done
}

# By reports as ctest writes them: the reasons, how to repeat a failure, the counts last.
test_test_says_what_came_of_them() {
    stub python3 <<<"[[ \$1 != */test_outcomes.py ]] || exec '$(python3 -c 'import sys; print(sys.executable)')' \"\$@\""
    stub ctest <<'STUB'
while [[ $1 != --output-junit ]]; do shift; done
cat >"$2" <<'XML'
<testsuite><testcase name="base/scan" status="run"/>
<testcase name="flash/avx512.x" status="fail"><system-out>skipped: no</system-out></testcase>
<testcase name="hosts" status="notrun"><system-out>skipped: no -m32
</system-out></testcase>
<testcase name="fleet" status="notrun"><system-out>no slurm</system-out></testcase></testsuite>
XML
exit 8
STUB
    run "$tree/scripts/test" -j 1
    status_is 8
    has stdout "$out" 'skipped 1: no -m32
skipped 1: it does not say why
failed, again with: scripts/test --preset release -R '"'^flash/avx512\\.x\$'"'
1 passed, 1 failed, 2 skipped'
    stub ctest <<<'exit 7'
    run "$tree/scripts/test"
    status_is 7
    has stdout "$out" 'release: no test ran
0 passed, 1 failed, 0 skipped'
}

test_test_takes_one_preset() {
    aarch64_but_jansson
    touch "$have/libjansson-dev:arm64"
    run "$tree/scripts/test" --preset aarch64 -R exp2
    status_is 0
    has calls "$log" 'cmake --build --preset aarch64'
    is ctest "$(ctests)" '<ctest><--preset><aarch64><--no-tests=error><-R><exp2>'
    lacks calls "$log" release
    lacks calls "$log" check
    rm "$have/libcmocka-dev:arm64"
    run "$tree/scripts/test" --preset aarch64
    status_is 3
}

test_networks_names_the_program_that_is_missing() {
    run "$tree/scripts/dev/studies/networks" 1gbit out.jsonl 2
    status_is 3
    is stderr "$err" 'networks: no program ip; Debian has it in iproute2'
    stub ip <<<"echo ip >>'$calls'"
    run "$tree/scripts/dev/studies/networks" 1gbit out.jsonl 2
    status_is 3
    is stderr "$err" 'networks: no program tc; Debian has it in iproute2'
    is calls "$log" ''
}

test_help_is_printed_and_nothing_run() {
    local script
    for script in dev/lint test build; do
        run "$tree/scripts/$script" --help
        status_is 0
        has stdout "$out" "  scripts/$script "
        lacks stdout "$out" '#'
        is calls "$log" ''
    done
    run "$tree/scripts/dev/lint" --fixx
    status_is 2
    has stderr "$err" "lint: unknown option '--fixx'"
    is calls "$log" ''
}

make_machine
for current in $(compgen -A function test_); do
    fresh_machine
    "$current"
done
printf '%s failures\n' "$failures"
[[ $failures -eq 0 ]]
