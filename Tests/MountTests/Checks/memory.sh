# memory.sh CHECKS KEY: what the process of a locked vault has left in its memory when it ends. KEY is the master
# key in hexadecimal digits. For root, in a folder with `vault`, `mount` and `password`.
set -eu

fail() {
  echo "failed: $*"
  exit 1
}

content=planted-plaintext-7f3a91c2
name=name-of-a-file-51c0e7
value=attribute-value-88213e
# In a value of 60000 bytes: what is not small is given back another way.
long=long-attribute-value-2f6b90d1
hex() { printf %s "$1" | od -An -v -tx1 | tr -d ' \n'; }
patterns="$2 $(hex "$(cat password)") $(hex $content) $(hex $name) $(hex $value) $(hex $long)"
count() { python3 "$1/memory.py" "$daemon" $patterns 2> where; }

"$COFFRE" mount vault mount --password-file password
daemon=$("$COFFRE" status --json | sed -n 's/.*"process": \([0-9]*\).*/\1/p')
mkdir mount/$name
for file in mount/$name/$name mount/other; do
  seq 20000 | sed "s/^/$content /" > $file
  setfattr -n user.some -v $value $file
  setfattr -n user.long -v "$(yes $long | tr '\n' ' ' | head -c 60000)" $file
  sync $file
done
ln -s $name mount/link
# Through all that reads.
echo 3 > /proc/sys/vm/drop_caches
for file in mount/$name/$name mount/other; do
  cat $file > /dev/null
  getfattr -d $file > /dev/null
done
ls -lR mount > /dev/null
rm mount/other
# Last, so that no request for another file has wiped it.
echo 3 > /proc/sys/vm/drop_caches
cat mount/$name/$name > /dev/null

checks=$1
set -- "$1" $(count "$1")
test $# = 8 || fail "no count: $(cat where)"
test "$2" -gt 1000000 || fail "$2 bytes were looked at"
test "$3" = 0 || ! grep -qs Y /sys/module/secretmem/parameters/enable || fail "the key can be read while it is mounted"
test "$4" = 0 || fail "the password is there while it is mounted"
test "$5" -gt 0 || fail "the content is found while it is mounted, or the look finds nothing"
test "$6" -gt 0 || fail "the name is found while it is mounted, or the look finds nothing"

# It is held for a while at its very last call.
strace -f -q -p "$daemon" -o trace -e trace=exit_group -e inject=exit_group:delay_enter=15s &
tracer=$!
while ! grep -q '^TracerPid:[^0-9]*[1-9]' "/proc/$daemon/status"; do sleep 0.1; done
sleep 1
"$COFFRE" lock vault &
locker=$!
while ! grep -q 'exit_group(' trace; do sleep 0.1; done
set -- $(count "$checks")
test $# = 7 || fail "no count at the end: $(cat where)"
test "$1" -gt 1000000 || fail "$1 bytes were looked at"
shift
test "$*" = "0 0 0 0 0 0" || fail "left at the end (key, password, content, name, value, long value): $*
$(cat where)"
kill $tracer
wait $locker
echo passed
