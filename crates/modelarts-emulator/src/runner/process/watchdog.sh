# Ends all processes of the jobs of an emulator, and of installations of packages for them, when
# the process that holds it has gone.
#
# $1 is a text in the environment of each of these processes, $2 the temporary directory; either
# may be empty. Standard input says which process groups live, "+1234" and "-1234", and ends with
# the emulator; "=" says that the emulator ends in order and removes its directory itself. That is
# left to it if there never was a group: the name may be in use again by then.
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
# Processes that have left their groups, if there was a group; an empty $1 would be found in all
# processes. They may start others while they are ended, but not for ever.
while [ -n "$1" ] && [ "$scans" -lt 100 ]; do
    scans=$((scans + 1))
    strays=$(grep -lsF -- "$1" /proc/[0-9]*/environ)
    [ -n "$strays" ] || break
    for stray in $strays; do
        stray=${stray#/proc/}
        kill -s KILL "${stray%/environ}"
    done
done
# The last of them may still put something there.
removals=0
while [ -n "$2" ] && [ "$removals" -lt 100 ] && ! rm -rf -- "$2"; do
    removals=$((removals + 1))
done
