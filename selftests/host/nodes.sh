#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# nodes.sh - vfabrun over nodes: each is a shell of this machine, the domain a memfd
#
# by example:
#
#	selftests/host/nodes.sh		# after make tools
#
# Needs no root. Prints TAP.

# shellcheck disable=SC2016 # what the ranks expand
set -u

cd "$(dirname "$0")/../.." || exit 2
PATH=$PWD/build/tools:$PATH
# A memfd of eight ranks that is there as long as this runs
if [ -z "${NODES_INSIDE:-}" ]; then
	export NODES_INSIDE=1
	exec vfabrun -q --memfd -n 8 sh -c '[ "$VFAB_RANK" != 0 ] || exec selftests/host/nodes.sh'
fi
unset NODES_INSIDE RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE
unset VFAB_RANK VFAB_RANKS VFAB_WORLD_SIZE VFAB_NODE VFAB_LOCAL_RANK
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=selftests/host/lib
. selftests/host/lib

local='exec sh -c {command}'
# vfabrun on two nodes, a and b
two=(vfabrun --node-command "$local" --nodes a=0-3 --nodes b=4-7)

# until_true SECONDS COMMAND...
until_true() {
	local tries=$(($1 * 10))

	shift
	while [ "$tries" -gt 0 ]; do
		! "$@" >/dev/null 2>&1 || return 0
		tries=$((tries - 1))
		sleep 0.1
	done
	return 1
}

# A node that falls silent is noticed after a while: meanwhile the rest
"${two[@]}" --keep-going --node-timeout 8 sh -c 'echo $VFAB_RANK $PPID >>'"$tmp"'/silent; [ $VFAB_RANK -lt 4 ] || exec sleep 300' \
	>"$tmp/silent.log" 2>&1 &
silent=$!
until_true 60 sh -c "[ \$(wc -l <$tmp/silent) = 8 ]"
agent=$(sed -n 's/^4 //p' "$tmp/silent")
kill -STOP "$agent"

"${two[@]}" sh -c 'echo $VFAB_RANK of $VFAB_WORLD_SIZE, $RANK of $WORLD_SIZE, $VFAB_NODE.$VFAB_LOCAL_RANK, $LOCAL_RANK of $LOCAL_WORLD_SIZE' \
	2>"$tmp/err" | sort >"$tmp/out"
for i in 0 1 2 3 4 5 6 7; do
	echo "$i of 8, $i of 8, $((i / 4)).$((i % 4)), $((i % 4)) of 4"
done | diff - "$tmp/out" >"$tmp/log" && [ ! -s "$tmp/err" ]
result "ranks on two nodes, and what they are told" $? "$tmp/log"

vfabrun --node-command "$local" --nodes a=5-7 --nodes b=0-1 --ranks 0,6,1,5 -l \
	sh -c 'echo $VFAB_NODE.$VFAB_LOCAL_RANK, $LOCAL_RANK of $LOCAL_WORLD_SIZE' 2>&1 | sort >"$tmp/out"
printf '%s\n' '0: 1.0, 0 of 2' '1: 1.1, 1 of 2' '5: 0.1, 1 of 2' '6: 0.0, 0 of 2' |
	diff - "$tmp/out" >"$tmp/log"
result "in the order of the job, whichever node is first" $? "$tmp/log"

says 0 '# Out of bounds values : 0 OK' "${two[@]}" vfabperf coll allreduce -b 8 -e 4K -n 2 -w 1
result "eight ranks on two nodes all-reduce" $? "$tmp/log"

"${two[@]}" --ranks 6,0,3 -l sh -c 'echo "$VFAB_RANKS $RANK"; echo error >&2' 2>"$tmp/err" | sort >"$tmp/out"
printf '%s\n' '0: 6,0,3 1' '3: 6,0,3 2' '6: 6,0,3 0' | diff - "$tmp/out" >"$tmp/log" &&
	sort "$tmp/err" | diff - <(printf '%s: error\n' 0 3 6) >>"$tmp/log"
result "a list of ranks, with labels; errors stay errors" $? "$tmp/log"

printf 'a\0b\n\nc' >"$tmp/want"
"${two[@]}" -n 1 printf 'a\0b\n\nc' >"$tmp/out" 2>&1
cmp "$tmp/out" <(cat "$tmp/want"; echo) >"$tmp/log"
result "every byte comes, and the last line gets its end" $? "$tmp/log"
[ "$("${two[@]}" -n 1 head -c 1000000 /dev/zero | tr -dc '\0' | wc -c)" = 1000000 ]
result "a million bytes in one line" $?

# Words arrive as they are, in a directory and for a host of any name
mkdir "$tmp/a 'b' \$c"
(cd "$tmp/a 'b' \$c" && VFAB_TEST="it's" vfabrun --node-command "echo {host} >&2; $local" --nodes "x y'z=0-7" -n 1 \
	sh -c 'pwd; echo "$VFAB_TEST"; printf "<%s>" "$@"' - 'a  b' "c'd" '$e' '' '*' $'f\ng') >"$tmp/out" 2>"$tmp/err"
printf '%s\n' "$tmp/a 'b' \$c" "it's" "<a  b><c'd><\$e><><*><f" 'g>' | diff - "$tmp/out" >"$tmp/log" &&
	echo "x y'z" | diff - "$tmp/err" >>"$tmp/log"
result "words, directory, VFAB_ variables and host arrive as they are" $? "$tmp/log"

# The template that is taken where none is given: ssh has options and a host, joins the
# other words by spaces, and a shell gets that, in its user's home, without our variables.
mkdir "$tmp/bin" "$tmp/home"
cat >"$tmp/bin/ssh" <<-EOF
	#!/bin/sh
	[ "\$1 \$2" = "-o BatchMode=yes" ] || exit 255
	host=\$3
	shift 3
	echo "\$host: \$# words" >>"$tmp/hosts"
	cd "$tmp/home" && exec env -i HOME="$tmp/home" PATH="/usr/bin:/bin" sh -c "\$*"
EOF
chmod +x "$tmp/bin/ssh"
(cd "$tmp/a 'b' \$c" && PATH=$tmp/bin:$PATH VFAB_TEST="it's" vfabrun --nodes me@a=0-3 --nodes b=4-7 --ranks 3,4 -l \
	sh -c 'printf "%s|" "$VFAB_RANK" "$VFAB_TEST" "$PWD" "$@"' - 'a  b' "c'd" '$e' '') 2>"$tmp/err" | sort >"$tmp/out"
for i in 3 4; do
	printf '%s|' "$i: $i" "it's" "$tmp/a 'b' \$c" 'a  b' "c'd" '$e' ''
	echo
done | diff - "$tmp/out" >"$tmp/log" && [ ! -s "$tmp/err" ] &&
	printf '%s: 1 words\n' b me@a | diff - <(sort "$tmp/hosts") >>"$tmp/log"
result "by ssh, if nothing else is said" $? "$tmp/log"
says 2 'nobody: its command ended with status 255' env PATH="$tmp/bin:$PATH" sh -c \
	"printf '#!/bin/sh\nexit 255\n' >$tmp/bin/ssh; exec vfabrun --nodes nobody=0-7 true"
result "refused: a host that ssh does not reach" $? "$tmp/log"

says 5 'vfabrun: rank 6 exited with status 5: ending all' "${two[@]}" --ranks 1,6 sh -c '[ $VFAB_RANK != 6 ] || exit 5; sleep 100'
result "the first that fails ends those on other nodes" $? "$tmp/log"
says 5 'it goes on' "${two[@]}" --keep-going --ranks 1,6 sh -c '[ $VFAB_RANK != 6 ] || exit 5; sleep 2; echo it goes on'
result "or not" $? "$tmp/log"
says 3 'the time is up' "${two[@]}" --timeout 2 sleep 100
result "time" $? "$tmp/log"
says 2 'cannot write the output' sh -c "vfabrun --node-command '$local' --nodes a=0-7 -n 2 echo hi >/dev/full"
result "output that is lost" $? "$tmp/log"

for sig in USR1:0 HUP:129 TERM:143; do
	: >"$tmp/started"
	"${two[@]}" sh -c "trap 'echo \$VFAB_RANK >>$tmp/got; exit 0' ${sig%:*}; echo x >>$tmp/started
		n=0; while [ \$n -lt 600 ]; do sleep 0.1; n=\$((n + 1)); done" >"$tmp/log" 2>&1 &
	pid=$!
	rm -f "$tmp/got"
	until_true 30 sh -c "[ \$(wc -l <$tmp/started) = 8 ]"
	kill "-${sig%:*}" $pid
	wait $pid
	status=$?
	[ $status = "${sig#*:}" ] && [ "$(sort "$tmp/got" | tr -d '\n')" = 01234567 ]
	result "SIG${sig%:*} reaches all of both nodes" $? "$tmp/log"
done

"${two[@]}" sleep 98.7 >"$tmp/log" 2>&1 &
pid=$!
until_true 30 pgrep -f "[s]leep 98.7"
kill -9 $pid
wait $pid 2>/dev/null
until_true 30 sh -c '! pgrep -f "[s]leep 98.7"'
result "when vfabrun is killed, so are they" $?

: >"$tmp/agents"
"${two[@]}" --keep-going sh -c 'echo $VFAB_RANK $PPID >>'"$tmp"'/agents; sleep 3; echo $VFAB_RANK lives' >"$tmp/log" 2>&1 &
pid=$!
until_true 30 sh -c "[ \$(wc -l <$tmp/agents) = 8 ]"
kill -9 "$(sed -n 's/^4 //p' "$tmp/agents")"
wait $pid
[ $? = 137 ] && [ "$(grep -c '^[0-3] lives' "$tmp/log")" = 4 ] && ! grep -q '^[4-7] lives' "$tmp/log" &&
	grep -q '^vfabrun: b: its command was killed by signal 9' "$tmp/log"
result "a node that is lost: the others go on, if they may" $? "$tmp/log"
"${two[@]}" sh -c '[ $VFAB_RANK != 4 ] || kill -9 $PPID; sleep 100' >"$tmp/log" 2>&1
[ $? = 137 ] && grep -q '^vfabrun: b: .*: ending all' "$tmp/log"
result "or end" $? "$tmp/log"

says 2 'it has no {command}' vfabrun --node-command 'ssh {host}' --nodes a true
result "refused: a template without the command" $? "$tmp/log"
says 2 '--node-command: goes with --nodes' vfabrun --node-command "$local" true
result "refused: a template without nodes" $? "$tmp/log"
says 2 'all ranks are on this machine' vfabrun --memfd -n 2 --nodes a,b true
result "refused: --memfd over nodes" $? "$tmp/log"
says 2 'a host has no name' vfabrun --nodes a,,b true
result "refused: a host without a name" $? "$tmp/log"
says 2 'no host is called so' vfabrun --nodes '-oProxyCommand=true=0-7' true
result "refused: a host that would be an option" $? "$tmp/log"
says 2 'more than 64 hosts' vfabrun --nodes "$(seq -s , 65)" true
result "refused: too many hosts" $? "$tmp/log"
says 2 'a: its command ended with status 9' vfabrun --node-command 'exit 9; {command}' --nodes a=0-7 true
result "refused: a node that cannot be reached" $? "$tmp/log"
says 2 'vfabrun: /no/such: No such file or directory' "${two[@]}" -n 2 /no/such
result "refused: a program that is not there" $? "$tmp/log"
says 2 'vfabrun: rank 3 is on a and on b: are they two nodes of one domain?' vfabrun --node-command "$local" \
	--nodes a=0-3 --nodes b=3-7 true
result "refused: a rank on two nodes" $? "$tmp/log"
says 2 'vfabrun: rank 7 is on none of the nodes' vfabrun --node-command "$local" --nodes a=0-3 --nodes b=4-6 true
result "refused: a rank on no node" $? "$tmp/log"
says 2 'is not placed over nodes: say what is where' vfabrun --node-command "$local" --nodes a,b true
result "refused: a domain that is not placed over nodes" $? "$tmp/log"
says 2 '--nodes="0-x" is not a list of ranks' vfabrun --node-command "$local" --nodes a=0-x true
result "refused: no list of ranks" $? "$tmp/log"
says 2 'said "vfabrun-agent 9.9.9", which' vfabrun --node-command 'echo vfabrun-agent 9.9.9; sleep 9; {command}' --nodes a true
result "refused: another version" $? "$tmp/log"
version=$(vfabrun --version | cut -d' ' -f2)
for text in nonsense 'job 8' 'job 8 0,0' 'job 9999 0' 'here 0,x' 'end 1 0' 'out 0 0 99999' 'out 0 0 3'; do
	says 2 "a: said \"$text\", which" vfabrun --node-command \
		"echo welcome; echo vfabrun-agent $version; echo $text; sleep 9; {command}" --nodes a true &&
		grep -qx welcome "$tmp/log"
	result "refused: an agent that says '$text'" $? "$tmp/log"
done

wait $silent
[ $? = 137 ] && grep -q '^vfabrun: b: nothing was heard of it' "$tmp/silent.log"
result "a node that falls silent is lost" $? "$tmp/silent.log"
kill -CONT "$agent" 2>/dev/null
until_true 30 sh -c '! pgrep -f "[s]leep 300"'
result "and nothing of it runs" $?
echo "1..$count"
exit "$failed"
