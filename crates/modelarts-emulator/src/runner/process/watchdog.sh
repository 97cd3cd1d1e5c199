# Ends all processes of an emulator's jobs, and of package installations for them, when the process
# of the emulator has ended.
#
# $1 is a string in the environment of each of these processes, $2 the temporary directory; either
# may be empty. $3 is a pattern for a line in the limits of each process. Standard input reports the
# start ("+1234") and the end ("-1234") of groups, and closes with the emulator. "=" announces an
# orderly end, at which the emulator removes its directory itself; without any group, this script
# exits, because the directory may exist again.
trap '' HUP INT QUIT TERM TSTP
groups=' '
scans=100
while read -r line; do
    group=${line#[+-]}
    case $line in
    +*)
        groups="$groups$group "
        scans=0
        ;;
    -*) groups="${groups%% $group *} ${groups#* $group }" ;;
    =) [ "$scans" -lt 100 ] || exit 0 ;;
    esac
done
for group in $groups; do
    kill -s KILL -- "-$group"
done
# Ends processes that have left their groups, if a group was reported. An empty $1 would match all
# processes. These processes may start new ones meanwhile, so the number of scans is limited.
while [ -n "$1" ] && [ "$scans" -lt 100 ]; do
    scans=$((scans + 1))
    strays=$(
        grep -lsF -- "$1" /proc/[0-9]*/environ
        grep -ls -- "^$3" /proc/[0-9]*/limits
    )
    [ -n "$strays" ] || break
    for stray in $strays; do
        stray=${stray#/proc/}
        kill -s KILL "${stray%/*}"
    done
done
# Processes that are ending may still create files in the temporary directory.
removals=0
while [ -n "$2" ] && [ "$removals" -lt 100 ] && ! rm -rf -- "$2"; do
    removals=$((removals + 1))
done
