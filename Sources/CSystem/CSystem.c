#define _GNU_SOURCE
#include "CSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const int coffre_o_path = O_PATH, coffre_o_directory = O_DIRECTORY,
          coffre_o_nofollow = O_NOFOLLOW, coffre_o_cloexec = O_CLOEXEC;

int coffre_open(int directory, const char *path, int flags, unsigned mode) {
  return openat(directory, path, flags, mode);
}

int coffre_fallocate(int fd, int mode, off_t offset, off_t length) {
  return fallocate(fd, mode, offset, length);
}

int coffre_rename_new(int from, const char *name, int to, const char *new_name) {
  if (renameat2(from, name, to, new_name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  /* A filesystem without it: link(2) never replaces a name either. */
  if (linkat(from, name, to, new_name, 0) != 0) return -1;
  return unlinkat(from, name, 0);
}

static int has_flag(int fd, int flag) {
  int flags = 0;
  return ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & flag) != 0;
}

static int set_flag(int fd, int flag, int on) {
  int flags = 0;
  if (ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0) return -1;
  if (((flags & flag) != 0) == (on != 0)) return 0;
  flags ^= flag;
  return ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

int coffre_is_immutable(int fd) { return has_flag(fd, FS_IMMUTABLE_FL); }
int coffre_set_immutable(int fd, int on) { return set_flag(fd, FS_IMMUTABLE_FL, on); }
int coffre_is_undumped(int fd) { return has_flag(fd, FS_NODUMP_FL); }
int coffre_set_undumped(int fd, int on) { return set_flag(fd, FS_NODUMP_FL, on); }

int coffre_birth(int fd, uint64_t *nanoseconds) {
  struct statx status;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &status) != 0) return -1;
  if ((status.stx_mask & STATX_BTIME) == 0 || status.stx_btime.tv_sec < 0) return -1;
  *nanoseconds = (uint64_t)status.stx_btime.tv_sec * 1000000000u + status.stx_btime.tv_nsec;
  return 0;
}

int coffre_memfd_secret(void) {
#ifdef SYS_memfd_secret
  return (int)syscall(SYS_memfd_secret, O_CLOEXEC);
#else
  errno = ENOSYS;
  return -1;
#endif
}

int coffre_accept4(int fd) { return accept4(fd, NULL, NULL, SOCK_CLOEXEC); }

int coffre_peer(int fd, int *pid, unsigned *uid, unsigned *gid) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *pid = peer.pid;
  *uid = peer.uid;
  *gid = peer.gid;
  return 0;
}

long coffre_getrandom(void *buffer, size_t length) { return getrandom(buffer, length, 0); }

int coffre_limit_core(void) {
  struct rlimit none = {0, 0};
  return setrlimit(RLIMIT_CORE, &none);
}

int coffre_mlock(void *address, size_t length) { return mlock(address, length); }

int coffre_advise_secret(void *address, size_t length) {
  int taken = 0;
  if (madvise(address, length, MADV_DONTDUMP) == 0) taken++;
  if (madvise(address, length, MADV_WIPEONFORK) == 0) taken++;
  return taken;
}

void coffre_rwlock_init(pthread_rwlock_t *lock) {
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  /* Readers would starve writers otherwise. No reader takes the same lock twice. */
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(lock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

void coffre_cond_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

void coffre_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }

static _Thread_local void *slot;
static _Thread_local void (*slot_release)(void *);
static pthread_key_t slot_key;
static pthread_once_t slot_once = PTHREAD_ONCE_INIT;
static int slot_failure;

static void slot_end(void *value) {
  slot = NULL;
  slot_release(value);
}

static void slot_make(void) { slot_failure = pthread_key_create(&slot_key, slot_end); }

void *coffre_thread_slot(void) { return slot; }

int coffre_set_thread_slot(void *value, void (*release)(void *)) {
  pthread_once(&slot_once, slot_make);
  int failure = slot_failure ? slot_failure : pthread_setspecific(slot_key, value);
  if (failure != 0) return failure;
  slot = value;
  slot_release = release;
  return 0;
}
