#define _GNU_SOURCE
#include "CProcess.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static int address(const char *path, struct sockaddr_un *name) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof name->sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(name->sun_path, path);
  return 0;
}

static int attach(const char *path, int listening, int milliseconds) {
  struct sockaddr_un name;
  if (address(path, &name) != 0) return -1;
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  /* Also for a place in the queue of one that does not accept. */
  struct timeval patience = {milliseconds / 1000, milliseconds % 1000 * 1000};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  int result = listening ? bind(fd, (struct sockaddr *)&name, sizeof name)
                         : connect(fd, (struct sockaddr *)&name, sizeof name);
  if (result == 0 && listening) result = listen(fd, 16);
  if (result == 0) return fd;
  int failure = errno;
  close(fd);
  errno = failure;
  return -1;
}

int coffre_listen(const char *path) { return attach(path, 1, 0); }
int coffre_connect(const char *path, int milliseconds) { return attach(path, 0, milliseconds); }

int coffre_poll(int fd, int milliseconds) {
  struct pollfd item = {fd, POLLIN, 0};
  int result;
  do result = poll(&item, 1, milliseconds);
  while (result < 0 && errno == EINTR);
  return result > 0;
}

/* Returns 1 when the terminal has input, 0 when a signal of the set is pending. */
static int wait_input(int tty, int signals) {
  struct pollfd items[2] = {{tty, POLLIN, 0}, {signals, POLLIN, 0}};
  while (poll(items, 2, -1) < 0)
    if (errno != EINTR) return -1;
  return (items[1].revents & POLLIN) ? 0 : 1;
}

long coffre_read_hidden(int tty, void *buffer, size_t limit) {
  struct termios shown, hidden;
  /* In the background this stops, until the terminal is ours and as the shell leaves it to us. */
  if (tcdrain(tty) != 0 || tcgetattr(tty, &shown) != 0) return -1;
  static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
  sigset_t set, old;
  pthread_sigmask(SIG_BLOCK, NULL, &old);
  sigemptyset(&set);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    /* One that the caller blocks would stay pending, and end every attempt. */
    if (!sigismember(&old, wanted[i])) sigaddset(&set, wanted[i]);
  /* Blocked, so that none ends the process before the echo is back; unblocked after, it does. */
  pthread_sigmask(SIG_BLOCK, &set, NULL);
  int signals = signalfd(-1, &set, SFD_CLOEXEC);
  hidden = shown;
  hidden.c_lflag &= ~(tcflag_t)ECHO;
  hidden.c_lflag |= ICANON | ECHONL;
  tcsetattr(tty, TCSAFLUSH, &hidden);
  long done = 0;
  int waiting = signals < 0 ? -1 : 1;
  while (waiting == 1 && (size_t)done < limit) {
    waiting = wait_input(tty, signals);
    if (waiting != 1) break;
    ssize_t count = read(tty, (char *)buffer + done, limit - (size_t)done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) waiting = -1;
    if (count <= 0) break;
    done += count;
    if (((char *)buffer)[done - 1] == '\n') break;
  }
  int failure = waiting == 0 ? EINTR : errno;
  tcsetattr(tty, TCSAFLUSH, &shown);
  if (signals >= 0) close(signals);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  errno = failure;
  return waiting == 1 ? done : -1;
}

/* MARK: packets with a descriptor */

int coffre_packet_sockets(int descriptors[2]) {
  return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, descriptors);
}

union control {
  struct cmsghdr header;
  char space[CMSG_SPACE(sizeof(int))];
};

long coffre_send_packet(int fd, const void *bytes, size_t count, int passed) {
  struct iovec part = {(void *)bytes, count};
  union control control;
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  if (passed >= 0) {
    memset(&control, 0, sizeof control);
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &passed, sizeof(int));
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  return sendmsg(fd, &message, MSG_NOSIGNAL);
}

long coffre_receive_packet(int fd, void *bytes, size_t limit, int *passed) {
  struct iovec part = {bytes, limit};
  union control control;
  struct msghdr message = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  *passed = -1;
  long count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (header == NULL || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return count;
  /* There is room for two: only one is ever wanted, and whoever sends more is none of ours. */
  for (size_t end = CMSG_LEN(sizeof(int)); end <= header->cmsg_len; end += sizeof(int)) {
    int descriptor;
    memcpy(&descriptor, (char *)header + end - sizeof(int), sizeof(int));
    if (*passed < 0) *passed = descriptor;
    else close(descriptor);
  }
  return count;
}

static void open_log(void) {
  tzset();
  openlog("coffre", LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

void coffre_open_log(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, open_log);
}

void coffre_log(const char *text, int is_error) {
  coffre_open_log();
  syslog(is_error ? LOG_ERR : LOG_NOTICE, "%s", text);
}
