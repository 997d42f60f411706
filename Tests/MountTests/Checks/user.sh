# user.sh FOLDER: a vault of the user nobody, who mounts through fusermount3. For root, as
#     unshare --mount --propagation private sh user.sh FOLDER
set -eu
cd "$1"

fail() {
  echo "failed: $*"
  exit 1
}

# Runs something as a user, with nothing of root's environment.
as() {
  user=$1
  shift
  setpriv --reuid="$user" --regid=nogroup --clear-groups env -i PATH=/usr/bin:/bin \
    HOME="$PWD/home" XDG_STATE_HOME="$PWD/home/state" XDG_RUNTIME_DIR="$PWD/home/run" "$@"
}

mounted() { grep -q " $PWD/home/mount " /proc/self/mountinfo; }
open() { as nobody "$coffre" mount home/vault home/mount --password-file home/password "$@"; }

# Only root may use the device here: this namespace gets one as udev makes it.
if ! as nobody test -w /dev/fuse; then
  mkdir device
  mount -t tmpfs tmpfs device
  mknod -m 666 device/fuse c 10 229
  mount --bind device/fuse /dev/fuse
fi
coffre=$PWD/coffre
cp "$COFFRE" "$coffre"
chmod 755 "$coffre" .
install -d -o nobody -g nogroup -m 755 home home/mount
install -d -o nobody -g nogroup -m 700 home/run home/state
install -o nobody -m 600 password home/password
trap '{ as nobody "$coffre" lock --force home/mount || umount -l home/mount || true; } 2>/dev/null' EXIT

as nobody "$coffre" init home/vault --password-file home/password
open
mounted || fail "the mount is there"
grep " $PWD/home/mount " /proc/self/mountinfo | grep -q 'nosuid,nodev.*user_id=65534' ||
  fail "it is the user's, without set-uid bits and devices"
as nobody sh -c 'umask 022; seq 20000 > home/mount/file; chmod 755 home/mount'
test "$(as nobody stat -c %U home/mount/file)" = nobody || fail "files are the user's"
as nobody "$coffre" status | grep -q "$PWD/home/mount" || fail "status tells of it"

# The tag for backup programs is as a file of the user's that is not to be written.
as nobody sh -euc '
  cd home/mount
  echo own > own
  if cp own CACHEDIR.TAG 2> /dev/null; then echo "it is not to be written"; exit 1; fi
  grep -q ^Signature CACHEDIR.TAG
  cp -f own CACHEDIR.TAG
  test "$(cat CACHEDIR.TAG)" = own
  rm CACHEDIR.TAG own
  test ! -e CACHEDIR.TAG
  rm .nobackup
' || fail "a file of the user takes the place of the tag"

# Nobody else gets in, whatever the modes say; not even root.
if ls home/mount 2>/dev/null; then fail "root is kept out"; fi
if as daemon cat home/mount/file 2>/dev/null; then fail "others are kept out"; fi
if as daemon "$coffre" lock home/mount 2>/dev/null; then fail "others do not lock it"; fi
mounted || fail "it is there still"

# Locked while in use: a folder, a file.
as nobody sh -euc '
  cd home/mount
  exec 3<>file
  head -c 4096 <&3 > /dev/null
  "$0" lock ../vault 2> ../run/refusal && { echo "a busy mount is locked unasked"; exit 1; }
  grep -q "(sh): open, working folder$" ../run/refusal || { cat ../run/refusal; exit 1; }
  "$0" lock --force ../vault
  if cat <&3 > /dev/null 2>&1; then echo "a read works"; exit 1; fi
  if ls > /dev/null 2>&1; then echo "a listing works"; exit 1; fi
  if (echo more >&3) 2>/dev/null; then echo "a write works"; exit 1; fi
' "$coffre" || fail "a busy mount is locked"
if mounted; then fail "a busy mount is detached"; fi

# The empty mount point takes nothing, and is mounted on all the same.
refuses() {
  if as nobody sh -c "echo secret > home/$1/saved" 2>/dev/null; then fail "a save ($2)"; fi
  test "$(stat -c %a "home/$1")" = 555 || fail "mode $(stat -c %a "home/$1") ($2)"
}
refuses mount "after a lock"
open
daemon=$(as nobody "$coffre" status --json | sed -n 's/.*"process": \([0-9]*\).*/\1/p')
as nobody kill -9 "$(sed -n 's/^PPid:\t//p' "/proc/$daemon/status")" "$daemon"
umount -l home/mount
refuses mount "after kill -9 of all there is"
as nobody chmod u+w home/mount
open -o noguard
as nobody "$coffre" lock home/mount
test "$(stat -c %a home/mount)" = 755 || fail "it is left as it was"
as nobody sh -c 'echo free > home/mount/saved && rm home/mount/saved' || fail "nothing guards it"
as nobody chmod u-w home/mount
open -o noguard
as nobody "$coffre" lock home/mount
refuses mount "as it was"
install -d -o daemon -m 777 home/foreign
as nobody "$coffre" mount home/vault home/foreign --password-file home/password 2> errors ||
  fail "a mount on what belongs to another"
grep -q "can't be write-protected (it belongs to another user)" errors || fail "it is said"
as nobody "$coffre" lock home/vault
as nobody "$coffre" mount home/vault home/new --password-file home/password
as nobody "$coffre" lock home/vault
test ! -e home/new || fail "a mount point that was made goes with a lock"

# After kill -9 of the daemon, and of the process that watches it as well: one command.
for killed in daemon both; do
  open
  daemon=$(as nobody "$coffre" status --json | sed -n 's/.*"process": \([0-9]*\).*/\1/p')
  watcher=$(sed -n 's/^PPid:\t//p' "/proc/$daemon/status")
  test $killed = daemon || as nobody kill -9 "$watcher"
  as nobody kill -9 "$daemon"
  test $killed = daemon || mounted || fail "the dead mount is there"
  open || fail "a mount after kill -9 ($killed)"
  test "$(as nobody tail -n 1 home/mount/file)" = 20000 || fail "the data is there ($killed)"
  as nobody "$coffre" lock home/vault
done

# Where an administrator allows it, others get in as far as modes let them.
printf 'mount_max = 1000\n' > fuse.conf
mount --bind fuse.conf /etc/fuse.conf
status=0
open --allow-other 2> errors || status=$?
test $status = 12 || fail "allow_other needs user_allow_other: $status"
grep -q 'hint: .*user_allow_other' errors || fail "it is said why"
if mounted; then fail "a refused mount leaves nothing"; fi
echo user_allow_other >> fuse.conf
open --allow-other
as nobody sh -c 'umask 077; echo secret > home/mount/secret'
test "$(as daemon tail -n 1 home/mount/file)" = 20000 || fail "others read what they may"
if as daemon cat home/mount/secret 2>/dev/null; then fail "others read what is not theirs"; fi
if (as daemon touch home/mount/new) 2>/dev/null; then fail "others write"; fi
ls home/mount > /dev/null || fail "root gets in"
as nobody "$coffre" lock home/mount
if mounted; then fail "it is gone"; fi
echo passed
