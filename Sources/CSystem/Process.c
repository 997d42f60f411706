#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int map(posix_spawn_file_actions_t *actions, const int *from, int descriptors, int *held) {
  for (int i = 0; i < descriptors; i++) {
    int result = 0;
    if (from[i] == -1) {
      result = posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
    } else if (from[i] >= 0) {
      /* Out of the way first, so that one dup2 does not overwrite what the next one needs. */
      held[i] = fcntl(from[i], F_DUPFD_CLOEXEC, descriptors);
      if (held[i] < 0) return errno;
      result = posix_spawn_file_actions_adddup2(actions, held[i], i);
    }
    if (result != 0) return result;
  }
  return 0;
}

int coffre_spawn(const char *path, const char *words, size_t count, const int *from, int descriptors,
                 int detached, int *pid) {
  char **arguments = calloc(count + 1, sizeof *arguments);
  int held[16];
  if (arguments == NULL || descriptors > 16) return ENOMEM;
  for (size_t i = 0; i < count; i++, words += strlen(words) + 1) arguments[i] = (char *)words;
  for (int i = 0; i < 16; i++) held[i] = -1;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                            (detached ? POSIX_SPAWN_SETSID : 0));
  int result = map(&actions, from, descriptors, held);
  /* Whoever started us may have left descriptors open, such as the end of a pipe. */
  if (result == 0 && detached)
    result = posix_spawn_file_actions_addclosefrom_np(&actions, descriptors);
  pid_t child = 0;
  if (result == 0) result = posix_spawn(&child, path, &actions, &attributes, arguments, environ);
  for (int i = 0; i < 16; i++)
    if (held[i] >= 0) close(held[i]);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  free(arguments);
  *pid = child;
  return result;
}

int coffre_wait(int pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1000 - errno;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void ending(sigset_t *set) {
  sigemptyset(set);
  sigaddset(set, SIGTERM);
  sigaddset(set, SIGINT);
  sigaddset(set, SIGHUP);
  sigaddset(set, SIGQUIT);
  sigaddset(set, SIGUSR1);
}

void coffre_hold_signals(void) {
  sigset_t set;
  ending(&set);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
}

int coffre_wait_signal(void) {
  sigset_t set;
  ending(&set);
  int number = 0;
  sigwait(&set, &number);
  return number;
}

void coffre_end_by(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  signal(number, SIG_DFL);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int coffre_settle(void) {
  struct sigaction usual = {.sa_handler = SIG_DFL};
  sigaction(SIGCHLD, &usual, NULL);
  signal(SIGXFSZ, SIG_IGN);
  /* The lowest free number is taken each time. */
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd) return -1;
  return 0;
}

int coffre_pipe(int descriptors[2]) { return pipe2(descriptors, O_CLOEXEC); }

int coffre_unmount(const char *path) { return umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW); }

int coffre_device_of(const char *path, unsigned *major, unsigned *minor) {
  struct statx status;
  /* No field is asked for, so that none has to be up to date (fuse_getattr in fs/fuse/dir.c). */
  if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, 0, &status) != 0) return -1;
  *major = status.stx_dev_major;
  *minor = status.stx_dev_minor;
  return 0;
}

int coffre_forbid_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
