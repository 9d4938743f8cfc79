#!/bin/sh
# SPDX-License-Identifier: MIT
# tool.sh - the tool from outside: every option, every status, what goes to which stream.
#
# TROUPE is the program (./troupe), srcdir the top of the sources. Prints a line for each test that fails, and
# at the end how many passed.
set -u
export LC_ALL=C
troupe=${TROUPE:-$PWD/troupe}
top=$(cd "${TOP:-${srcdir:-.}}" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work" || exit 1
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() { # TITLE WHY
    failed=$((failed + 1))
    printf 'tool: %s: %s\n' "$1" "$2"
    sed 's/^/    out: /' out | head -n 12
    sed 's/^/    err: /' err | head -n 12
}
says() { # FILE PATTERN - an extended regular expression; '' for nothing at all, '*' for anything
    case $2 in
    '') [ ! -s "$1" ] ;;
    '*') : ;;
    *) grep -Eq -e "$2" "$1" ;;
    esac
}
# t TITLE STATUS OUT ERR ARGUMENT... - runs the tool with the arguments; a failure is one sentence.
t() {
    title=$1 want=$2 want_out=$3 want_err=$4
    shift 4
    "$troupe" "$@" >out 2>err </dev/null
    got=$?
    if [ $got -ne "$want" ]; then fail "$title" "status $got, not $want"
    elif ! says out "$want_out"; then fail "$title" "no '$want_out' on standard output"
    elif ! says err "$want_err"; then fail "$title" "no '$want_err' on standard error"
    elif [ "$want" -ne 0 ] && [ "$(grep -c '^troupe: .*[^.]$' err)" -ne 1 ]; then
        fail "$title" 'not one sentence on standard error'
    else pass; fi
}
# is TITLE COMMAND... - the command succeeds.
is() {
    title=$1
    shift
    if "$@" >is.out 2>&1; then pass; else fail "$title" "$* fails"; fi
}

cat >blend.troupe <<'END'
# Two arguments of one length, and a number.
function blend(x: f32[n], w: f32[n]) -> (y: f32[n])
    a = Mul(x, w)
    b = Add(a, a)
    y = Relu(b)
END
cat >placed.troupe <<'END'
function placed(x: f32[n]) -> (y: f32[n])
    a = Mul(x, x)    @cpu:0
    y = Add(a, x)    @cpu:1
END
cat >two.troupe <<'END'
function helper(x: f32[]) -> (y: f32[])
    y = Neg(x)
function main(x: f32[], i: i64[2]) -> (y: f32[], j: i64[2])
    y = Mul(x, x)
    j = Add(i, i)
END
cat >types.troupe <<'END'
function types(a: f64[2], b: f16[2], c: bf16[2], d: i8[2], e: u64[2], f: bool[2], g: string[2], h: f32[2,?], k: f32[200]) -> (A: f64[2], B: f16[2], C: bf16[2], D: i8[2], E: u64[2], F: bool[2], G: string[2], H: f32[2,?], K: f32[200])
    A = Identity(a)
    B = Identity(b)
    C = Identity(c)
    D = Identity(d)
    E = Identity(e)
    F = Identity(f)
    G = Identity(g)
    H = Identity(h)
    K = Identity(k)
END
cat >odd.troupe <<'END'
function odd(x: f32[n] = f32[2] [1, 2], "k=y": f32[n]) -> ("a/b %\n\xc3\xa9": f32[n], "..": f32[n], A-Z_.0: f32[n])
    "a/b %\n\xc3\xa9" = Add(x, "k=y")
    ".." = Neg(x)
    A-Z_.0 = Identity("k=y")
END
printf 'function bad(x: f32[n]) -> (y: f32[n])\n    y = Mul(x, q)\n' >bad.troupe
printf '# rules\na cpu:1\nop:Relu cpu:1\n* cpu:0\n' >ok.place
printf '# rules\n\na cpu:1 and more\n' >bad.place
printf 'a gpu:0\n' >gpu.place
printf 'a cpu:1\n\0b cpu:0\n' >zero.place
printf 'a cpu:7\n' >seven.place
two='--devices cpu:0,cpu:1'

# -- The command line ------------------------------------------------------------------------------
t 'no command is a wrong command line' 2 '' 'a command is missing'
t '--help is on standard output' 0 '^Usage: troupe COMMAND' '' --help
t '--version has the form of GNU' 0 '^troupe [0-9]+\.[0-9]+\.[0-9]+$' '' --version
t 'an unknown command is named, with a close one' 2 '' "command 'rnu' .*'run'" rnu
t 'an unknown option of the tool is named' 2 '' "option '--hlep'" --hlep
for command in run show explain devices; do
    t "$command --help is on standard output" 0 "^Usage: troupe $command " '' $command --help
    t "$command -h is the same" 0 "^Usage: troupe $command " '' $command -h
    t "$command names an option that it does not know, with a close one" 2 '' \
        "option '--devises' .*'--devices'.*troupe $command --help" $command --devises=x
done
t 'a letter that is no option is named' 2 '' "option '-x'" run -x blend.troupe
t 'an ambiguous short form is named' 2 '' "'--de'" run --de 1 blend.troupe
t 'a unique short form is allowed' 0 '^y = ' '' run blend.troupe --rep 2 -i x=zeros -i w=zeros
t 'options may stand before operands' 0 '^y = ' '' run -i x=zeros -i w=zeros blend.troupe
t 'a value that is missing is said' 2 '' "'--devices' wants LIST" run blend.troupe --devices
t 'a flag takes no value' 2 '' "'--soft' takes no value" run blend.troupe --soft=1
t 'run wants a model' 2 '' 'MODEL is missing' run
t 'explain wants a graph node' 2 '' 'NODE is missing' explain blend.troupe
t 'one operand too many is named' 2 '' "'more'" run blend.troupe more
t 'devices takes no operand' 2 '' "'more'" devices more
t '--json and --dot exclude each other' 2 '' '--json and --dot' show --json --dot blend.troupe
for n in 0 -1 x 1x '' 99999999999999999999; do
    t "--repeat '$n' is refused" 2 '' "'--?repeat'?|--repeat wants" run blend.troupe --repeat "$n"
done
for s in 0 -1 x nan inf 1s ''; do
    t "--deadline '$s' is refused" 2 '' '--deadline wants' run blend.troupe --deadline "$s"
done

# -- Inputs ----------------------------------------------------------------------------------------
t 'all missing arguments are named with type and shape' 1 '' \
    '^troupe: blend\.troupe: .*x: f32\[n\].*w: f32\[n\]' run blend.troupe
t 'given ones are not among the missing' 1 '' '^[^x]* w: f32\[n\]$' run blend.troupe -i x=zeros
t 'an unknown argument is named, with a close one' 1 '' "no argument 'v'.*'x'" \
    run blend.troupe -i v=zeros
t 'an argument is given once' 2 '' 'x=zeros: .*before' \
    run blend.troupe -i x=zeros -i x=zeros
t '-i wants NAME=VALUE' 2 '' '-i x: NAME=VALUE' run blend.troupe -i x
t '-i wants a value' 2 '' '-i x=: ' run blend.troupe -i x=
t 'random wants a seed' 2 '' 'random:1' run blend.troupe -i x=random
for seed in -1 1x '' 18446744073709551616; do
    t "seed '$seed' is refused" 2 '' 'seed' run blend.troupe -i "x=random:$seed"
done
t 'a file that is not there is named' 1 '' "argument 'x': .*nofile.npy.*No such file" \
    run blend.troupe -i x=nofile.npy -i w=zeros
printf 'no array' >junk.npy
t 'a file that is no array is named' 1 '' "argument 'x': .*junk.npy" \
    run blend.troupe -i x=junk.npy -i w=zeros
t 'zeros are zeros, unknown dimensions 1' 0 '^j = i64\[2\] \[0, 0\]$' '' \
    run two.troupe -i x=zeros -i i=zeros
t 'every element type can be made up' 0 '^G = string\[2\] \["[0-9]", "[0-9]"\]$' '' run types.troupe \
    -i a=random:1 -i b=random:1 -i c=random:1 -i d=random:1 -i e=random:1 -i f=random:1 -i g=random:1 \
    -i h=random:1 -i k=random:1
in_range() { # every number in the lists of out is at least 0 and below 1
    grep -E '^[ABCHK] = ' out | sed 's/^.*\] \[//' | grep -oE '[0-9][0-9.e+-]*' |
        awk '$1 < 0 || $1 >= 1 { bad = 1 } END { exit bad || NR < 10 }'
}
is 'floating-point values are in [0, 1)' in_range
is 'the same seed gives the same values' sh -c "
    '$troupe' run blend.troupe -i x=random:7 -i w=random:8 >a &&
    '$troupe' run blend.troupe -i x=random:7 -i w=random:8 >b && cmp a b"
is 'another seed gives other values' sh -c "
    '$troupe' run blend.troupe -i x=random:9 -i w=random:8 >b && ! cmp -s a b"
is 'splitmix64 makes them' sh -c "
    '$troupe' run two.troupe -i x=random:7 -i i=random:7 --json | grep -q '\"data\": \[6, 0\]'"

# -- Results ---------------------------------------------------------------------------------------
t 'a large result is summarised' 0 '^K = f32\[200\] \[.*\.\.\..*\]$' '' run types.troupe \
    -i a=zeros -i b=zeros -i c=zeros -i d=zeros -i e=zeros -i f=zeros -i g=zeros -i h=zeros -i k=zeros
t '-o writes files and prints nothing' 0 '' '' run two.troupe -i x=random:1 -i i=random:1 -o made
is '-o writes each result' test -s made/y.npy -a -s made/j.npy
t 'what was written can be read' 0 '^y = f32\[\] ' '' run two.troupe -i x=made/y.npy -i i=made/j.npy
t 'a file of another type is refused' 1 '' 'j\.npy: argument .x. is f32\[n\], .* i64\[2\]' \
    run blend.troupe -i x=made/j.npy -i w=zeros
cat >long.troupe <<'END'
function long(x: f32[4]) -> (y: f32[4])
    y = Identity(x)
END
"$troupe" run long.troupe -i x=random:3 -o made >/dev/null 2>&1
t 'a length that a file settles holds for the others' 0 '^y = f32\[4\] ' '' \
    run blend.troupe -i x=made/y.npy -i w=random:2
t 'a length that a default settles holds for the others' 0 '^\.\. = f32\[2\] \[-1, -2\]$' '' \
    run odd.troupe -i k=y=zeros
t 'a control character in a name does not reach the terminal' 0 '^a/b %\\x0a.* = f32\[2\]' '' \
    run odd.troupe -i k=y=zeros
t 'an argument with = in its name is found, and a default is no missing argument' 1 '' \
    'odd\.troupe: 1 argument [^:]*: k=y: f32\[n\]$' run odd.troupe
t 'results of any name are written' 0 '' '' run odd.troupe -i k=y=random:1 -o odd
is 'every byte of a name outside A-Za-z0-9._- is written as %XX' test \
    -f odd/a%2Fb%20%25%0A%C3%A9.npy -a -f odd/...npy -a -f odd/A-Z_.0.npy
is 'and no other file is' test "$(find odd | wc -l)" -eq 4
printf 'x' >file
t '-o to something that is no folder fails' 1 '' '^troupe: file: not a folder$' \
    run blend.troupe -i x=zeros -i w=zeros -o file
t '-o below a folder that is not there fails' 1 '' '^troupe: no/such: No such file' \
    run blend.troupe -i x=zeros -i w=zeros -o no/such
t 'run --json has all elements' 0 '"name": "y", "dtype": "f32", "shape": \[1\], "data": \[0\.0\]' '' \
    run blend.troupe -i x=zeros -i w=zeros --json
t 'run --json names the files' 0 '"file": "made/y.npy"' '' \
    run blend.troupe -i x=zeros -i w=zeros --json -o made

# What NumPy lacks is in its files as bytes, and comes back by the argument's type.
cat >stored.troupe <<'END'
function f(x: f8e4m3fn[2], z: c64[1]) -> (y, w, v)
    k = f8e4m3fn[2] [0.001953125, -448]
    y = Identity(x)
    w = Identity(z)
    v = Identity(k)
END
t 'stored types are made up and written' 0 '' '' run stored.troupe -i x=random:1 -i z=random:1 -o stored
t 'bytes of a file are the floats of the argument' 0 'y = f8e4m3fn\[2\]' '' \
    run stored.troupe -i x=stored/y.npy -i z=stored/w.npy
t 'JSON has the numbers as they are' 0 '"data": \[0\.001953125, -448\.0\]' '' \
    run stored.troupe -i x=zeros -i z=zeros --json
t 'a complex number is a pair in JSON' 0 '"data": \[\[0\.0, 0\.0\]\]' '' \
    run stored.troupe -i x=zeros -i z=zeros --json
t 'other bytes are refused' 1 '' 'is f8e4m3fn\[2\], but the file has' \
    run stored.troupe -i x=stored/w.npy -i z=zeros
t 'JSON has the number of its format' 0 '^\{"format": 1, ' '' run blend.troupe -i x=zeros -i w=zeros --json
t 'and so has a plan as JSON' 0 '^ *"format": 1,|^\{"format": 1,' '' show blend.troupe --json

# -- Wire ------------------------------------------------------------------------------------------
for how in '' --wire; do
    # shellcheck disable=SC2086 # nothing or one word
    "$troupe" run blend.troupe -i x=random:3 -i w=random:4 $two $how >"out$how" 2>err
    is "run $how gives results" test -s "out$how" -a ! -s err
done
is 'with --wire they are the same' cmp out out--wire

# -- Convert ---------------------------------------------------------------------------------------
fashion=$top/examples/fashion/fashion_mnist_cnn.onnx
t 'convert writes nothing on success' 0 '' '' convert two.troupe -o two.bin
t 'what it writes runs' 0 '^j = i64\[2\] \[0, 0\]$' '' run two.bin -i x=zeros -i i=zeros
t 'convert --text writes a text' 0 '' '' convert two.bin -o again.troupe --text
is 'a text has a version' grep -qx 'troupe 1' again.troupe
is 'and a checksum' grep -qx '# xxh3 [0-9a-f]\{32\}' again.troupe
t 'and runs' 0 '^j = i64\[2\] \[0, 0\]$' '' run again.troupe -i x=zeros -i i=zeros
t 'there and back' 0 '' '' convert again.troupe -o again.bin
is 'gives the same placement' sh -c "
    '$troupe' show two.troupe >a && '$troupe' show two.bin >b && cmp a b && '$troupe' show again.bin >b && cmp a b"
printf '\n' >>again.troupe
t 'an empty line behind the checksum is none of its business' 0 '' '' convert again.troupe -o again.bin
sed 's/Neg/Abs/' again.troupe >changed.troupe
t 'a changed text is refused' 1 '' '^troupe: changed\.troupe:[0-9]+:8: the checksum is [0-9a-f]{32}, not [0-9a-f]{32}; ' \
    run changed.troupe -i x=zeros -i i=zeros
sed -e 's/Neg/Abs/' -e '/^# xxh3/d' again.troupe >changed.troupe
t 'and taken without its checksum' 0 '^j = ' '' run changed.troupe -i x=zeros -i i=zeros
t 'a convert over its own model is a usage error' 2 '' 'is MODEL itself' convert two.troupe -o ./two.troupe
is 'and leaves it as it was' grep -q '^function' two.troupe
printf 'function say(x: f32[2]) -> (y: f32[2])\n    Print(x, message="seen")\n    y = Relu(x)\n' >say.troupe
t 'what a graph node prints is on standard error' 0 '^y = ' '^seen: f32' run say.troupe -i x=zeros
t 'a convert without -o is a usage error' 2 '' '-o FILE is missing' convert two.troupe
t 'convert wants a model' 2 '' 'MODEL is missing' convert -o x
t 'convert of what is not there names it' 1 '' 'none\.troupe.*No such file' convert none.troupe -o x
is 'and leaves nothing' test ! -e x
t 'convert into a folder that is not there' 1 '' '^troupe: no/such\.bin: create: No such file' \
    convert two.troupe -o no/such.bin
head -c 100 two.bin >cut.bin
t 'a binary form that is cut off is refused' 1 '' '^troupe: cut\.bin: it has 100 bytes, not [0-9]+ as its header says$' \
    run cut.bin
if "$troupe" show "$fashion" >plan 2>/dev/null; then
    mkdir fashion
    t 'an ONNX model is converted' 0 '' '' convert "$fashion" -o fashion/cnn.bin
    t 'as a text, too' 0 '' '' convert "$fashion" -o fashion/cnn.troupe --text
    is 'its large constants lie beside the text' test "$(find fashion/cnn.troupe.d -name '*.npy' | wc -l)" -eq 4
    for model in "$fashion" fashion/cnn.bin fashion/cnn.troupe; do
        "$troupe" run "$model" -i image=random:5 >>results 2>err
        is "$model runs" test ! -s err
    done
    is 'all three give the same results' test "$(sort -u results | wc -l)" -eq 1
    "$troupe" show fashion/cnn.bin >plan.bin
    is 'and the same plan' cmp plan plan.bin
fi

# -- Functions, calls ------------------------------------------------------------------------------
t 'main is the main function' 0 '^j = ' '' run two.troupe -i x=zeros -i i=zeros
t '--call takes another' 0 '^y = f32\[\] -?0' '' run two.troupe --call helper -i x=zeros
t '--call of none names a close one' 1 '' "two\.troupe: .*'helpr'.*'helper'" run two.troupe --call helpr
t '--repeat prints times' 0 \
    '^5 calls: first [0-9]+\.[0-9]{3} us, then min [0-9.]+ us, median [0-9.]+ us, max [0-9.]+ us$' '' \
    run blend.troupe -i x=zeros -i w=zeros --repeat 5
t 'without --repeat no times are printed' 0 '^y = [^:]*$' '' run blend.troupe -i x=zeros -i w=zeros
t '--profile prints the report' 0 '^y = ' '' run blend.troupe -i x=zeros -i w=zeros --profile
is 'the report names a graph node' grep -q 'Relu\|y' out
t 'a deadline that is far changes nothing' 0 '^y = ' '' \
    run blend.troupe -i x=zeros -i w=zeros --deadline 60.5
t 'a model that is not there is named' 1 '' 'none\.troupe.*No such file' run none.troupe
t 'a model of no known kind is named' 1 '' 'junk\.npy' run junk.npy
t 'a text with an error has line and column' 1 '' '^troupe: bad\.troupe:2:[0-9]+: .*q' run bad.troupe
head -c 300 "$top/examples/fashion/fashion_mnist_cnn.onnx" >cut.onnx
t 'a model that is cut off is refused' 1 '' 'cut\.onnx' run cut.onnx

# -- Devices and placement -------------------------------------------------------------------------
t 'devices lists them' 0 '^cpu:0 ' '' devices
t 'devices takes a list' 0 '^cpu:1 .* 2 +1073741824$' '' \
    devices --devices 'cpu:0,cpu:1(threads=2,memory=1G)'
t 'devices tells what the process may use' 0 '^This process may use [0-9]+ CPUs? of [0-9]' '' devices
t 'devices pins and shows it' 0 '^cpu:0 .* [0-9+-]+ +1 +1 +none$' '' \
    devices --devices 'cpu:0(threads=1,pin=auto)'
t 'a CPU that cannot be had is named' 1 '' 'CPU 1023 is not one that this process may use' \
    devices --devices 'cpu:0(pin=1023)'
t 'devices --json is a list' 0 '^\[\{"name": "cpu:0", .*"memory_limit": null\}\]$' '' devices --json
for list in gpu:0 cpu:0,cpu:0 'cpu:0(' 'cpu:0(threads=0)' 'cpu:0(x=1)' cpu; do
    t "device list '$list' is refused" 1 '' '*' devices --devices "$list"
done
t 'an unknown device is named' 1 '' "gpu" run blend.troupe -i x=zeros -i w=zeros --devices gpu:0
# shellcheck disable=SC2086 # two words
t 'graph nodes without wishes are cut over the devices' 0 'cpu:1' '' show blend.troupe $two
# shellcheck disable=SC2086
t 'a model over two devices gives its results' 0 '^y = f32\[1\] \[0\]$' '' \
    run blend.troupe -i x=zeros -i w=zeros $two
t 'an annotation that cannot be honoured is an error' 1 '' "cpu:1" run placed.troupe -i x=zeros
t '--soft relaxes it, and says so' 0 '^y = ' 'cpu:1' run placed.troupe -i x=zeros --soft
# shellcheck disable=SC2086
t '--place decides' 0 'ok\.place' '' show blend.troupe $two --place ok.place
# shellcheck disable=SC2086
t 'run --place gives the results' 0 '^y = ' '' \
    run blend.troupe -i x=zeros -i w=zeros $two --place ok.place
# shellcheck disable=SC2086
t 'a rule file with an error has its line' 1 '' 'bad\.place:3: ' \
    show blend.troupe $two --place bad.place
# shellcheck disable=SC2086
t 'a rule file with a zero byte is refused' 1 '' '^troupe: zero\.place: byte 8: a zero byte' \
    show blend.troupe $two --place zero.place
t 'a rule file that is not there is named' 1 '' '^troupe: none\.place: No such file' \
    show blend.troupe --place none.place
t 'a rule file that is a folder is named' 1 '' '^troupe: made: Is a directory' \
    show blend.troupe --place made
t 'a rule for a device type that is not there is an error' 1 '' 'gpu' \
    show blend.troupe --place gpu.place
t 'a rule for a device that is not there is an error' 1 '' 'cpu:7' show blend.troupe --place seven.place
# shellcheck disable=SC2086
t 'show --json is an object' 0 '^\{' '' show blend.troupe $two --json
# shellcheck disable=SC2086
t 'show --dot is a graph' 0 '^ *digraph' '' show blend.troupe $two --dot
t 'show --call takes another function' 0 'helper' '' show two.troupe --call helper
t 'show --operators lists operators' 0 '^Add +[A-Za-z]' '' show --operators
t 'a plugin that is not there is named' 1 '' '^troupe: none\.so: ' show --operators --plugin none.so
t 'a plugin that is none is named' 1 '' '^troupe: blend\.troupe: ' run blend.troupe --plugin blend.troupe
t 'show --operators takes no model' 2 '' '--operators takes no MODEL' show --operators blend.troupe
# shellcheck disable=SC2086
t 'explain says why' 0 'ok\.place' '' explain blend.troupe a $two --place ok.place
t 'explain of no graph node is an error' 1 '' "blend\.troupe: .*'nope'" explain blend.troupe nope

# -- Streams and signals ---------------------------------------------------------------------------
if [ -w /dev/full ]; then
    "$troupe" --help >/dev/full 2>err
    is 'a full disk is a failure' test $? -eq 1 -a -s err
fi
# A disk that fills: here a limit on the size of files, whose signal the tool does not die of.
title='a disk that fills leaves no half file, and what was there'
mkdir full
echo before >full/y.npy
printf 'function wide(x: f32[65536]) -> (y: f32[65536])\n    y = Relu(x)\n' >wide.troupe
(
    ulimit -f 8
    "$troupe" run wide.troupe -i x=zeros -o full >out 2>err
)
got=$?
if [ $got -ne 1 ]; then fail "$title" "status $got"
elif ! grep -q "^troupe: result 'y': full/y.npy: .*[Ff]ile too large" err; then fail "$title" 'no sentence'
elif [ "$(wc -l <err)" -ne 1 ] || [ "$(ls full)" != y.npy ] || [ "$(cat full/y.npy)" != before ]; then
    fail "$title" "$(ls full)"
else pass; fi
"$troupe" show --operators 2>err | :
is 'a pipe that closes leaves no word' test ! -s err
(
    trap '' PIPE
    "$troupe" show --operators 2>err
    echo $? >status
) | :
is 'a pipe that closes is no worse where the signal is ignored' grep -qx '[01]' status

# Ctrl-C: once the call runs it is cancelled. When it begins and ends depends on the machine, so the
# time grows by half until it was seen.
interrupted() { # ARGUMENT...
    for seconds in 0.05 0.1 0.15 0.2 0.3 0.45 0.7 1 1.5 2.2 3.3 5 8 12 18 30; do
        timeout --preserve-status -s INT $seconds "$troupe" "$@" >out 2>err
        [ $? -eq 130 ] && grep -q 'cancelled by Ctrl-C after [0-9]* of' err && return 0
    done
    return 1
}
if command -v timeout >/dev/null; then
    title='Ctrl-C ends repeated calls with status 130'
    if interrupted run blend.troupe -i x=zeros -i w=zeros --repeat 1000000000; then pass
    else fail "$title" "status or sentence"; fi
    {
        echo 'function heavy(x: f32[1024,1024]) -> (y: f32[1024,1024])'
        echo '    v0 = MatMul(x, x)'
        for i in $(seq 1 2000); do echo "    v$i = MatMul(v$((i - 1)), x)"; done
        echo '    y = MatMul(v2000, x)'
    } >heavy.troupe
    title='Ctrl-C cancels a call that runs'
    if interrupted run heavy.troupe -i x=random:1; then pass; else fail "$title" 'status or sentence'; fi
    t 'a deadline that passes is a failure' 1 '' 'deadline' run heavy.troupe -i x=random:1 --deadline 0.05
    # Each function calls the one before it twice: what is small here takes seconds to plan.
    {
        printf 'function f0(x: f32[4]) -> (y: f32[4])\n    y = Relu(x)\n'
        for i in $(seq 1 60); do
            printf 'function f%d(x: f32[4]) -> (y: f32[4])\n' "$i"
            printf '    z = f%d(x)\n    y = f%d(z)\n' $((i - 1)) $((i - 1))
        done
    } >double.troupe
    t 'a deadline ends planning' 1 '' "function 'f19': the deadline passed first" \
        run double.troupe --call f19 -i x=zeros --deadline 0.1
    title='Ctrl-C ends planning'
    if interrupted run double.troupe --call f19 -i x=zeros; then pass; else fail "$title" 'status or sentence'; fi
    t 'what becomes too large is refused' 1 '' '1729382256910270462 graph nodes with all that it calls' \
        run double.troupe --call f59 -i x=zeros
fi
if command -v script >/dev/null; then
    title='work of more than a second shows its progress on a terminal, and wipes it'
    script -qec "timeout -s INT 3 '$troupe' run blend.troupe -i x=zeros -i w=zeros --repeat 1000000000" \
        /dev/null >out 2>err </dev/null
    if grep -q 'call [0-9]* of 1000000000, .* a second' out; then pass
    else fail "$title" 'no progress line'; fi
fi

# -- Documents -------------------------------------------------------------------------------------
awk '/^```troupe/ { inside = 1; next } /^```/ { inside = 0 } inside' "$top/doc/text-form.md" >doc.troupe
# shellcheck disable=SC2086
t 'the example of doc/text-form.md runs' 0 '^y = f32\[1\]' '' \
    run doc.troupe --call blend -i x=random:1 -i w=random:2 $two

# -- Manual page -----------------------------------------------------------------------------------
if command -v man >/dev/null && command -v groff >/dev/null; then
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z \
        "$top/doc/troupe.1" >/dev/null 2>err
    is 'the manual page has no fault' test ! -s err
fi
: >out
for option in $("$troupe" run --help | grep -oE -- '--[a-z]+') \
    $("$troupe" show --help | grep -oE -- '--[a-z]+'); do
    grep -q -- "$(echo "$option" | sed 's/-/\\\\-/g')" "$top/doc/troupe.1" || echo "troupe.1: $option" >>out
    grep -q -- "$option" "$top/doc/tool.md" || echo "tool.md: $option" >>out
done
is 'manual page and doc/tool.md have every option' test ! -s out

printf '%d passed, %d failed\n' $passed $failed
[ $failed -eq 0 ]
