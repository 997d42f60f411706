#define _GNU_SOURCE
#include "CConfine.h"

#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int coffre_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }

/* MARK: Landlock, landlock(7). Numbers and structures as in linux/landlock.h, which may be older than the
   kernel. */

#define LANDLOCK_CREATE 444
#define LANDLOCK_ADD 445
#define LANDLOCK_RESTRICT 446

struct rules {
  uint64_t files, net, scoped;
};

struct below {
  uint64_t access;
  int32_t path;
} __attribute__((packed));

enum {
  EXECUTE = 1 << 0,
  WRITE_FILE = 1 << 1,
  READ_FILE = 1 << 2,
  READ_DIR = 1 << 3,
  REMOVE_DIR = 1 << 4,
  REMOVE_FILE = 1 << 5,
  MAKE_DIR = 1 << 7,
  MAKE_REG = 1 << 8,
  MAKE_SOCK = 1 << 9,
  REFER = 1 << 13,
  TRUNCATE = 1 << 14,
};

/* All rights on files a version knows of: 13 at first, then REFER, TRUNCATE and IOCTL_DEV. */
static uint64_t file_rights(int version) {
  int count = version < 2 ? 13 : version < 3 ? 14 : version < 5 ? 15 : 16;
  return (1ull << count) - 1;
}

int coffre_landlock_version(void) {
  long version = syscall(LANDLOCK_CREATE, NULL, 0, 1);
  return version > 0 ? (int)version : 0;
}

int coffre_landlock_rules(int version) {
  /* TCP: neither bind nor connect. */
  struct rules rules = {file_rights(version), version >= 4 ? 3 : 0, 0};
  size_t size = version >= 4 ? 16 : 8;
  return (int)syscall(LANDLOCK_CREATE, &rules, size, 0);
}

int coffre_landlock_allow(int rules, int version, int path, int changing) {
  struct stat status;
  if (fstat(path, &status) != 0) return -1;
  uint64_t access = READ_FILE | READ_DIR;
  if (changing)
    access |= WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | REFER | TRUNCATE;
  if (!S_ISDIR(status.st_mode)) access &= WRITE_FILE | READ_FILE | TRUNCATE;
  struct below below = {access & file_rights(version), path};
  return (int)syscall(LANDLOCK_ADD, rules, 1, &below, 0);
}

int coffre_landlock_enter(int rules) { return (int)syscall(LANDLOCK_RESTRICT, rules, 0); }

/* MARK: seccomp(2) */

#if defined(__x86_64__)
#define OUR_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OUR_ARCH AUDIT_ARCH_AARCH64
#endif

static const int refused[] = {
    /* No network, and no other socket: those needed are open. */
    SYS_socket, SYS_socketpair, SYS_bind, SYS_connect, SYS_listen,
    /* No program. */
    SYS_execve, SYS_execveat,
#ifdef SYS_fork
    SYS_fork, SYS_vfork,
#endif
    /* What is changed by its path alone: Landlock knows nothing of it, nor of truncate(2) before Linux 6.2. */
    SYS_truncate, SYS_fchmodat, 452 /* fchmodat2 */, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr,
    SYS_lremovexattr, 463 /* setxattrat */, 466 /* removexattrat */, SYS_utimensat, 469 /* file_setattr */,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    /* No signal for another process; see below for those of this one. */
    SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, 424 /* pidfd_send_signal */,
    /* No look into another process. */
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_perf_event_open, SYS_bpf,
    SYS_userfaultfd, 438 /* pidfd_getfd */, 440 /* process_madvise */,
    /* No other filesystem. */
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_swapon, SYS_swapoff,
    SYS_open_by_handle_at, 428 /* open_tree */, 429 /* move_mount */, 430 /* fsopen */, 431 /* fsconfig */,
    432 /* fsmount */, 433 /* fspick */, 442 /* mount_setattr */,
    /* A way around this very filter: it opens sockets by itself. */
    425 /* io_uring_setup */, 426 /* io_uring_enter */, 427 /* io_uring_register */,
    /* Nothing of the machine. */
    SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
    SYS_reboot, SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_sethostname, SYS_setdomainname, SYS_syslog, SYS_quotactl,
    SYS_add_key, SYS_request_key, SYS_keyctl,
#ifdef SYS_ioperm
    SYS_ioperm, SYS_iopl,
#endif
};

#define REFUSE(number) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (number))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(value) UNLESS(value, 1)
#define UNLESS(value, skipped) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped)

int coffre_refuse_calls(void) {
#ifdef OUR_ARCH
  enum { COUNT = sizeof refused / sizeof *refused };
  struct sock_filter filter[2 * COUNT + 48];
  unsigned short length = 0;
#define ADD(...) filter[length++] = (struct sock_filter)__VA_ARGS__
  /* The numbers are those of one architecture: a call of another one is none of ours. */
  ADD(LOAD(arch));
  ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OUR_ARCH, 1, 0));
  ADD(REFUSE(EPERM));
  ADD(LOAD(nr));
#ifdef __x86_64__
  /* Nor those of x32. */
  ADD(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  ADD(REFUSE(EPERM));
#endif
  for (int i = 0; i < COUNT; i++) {
    ADD(UNLESS((unsigned)refused[i], 1));
    ADD(REFUSE(EPERM));
  }
  /* Its flags are behind a pointer; glibc then takes clone(2). */
  ADD(UNLESS(435 /* clone3 */, 1));
  ADD(REFUSE(ENOSYS));
  /* A thread, but no process. On both architectures the flags come first, in the lower half. */
  ADD(UNLESS(SYS_clone, 4));
  ADD(LOAD(args[0]));
  ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  ADD(REFUSE(EPERM));
  ADD(ALLOW);
  /* A signal for a thread of this very process, by pthread_kill(3) or abort(3). */
  ADD(UNLESS(SYS_tgkill, 4));
  ADD(LOAD(args[0]));
  ADD(IF((unsigned)getpid()));
  ADD(ALLOW);
  ADD(REFUSE(EPERM));
  /* Limits of this process alone: one of another could end it. */
  ADD(UNLESS(SYS_prlimit64, 4));
  ADD(LOAD(args[0]));
  ADD(IF(0));
  ADD(ALLOW);
  ADD(REFUSE(EPERM));
  /* Who gets a signal when something can be read: fcntl(2), ioctl(2). */
  ADD(UNLESS(SYS_fcntl, 6));
  ADD(LOAD(args[1]));
  ADD(IF(F_SETOWN));
  ADD(REFUSE(EPERM));
  ADD(IF(F_SETOWN_EX));
  ADD(REFUSE(EPERM));
  ADD(ALLOW);
  ADD(UNLESS(SYS_ioctl, 6));
  ADD(LOAD(args[1]));
  ADD(IF(FIOSETOWN));
  ADD(REFUSE(EPERM));
  ADD(IF(SIOCSPGRP));
  ADD(REFUSE(EPERM));
  ADD(ALLOW);
  ADD(ALLOW);
  struct sock_fprog program = {length, filter};
  long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
  /* A positive number is a thread that could not be brought to it. */
  return result == 0 ? 0 : result > 0 ? ESRCH : errno;
#else
  return ENOSYS;
#endif
}
