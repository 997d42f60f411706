# backup.sh TOOL SWITCHES HOME OUT: backs HOME up with a program and some of its switches, and puts what
# the backup holds back below OUT. Beside OUT is room for the rest.
set -eu
tool=$1 switches=$2 home=$3 out=$4
work=$out.work
mkdir -p "$out" "$work"
export HOME="$work" XDG_CACHE_HOME="$work/cache" XDG_CONFIG_HOME="$work/config"
parent=$(dirname "$home")
name=$(basename "$home")
# What is printed must not change a file of the home folder while that is read.
exec > "$work/log" 2>&1

case $tool in
tar)
  # shellcheck disable=SC2086
  tar -C "$parent" $switches -cf "$work/archive" "$name" || test $? = 1 # a file changed meanwhile
  tar -C "$out" -xf "$work/archive"
  ;;
rsync)
  # shellcheck disable=SC2086
  rsync -a $switches "$home" "$out/"
  ;;
restic)
  export RESTIC_REPOSITORY="$work/repository" RESTIC_PASSWORD=password
  restic init
  # shellcheck disable=SC2086
  restic backup $switches "$home"
  restic check
  restic restore latest --target "$out"
  ;;
borg)
  export BORG_REPO="$work/repository" BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes BORG_BASE_DIR="$work"
  borg init -e none
  # shellcheck disable=SC2086
  borg create $switches ::archive "$home" || test $? = 1 # a file changed meanwhile
  (cd "$out" && borg extract ::archive)
  ;;
bup)
  export BUP_DIR="$work/repository"
  bup init
  # shellcheck disable=SC2086
  bup index $switches "$home"
  bup save -n archive "$home"
  bup restore -C "$out" "/archive/latest/."
  ;;
duplicity)
  # shellcheck disable=SC2086
  duplicity full --no-encryption --archive-dir "$work/archive" $switches "$home" "file://$work/repository"
  duplicity restore --no-encryption --archive-dir "$work/archive" "file://$work/repository" "$out/back"
  ;;
*)
  echo "no tool $tool"
  exit 2
  ;;
esac
