#pragma once

// Everything of libfuse that differs between its versions, or that Swift cannot import, in one place.
// The API level is that of libfuse 3.14 (Debian 12); newer libraries keep it. What became a macro
// over versioned symbols in 3.17 (fuse_session_new, fuse_session_custom_io, fuse_set_log_func's
// friends) is called from inline functions here, so that Swift sees plain functions.
#define FUSE_USE_VERSION 314
#include <fuse3/fuse_lowlevel.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

// Behind _GNU_SOURCE in glibc, which Swift's importer does not set. syncfs(2).
extern int syncfs(int descriptor);

// MARK: session

static inline struct fuse_session *coffre_fuse_session_new(
    struct fuse_args *arguments, const struct fuse_lowlevel_ops *operations, void *bridge) {
  return fuse_session_new(arguments, operations, sizeof(*operations), bridge);
}

// Our own read and writev on the device: see Wire.swift for what they add.
static inline int coffre_fuse_custom_io(
    struct fuse_session *session,
    ssize_t (*read)(int, void *, size_t, void *),
    ssize_t (*writev)(int, struct iovec *, int, void *)) {
  struct fuse_custom_io io = {.read = read, .writev = writev};
  return fuse_session_custom_io(session, &io, fuse_session_fd(session));
}

static inline void coffre_fuse_drop_log(
    enum fuse_log_level level, const char *format, va_list arguments) {
  (void)level, (void)format, (void)arguments;
}

// libfuse's messages may carry names of files: none of them is kept.
static inline void coffre_fuse_silence(void) { fuse_set_log_func(coffre_fuse_drop_log); }

// MARK: capabilities
//
// Their type differs: `1 << n` in 3.14, an enum in 3.17.0, unsigned long after. Here they become one.

// Asked for where the kernel offers it.
static inline uint32_t coffre_fuse_wanted(void) {
  return (uint32_t)(
      // Small writes gather in the page cache: the largest single gain (2.6 to 6 times).
      FUSE_CAP_WRITEBACK_CACHE
      // Lookups and listings of one directory run side by side; the volume has its own locks.
      | FUSE_CAP_PARALLEL_DIROPS
      // Several reads of one file at once: read-ahead keeps both cores busy.
      | FUSE_CAP_ASYNC_READ | FUSE_CAP_ASYNC_DIO
      // O_TRUNC arrives with OPEN, so that truncation and a new file key are one step of the volume.
      | FUSE_CAP_ATOMIC_O_TRUNC
      // Attributes come with the listing where somebody wants them: `du` and `ls -l` halve their time.
      | FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO
      // Targets of links are kept like pages, and dropped like pages at lock.
      | FUSE_CAP_CACHE_SYMLINKS
      // Access control lists: the kernel enforces what the volume stores.
      | FUSE_CAP_POSIX_ACL
      // The umask comes to us, because a default list of the directory replaces it, acl(5).
      | FUSE_CAP_DONT_MASK
      // Pages go when we say so, and only then: our own mtime of a file that is being written differs
      // from the kernel's, and must not throw its pages away.
      | FUSE_CAP_EXPLICIT_INVAL_DATA);
}

// Whether the kernel takes ENOSYS for OPENDIR to mean that directories need no opening (Linux 5.1). It asks
// no more, and keeps listings as it keeps pages.
static inline int coffre_fuse_opens_directories(uint32_t capable) {
  return (capable & (uint32_t)FUSE_CAP_NO_OPENDIR_SUPPORT) != 0;
}

static inline uint32_t coffre_fuse_refused(void) {
  return (uint32_t)(
      // Takes precedence over EXPLICIT_INVAL_DATA; see there.
      FUSE_CAP_AUTO_INVAL_DATA
      // Every byte passes through our memory, to be sealed: splice measured 10 % more processor time.
      | FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE
      // Version 1: we would have to clear set-uid bits at every write, whoever writes. Version 2, which
      // says when, is taken in Wire.swift; on a kernel without it the kernel clears them by setattr.
      | FUSE_CAP_HANDLE_KILLPRIV
      // Locks between programs of this machine are the kernel's business; a lock that waits would hold
      // one of our threads.
      | FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS);
}

// MARK: the request as it came from the kernel; libfuse 3.14 does not hand these fields on

static inline uint32_t coffre_fuse_opcode(const void *request, size_t size) {
  return size < sizeof(struct fuse_in_header) ? 0 : ((const struct fuse_in_header *)request)->opcode;
}

// The inode a request is for; of a name's, the directory's.
static inline uint64_t coffre_fuse_inode(const void *request, size_t size) {
  return size < sizeof(struct fuse_in_header) ? 0 : ((const struct fuse_in_header *)request)->nodeid;
}

// Whether set-uid and set-gid bits are to be cleared, as HANDLE_KILLPRIV_V2 makes the kernel say.
static inline int coffre_fuse_kills_set_id(const void *request, size_t size) {
  const char *body = (const char *)request + sizeof(struct fuse_in_header);
  if (size < sizeof(struct fuse_in_header) + sizeof(struct fuse_open_in)) return 0;
  size -= sizeof(struct fuse_in_header);
  switch (((const struct fuse_in_header *)request)->opcode) {
  case FUSE_WRITE:
    return size >= sizeof(struct fuse_write_in)
        && (((const struct fuse_write_in *)body)->write_flags & FUSE_WRITE_KILL_SUIDGID);
  case FUSE_SETATTR:
    return size >= sizeof(struct fuse_setattr_in)
        && (((const struct fuse_setattr_in *)body)->valid & FATTR_KILL_SUIDGID);
  case FUSE_OPEN:
    return (((const struct fuse_open_in *)body)->open_flags & FUSE_OPEN_KILL_SUIDGID) != 0;
  case FUSE_CREATE:
    return size >= sizeof(struct fuse_create_in)
        && (((const struct fuse_create_in *)body)->open_flags & FUSE_OPEN_KILL_SUIDGID);
  }
  return 0;
}

// Whether the kernel offers HANDLE_KILLPRIV_V2 (Linux 5.11) in this INIT request.
static inline int coffre_fuse_init_offers_killpriv(const void *request, size_t size) {
  if (size < sizeof(struct fuse_in_header) + 16) return 0;
  const char *body = (const char *)request + sizeof(struct fuse_in_header);
  return (((const struct fuse_init_in *)body)->flags & FUSE_HANDLE_KILLPRIV_V2) != 0;
}

// Accepts HANDLE_KILLPRIV_V2 in an INIT reply that is about to be sent.
static inline void coffre_fuse_init_take_killpriv(struct iovec *parts, int count) {
  if (count < 2 || parts[0].iov_len < sizeof(struct fuse_out_header) || parts[1].iov_len < 24) return;
  if (((const struct fuse_out_header *)parts[0].iov_base)->error != 0) return;
  ((struct fuse_init_out *)parts[1].iov_base)->flags |= FUSE_HANDLE_KILLPRIV_V2;
}

// Whether an answer, as it is sent, is not an error.
static inline int coffre_fuse_is_success(const struct iovec *parts, int count) {
  return count > 0 && parts[0].iov_len >= sizeof(struct fuse_out_header)
      && ((const struct fuse_out_header *)parts[0].iov_base)->error == 0;
}

// MARK: waking a worker out of read(2)

// SIGURG, because its default is to be ignored: a stray one harms nobody.
#define COFFRE_FUSE_WAKE_SIGNAL SIGURG
static inline void coffre_fuse_wake_handler(int number) { (void)number; }

// No SA_RESTART: a blocked read(2) has to end with EINTR.
static inline void coffre_fuse_install_wake_handler(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = coffre_fuse_wake_handler;
  sigaction(COFFRE_FUSE_WAKE_SIGNAL, &action, NULL);
}

static inline void coffre_fuse_accept_wake_signal(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, COFFRE_FUSE_WAKE_SIGNAL);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
