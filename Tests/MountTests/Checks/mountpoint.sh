# mountpoint.sh: the empty mount point is no place to save to. For root, in a folder with `vault` and
# `password`, as
#     unshare --mount --propagation private sh mountpoint.sh
set -eu

fail() {
  echo "failed: $*"
  exit 1
}

# open PLACE OPTIONS...: mounts without a word, or with what it says in `errors`.
open() {
  place=$1
  shift
  "$COFFRE" mount vault "$place" --password-file password "$@" 2> errors || {
    cat errors
    fail "a mount at $place"
  }
  mountpoint -q "$place" || fail "$place is mounted"
}
# clear PLACE: a lock of a dead mount, as soon as its process has come to its end.
clear() {
  for _ in 1 2 3 4 5 6 7 8 9; do
    if "$COFFRE" lock "$1" 2> /dev/null; then return; fi
    sleep 0.2
  done
  fail "a lock clears what is dead at $1"
}
close() { "$COFFRE" lock vault; }
quiet() { if grep 'mount point' errors; then fail "$1"; fi; }

# refuses PLACE WHAT: nothing can be saved there, not even by root.
refuses() {
  if mountpoint -q "$1"; then fail "$2: nothing is mounted"; fi
  if (echo secret > "$1/saved") 2> /dev/null; then fail "$2: a save in $1"; fi
  if mkdir "$1/folder" 2> /dev/null; then fail "$2: a folder in $1"; fi
  test -z "$(ls -A "$1")" || fail "$2: something is in $1"
}

stranger() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
trap '"$COFFRE" lock vault 2> /dev/null || true; chattr -i place flags/place mine 2> /dev/null || true' EXIT
mkdir place
chmod 755 . place

# A folder of root's, three times: locked, after kill -9 of the daemon, and of all there is.
open place
quiet "a plain mount"
close
refuses place "after a lock"
for killed in daemon both; do
  open place
  quiet "a mount on what is guarded"
  echo kept > place/file
  daemon=$("$COFFRE" status --json | sed -n 's/.*"process": \([0-9]*\).*/\1/p')
  watcher=$(sed -n 's/^PPid:\t//p' "/proc/$daemon/status")
  test $killed = daemon || kill -9 "$watcher"
  kill -9 "$daemon"
  if test $killed = both; then
    clear place
  fi
  while mountpoint -q place; do sleep 0.05; done
  refuses place "after kill -9 ($killed)"
done
test "$(stat -c %a place)" = 755 || fail "the mode is as it was"

# Taken back as the documents say, and left alone.
chattr -i place
echo free > place/file
rm place/file
open place -o noguard
quiet "a mount without guard"
close
echo free > place/file
rm place/file

# A folder of somebody else's: its owner does not write there, and gets it back by himself.
install -d -o nobody -m 755 theirs
open theirs
quiet "a folder of another user"
close
if stranger sh -c 'echo secret > theirs/saved' 2> /dev/null; then fail "the owner saves"; fi
test "$(stat -c %a theirs)" = 555 || fail "mode $(stat -c %a theirs)"
stranger chmod u+w theirs
stranger sh -c 'echo free > theirs/saved' || fail "the owner has it back"

# No flag for root, on ramfs: that is said, and the mount is there all the same.
mkdir flags
mount -t ramfs ramfs flags
mkdir flags/place
open flags/place
grep -q 'warning: the mount point can.t be write-protected' errors || fail "it is said"
test "$(wc -l < errors)" = 1 || fail "in one line"
close
mount -o remount,ro flags
open flags/place
quiet "nobody writes there at all"
close
umount flags
mount -t tmpfs tmpfs flags
mkdir flags/place
open flags/place
close
grep -q "mount point" errors || refuses flags/place "on tmpfs"

# One that was missing is made, for its owner alone, and goes with a lock.
open new/
umount new
test "$(stat -c %a new)" = 700 || fail "it is made with mode $(stat -c %a new)"
refuses new "after an unmount"
while ! "$COFFRE" mount vault new --password-file password; do sleep 0.1; done
close
test ! -e new || fail "a lock takes it away"
open new
daemon=$("$COFFRE" status --json | sed -n 's/.*"process": \([0-9]*\).*/\1/p')
watcher=$(sed -n 's/^PPid:\t//p' "/proc/$daemon/status")
kill -9 "$watcher" "$daemon"
clear new
test ! -e new || fail "a lock takes the mount point of a dead mount away"
echo wrong > wrong
if "$COFFRE" mount vault new --password-file wrong 2> /dev/null; then fail "a wrong password"; fi
if "$COFFRE" mount vault new --password-file password -o context=none 2> /dev/null; then
  fail "a mount that is refused"
fi
test ! -e new || fail "a mount that fails leaves nothing"
test -d place || fail "a folder that was there stays"

# One that its owner has removed; another one that he made has its inode now, on ext4.
open new
umount new
inode=$(stat -c %i new)
chattr -i new
rmdir new
mkdir mine
test "$(stat -c %i mine)" = "$inode" || echo "no inode is used again here"
while ! "$COFFRE" mount vault mine --password-file password; do sleep 0.1; done
close
test -d mine || fail "a lock takes a folder away that was not made for it"
rm "$XDG_STATE_HOME"/coffre/mountpoint-*
if ls "$XDG_STATE_HOME"/coffre/mountpoint-* 2> /dev/null; then fail "a mark is left"; fi
echo passed
