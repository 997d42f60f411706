# codes.sh CHECKS: every exit code of `coffre help exit-codes`, by a command that ends with it.
# In a folder with `vault`, `mount` and `password`; the vault is locked.
set -eu
seen=

# expect CODE WORDS...: the command ends with it, and says why in one line.
expect() {
  code=$1
  shift
  found=0
  timeout 120 "$COFFRE" "$@" > output 2> errors || found=$?
  if test "$found" != "$code"; then
    echo "$found, not $code: $*"
    cat errors
    exit 1
  fi
  if test "$code" != 0 && test "$(grep -c '^coffre: error: ' errors)" != 1; then
    echo "not one line of error: $*"
    cat errors
    exit 1
  fi
  ! grep -v '^coffre: ' errors || { echo "a line of another: $*"; exit 1; }
  seen="$seen $code"
}

with="--password-file password"
echo 'a password that is wrong' > wrong
mkdir full other
echo something > full/file
: > nothing

expect 0 help exit-codes
# The codes of the check and of a damaged journal: VerifyTests and DamagedJournalTests.
listed=$(sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p' output | grep -v '^2[0-9]')

expect 2
expect 2 frobnicate
expect 2 mount vault
expect 2 mount vault mount --no-such-option
expect 2 mount vault mount -o no_such_option $with
expect 2 mount vault mount --lock-after tomorrow $with
expect 2 init new --password-file a --password-fd 3
expect 3 mount vault mount --password-file wrong
expect 3 passwd vault --password-file wrong --new-password-file password
expect 6 mount none mount $with
expect 6 mount full mount $with
expect 6 info none
expect 6 passwd other $with --new-password-file password
expect 8 init full $with
expect 8 init vault $with
test "$(ls full)" = file
expect 9 mount vault none/deeper $with
expect 9 mount vault password $with
expect 9 mount vault full $with
mkdir -p vault/inside
expect 10 mount vault vault/inside $with
expect 10 mount vault vault $with
rmdir vault/inside
expect 16 mount vault mount --password-file nothing
expect 16 mount vault mount --password-file none
expect 16 mount vault mount --password-command false
expect 17 init none/new $with
expect 18 lock vault
expect 18 lock mount

# No security module is asked for such a thing: the kernel refuses the option.
expect 12 mount vault mount -o context=none $with
if mountpoint -q mount; then exit 1; fi

expect 0 mount vault mount $with
expect 11 mount vault other $with
expect 11 mount vault mount $with
expect 11 mount vault other --read-only $with
echo older > mount/file
# Those who look in another session's folder do not find it.
kept=$XDG_RUNTIME_DIR
mkdir -m 700 session
export XDG_RUNTIME_DIR=$PWD/session
expect 19 lock mount
export XDG_RUNTIME_DIR=$kept
expect 0 lock vault

# A copy that was put back.
cp -a vault copy
expect 0 mount vault mount $with
echo newer > mount/file
expect 0 lock vault
mv vault newest
cp -a copy vault
expect 13 mount vault mount $with
grep -q 'hint: .*--accept-older' errors
expect 0 mount vault mount --read-only $with
grep -q 'warning: ' errors
test "$(cat mount/file)" = older
expect 0 lock vault
expect 13 mount vault mount $with
expect 0 mount vault mount --accept-older $with
test "$(cat mount/file)" = older
echo since > mount/file
expect 0 lock vault
# From now on it is the true one, and the other line of history is refused.
expect 0 mount vault mount $with
test "$(cat mount/file)" = since
expect 0 lock vault
mv vault accepted
mv newest vault
expect 13 mount vault mount $with
rm -r vault
mv accepted vault

# Damage, each in a copy; the vault's state on this machine does not know those.
export XDG_STATE_HOME=$PWD/elsewhere
damaged() {
  rm -rf copy
  cp -a vault copy
}
damaged
python3 "$1/configuration.py" zeros copy/coffre.conf copy/coffre.conf.copy
expect 4 mount copy mount $with
damaged
python3 "$1/configuration.py" version copy/coffre.conf copy/coffre.conf.copy
expect 15 mount copy mount $with
damaged
rm copy/coffre.conf copy/coffre.conf.copy
expect 7 mount copy mount $with
expect 7 init copy $with
expect 7 info copy
damaged
for name in copy/root.*; do
  head -c "$(stat -c %s "$name")" /dev/zero > zeros
  cp zeros "$name"
done
expect 5 mount copy mount $with
damaged
rm copy/root.*
expect 5 mount copy mount $with
if mountpoint -q mount; then exit 1; fi

# A full device, instead of the full disk that only root could make.
found=0
"$COFFRE" info vault > /dev/full 2> errors || found=$?
test $found = 14 || { echo "$found, not 14"; exit 1; }
seen="$seen 14"

test "$(echo $listed)" = "$(echo $seen | tr ' ' '\n' | sort -nu | tr '\n' ' ' | sed 's/ $//')" || {
  echo "listed: $listed"
  echo "seen: $seen"
  exit 1
}
echo passed
