/* A passthrough filesystem on libfuse's low-level interface: the cost of FUSE itself, as the yardstick
 * of the benchmarks. All the kernel's caches are on, and nothing is done to the bytes.
 *
 *     passthrough SOURCE MOUNTPOINT        stays in the foreground; ends when it is unmounted
 *
 * A node is a name in a parent node, not an open descriptor: a tree has more files than a process may have open.
 * That is enough for programs that work in a tree; it is not a filesystem to keep data in.
 */
#define _GNU_SOURCE
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TIMEOUT 60.0
#define BUCKETS (1u << 18)

/* Guarded by `table`: everything but `ino` and `dev`. */
struct node {
  struct node *next;   /* in its bucket */
  struct node *parent; /* holds a reference */
  char *name;
  ino_t ino;
  dev_t dev;
  uint64_t references; /* the kernel's look-ups, and the children */
};

static struct node *buckets[BUCKETS];
static struct node root;
static int root_fd;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static struct node *node_of(fuse_ino_t ino) {
  return ino == FUSE_ROOT_ID ? &root : (struct node *)(uintptr_t)ino;
}

static struct node **bucket_of(dev_t dev, ino_t ino) {
  return &buckets[(ino * 0x9E3779B97F4A7C15ull + dev) >> 46];
}

/* Called with the table locked. */
static void release(struct node *node, uint64_t count) {
  while (node && node != &root) {
    node->references -= count;
    if (node->references > 0) return;
    struct node **link = bucket_of(node->dev, node->ino);
    while (*link != node) link = &(*link)->next;
    *link = node->next;
    struct node *parent = node->parent;
    free(node->name);
    free(node);
    node = parent;
    count = 1;
  }
}

/* The path below the source of a name in a node, or of the node itself. */
static int path_of(fuse_ino_t ino, const char *name, char path[PATH_MAX]) {
  char text[PATH_MAX];
  size_t at = sizeof text - 1;
  int result = 0;
  text[at] = 0;
  if (name) {
    size_t length = strlen(name);
    if (length + 2 > at) return ENAMETOOLONG;
    at -= length;
    memcpy(text + at, name, length);
  }
  pthread_mutex_lock(&table);
  for (struct node *node = node_of(ino); node != &root; node = node->parent) {
    size_t length = strlen(node->name);
    if (length + 2 > at) {
      result = ENAMETOOLONG;
      break;
    }
    if (text[at]) text[--at] = '/';
    at -= length;
    memcpy(text + at, node->name, length);
  }
  pthread_mutex_unlock(&table);
  if (result) return result;
  strcpy(path, text[at] ? text + at : ".");
  return 0;
}

static int enter(fuse_ino_t parent, const char *name, struct fuse_entry_param *entry) {
  char path[PATH_MAX];
  int error = path_of(parent, name, path);
  if (error) return error;
  memset(entry, 0, sizeof *entry);
  if (fstatat(root_fd, path, &entry->attr, AT_SYMLINK_NOFOLLOW) < 0) return errno;
  entry->attr_timeout = entry->entry_timeout = TIMEOUT;
  struct node *fresh = calloc(1, sizeof *fresh);
  char *copy = strdup(name);
  if (!fresh || !copy) return ENOMEM;
  pthread_mutex_lock(&table);
  struct node **bucket = bucket_of(entry->attr.st_dev, entry->attr.st_ino);
  struct node *node = *bucket;
  while (node && (node->ino != entry->attr.st_ino || node->dev != entry->attr.st_dev)) node = node->next;
  struct node *above = node_of(parent);
  if (above != &root) above->references++;
  if (node) {
    free(fresh);
    free(node->name);
    release(node->parent, 1);
  } else {
    node = fresh;
    node->ino = entry->attr.st_ino;
    node->dev = entry->attr.st_dev;
    node->next = *bucket;
    *bucket = node;
  }
  node->name = copy;
  node->parent = above;
  node->references++;
  pthread_mutex_unlock(&table);
  entry->ino = (uintptr_t)node;
  return 0;
}

static void reply_entry(fuse_req_t request, fuse_ino_t parent, const char *name) {
  struct fuse_entry_param entry;
  int error = enter(parent, name, &entry);
  if (error) fuse_reply_err(request, error);
  else fuse_reply_entry(request, &entry);
}

/* Looks up the path, or answers the request with the error and leaves the function. */
#define PATH(variable, ino, name) \
  char variable[PATH_MAX]; \
  do { \
    int error_ = path_of(ino, name, variable); \
    if (error_) { \
      fuse_reply_err(request, error_); \
      return; \
    } \
  } while (0)

static void reply_result(fuse_req_t request, int result) { fuse_reply_err(request, result < 0 ? errno : 0); }

static void do_init(void *data, struct fuse_conn_info *connection) {
  (void)data;
  unsigned wanted = FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_CACHE_SYMLINKS | FUSE_CAP_PARALLEL_DIROPS |
                    FUSE_CAP_ASYNC_READ | FUSE_CAP_ATOMIC_O_TRUNC;
  connection->want |= connection->capable & wanted;
  connection->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
  connection->max_write = 1 << 20;
}

static void do_lookup(fuse_req_t request, fuse_ino_t parent, const char *name) {
  struct fuse_entry_param entry;
  int error = enter(parent, name, &entry);
  if (error == ENOENT) {
    memset(&entry, 0, sizeof entry);
    entry.entry_timeout = TIMEOUT;
    fuse_reply_entry(request, &entry);
  } else if (error) fuse_reply_err(request, error);
  else fuse_reply_entry(request, &entry);
}

static void do_forget(fuse_req_t request, fuse_ino_t ino, uint64_t count) {
  pthread_mutex_lock(&table);
  release(node_of(ino), count);
  pthread_mutex_unlock(&table);
  fuse_reply_none(request);
}

static void do_forget_multi(fuse_req_t request, size_t count, struct fuse_forget_data *forgets) {
  pthread_mutex_lock(&table);
  for (size_t i = 0; i < count; i++) release(node_of(forgets[i].ino), forgets[i].nlookup);
  pthread_mutex_unlock(&table);
  fuse_reply_none(request);
}

static void do_getattr(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info) {
  struct stat attributes;
  int result;
  if (info) result = fstat((int)info->fh, &attributes);
  else {
    PATH(path, ino, NULL);
    result = fstatat(root_fd, path, &attributes, AT_SYMLINK_NOFOLLOW);
  }
  if (result < 0) fuse_reply_err(request, errno);
  else fuse_reply_attr(request, &attributes, TIMEOUT);
}

static int set_attributes(int fd, const char *path, struct stat *to, int set) {
  if ((set & FUSE_SET_ATTR_MODE) && (fd >= 0 ? fchmod(fd, to->st_mode) : fchmodat(root_fd, path, to->st_mode, 0)) < 0)
    return -1;
  if (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) {
    uid_t user = set & FUSE_SET_ATTR_UID ? to->st_uid : (uid_t)-1;
    gid_t group = set & FUSE_SET_ATTR_GID ? to->st_gid : (gid_t)-1;
    if (fchownat(root_fd, path, user, group, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  }
  if (set & FUSE_SET_ATTR_SIZE) {
    int own = fd >= 0 ? fd : openat(root_fd, path, O_WRONLY | O_CLOEXEC);
    if (own < 0) return -1;
    int result = ftruncate(own, to->st_size);
    int saved = errno;
    if (fd < 0) close(own);
    errno = saved;
    if (result < 0) return -1;
  }
  if (set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) {
    struct timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    if (set & FUSE_SET_ATTR_ATIME_NOW) times[0].tv_nsec = UTIME_NOW;
    else if (set & FUSE_SET_ATTR_ATIME) times[0] = to->st_atim;
    if (set & FUSE_SET_ATTR_MTIME_NOW) times[1].tv_nsec = UTIME_NOW;
    else if (set & FUSE_SET_ATTR_MTIME) times[1] = to->st_mtim;
    if ((fd >= 0 ? futimens(fd, times) : utimensat(root_fd, path, times, AT_SYMLINK_NOFOLLOW)) < 0) return -1;
  }
  return 0;
}

static void do_setattr(fuse_req_t request, fuse_ino_t ino, struct stat *to, int set, struct fuse_file_info *info) {
  PATH(path, ino, NULL);
  if (set_attributes(info ? (int)info->fh : -1, path, to, set) < 0) fuse_reply_err(request, errno);
  else do_getattr(request, ino, info);
}

static void do_readlink(fuse_req_t request, fuse_ino_t ino) {
  char target[PATH_MAX];
  PATH(path, ino, NULL);
  ssize_t length = readlinkat(root_fd, path, target, sizeof target - 1);
  if (length < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  target[length] = 0;
  fuse_reply_readlink(request, target);
}

static void do_mknod(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, dev_t device) {
  PATH(path, parent, name);
  if (mknodat(root_fd, path, mode, device) < 0) fuse_reply_err(request, errno);
  else reply_entry(request, parent, name);
}

static void do_mkdir(fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode) {
  PATH(path, parent, name);
  if (mkdirat(root_fd, path, mode) < 0) fuse_reply_err(request, errno);
  else reply_entry(request, parent, name);
}

static void do_symlink(fuse_req_t request, const char *target, fuse_ino_t parent, const char *name) {
  PATH(path, parent, name);
  if (symlinkat(target, root_fd, path) < 0) fuse_reply_err(request, errno);
  else reply_entry(request, parent, name);
}

static void do_link(fuse_req_t request, fuse_ino_t ino, fuse_ino_t parent, const char *name) {
  PATH(from, ino, NULL);
  PATH(path, parent, name);
  if (linkat(root_fd, from, root_fd, path, 0) < 0) fuse_reply_err(request, errno);
  else reply_entry(request, parent, name);
}

static void do_unlink(fuse_req_t request, fuse_ino_t parent, const char *name) {
  PATH(path, parent, name);
  reply_result(request, unlinkat(root_fd, path, 0));
}

static void do_rmdir(fuse_req_t request, fuse_ino_t parent, const char *name) {
  PATH(path, parent, name);
  reply_result(request, unlinkat(root_fd, path, AT_REMOVEDIR));
}

static void do_rename(
    fuse_req_t request, fuse_ino_t parent, const char *name, fuse_ino_t to, const char *new_name, unsigned flags) {
  PATH(from, parent, name);
  PATH(path, to, new_name);
  if (renameat2(root_fd, from, root_fd, path, flags) < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  /* The node is found under its new name from now on. */
  struct fuse_entry_param entry;
  if (enter(to, new_name, &entry) == 0) {
    pthread_mutex_lock(&table);
    release(node_of(entry.ino), 1);
    pthread_mutex_unlock(&table);
  }
  fuse_reply_err(request, 0);
}

/* With the writeback cache the kernel reads what it fills up, and knows itself where the end is. */
static int open_flags(int flags) {
  if ((flags & O_ACCMODE) == O_WRONLY) flags = (flags & ~O_ACCMODE) | O_RDWR;
  return (flags & ~O_APPEND) | O_CLOEXEC;
}

static void do_open(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info) {
  PATH(path, ino, NULL);
  int fd = openat(root_fd, path, open_flags(info->flags) & ~O_NOFOLLOW);
  if (fd < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  info->fh = (uint64_t)fd;
  info->keep_cache = 1;
  if (fuse_reply_open(request, info) == -ENOENT) close(fd);
}

static void do_create(
    fuse_req_t request, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info) {
  struct fuse_entry_param entry;
  PATH(path, parent, name);
  int fd = openat(root_fd, path, open_flags(info->flags) | O_CREAT, mode);
  if (fd < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  int error = enter(parent, name, &entry);
  if (error) {
    close(fd);
    fuse_reply_err(request, error);
    return;
  }
  info->fh = (uint64_t)fd;
  info->keep_cache = 1;
  fuse_reply_create(request, &entry, info);
}

static void do_read(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info) {
  (void)ino;
  struct fuse_bufvec buffer = FUSE_BUFVEC_INIT(size);
  buffer.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
  buffer.buf[0].fd = (int)info->fh;
  buffer.buf[0].pos = offset;
  fuse_reply_data(request, &buffer, FUSE_BUF_SPLICE_MOVE);
}

static void do_write_buf(
    fuse_req_t request, fuse_ino_t ino, struct fuse_bufvec *data, off_t offset, struct fuse_file_info *info) {
  (void)ino;
  struct fuse_bufvec out = FUSE_BUFVEC_INIT(fuse_buf_size(data));
  out.buf[0].flags = FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK;
  out.buf[0].fd = (int)info->fh;
  out.buf[0].pos = offset;
  ssize_t written = fuse_buf_copy(&out, data, 0);
  if (written < 0) fuse_reply_err(request, (int)-written);
  else fuse_reply_write(request, (size_t)written);
}

static void do_flush(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info) {
  (void)ino;
  reply_result(request, close(dup((int)info->fh)));
}

static void do_release(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info) {
  (void)ino;
  close((int)info->fh);
  fuse_reply_err(request, 0);
}

static void do_fsync(fuse_req_t request, fuse_ino_t ino, int data_only, struct fuse_file_info *info) {
  (void)ino;
  reply_result(request, data_only ? fdatasync((int)info->fh) : fsync((int)info->fh));
}

static void do_opendir(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info) {
  PATH(path, ino, NULL);
  int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *folder = fd < 0 ? NULL : fdopendir(fd);
  if (!folder) {
    fuse_reply_err(request, errno);
    return;
  }
  info->fh = (uintptr_t)folder;
  info->cache_readdir = info->keep_cache = 1;
  fuse_reply_open(request, info);
}

static void read_folder(
    fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info, int with_attributes) {
  DIR *folder = (DIR *)(uintptr_t)info->fh;
  char *buffer = malloc(size);
  size_t used = 0;
  if (!buffer) {
    fuse_reply_err(request, ENOMEM);
    return;
  }
  if (telldir(folder) != offset) seekdir(folder, offset);
  for (struct dirent *found; (found = readdir(folder));) {
    struct fuse_entry_param entry = {.attr = {.st_ino = found->d_ino, .st_mode = (mode_t)found->d_type << 12}};
    int is_dot = !strcmp(found->d_name, ".") || !strcmp(found->d_name, "..");
    if (with_attributes && !is_dot && enter(ino, found->d_name, &entry)) continue;
    size_t room = size - used;
    size_t length = with_attributes
        ? fuse_add_direntry_plus(request, buffer + used, room, found->d_name, &entry, found->d_off)
        : fuse_add_direntry(request, buffer + used, room, found->d_name, &entry.attr, found->d_off);
    if (length > room) {
      if (with_attributes && !is_dot) {
        pthread_mutex_lock(&table);
        release(node_of(entry.ino), 1);
        pthread_mutex_unlock(&table);
      }
      break;
    }
    used += length;
  }
  fuse_reply_buf(request, buffer, used);
  free(buffer);
}

static void do_readdir(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info) {
  read_folder(request, ino, size, offset, info, 0);
}

static void do_readdirplus(fuse_req_t request, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *info) {
  read_folder(request, ino, size, offset, info, 1);
}

static void do_releasedir(fuse_req_t request, fuse_ino_t ino, struct fuse_file_info *info) {
  (void)ino;
  closedir((DIR *)(uintptr_t)info->fh);
  fuse_reply_err(request, 0);
}

static void do_fsyncdir(fuse_req_t request, fuse_ino_t ino, int data_only, struct fuse_file_info *info) {
  (void)ino, (void)data_only;
  reply_result(request, fsync(dirfd((DIR *)(uintptr_t)info->fh)));
}

static void do_statfs(fuse_req_t request, fuse_ino_t ino) {
  (void)ino;
  struct statvfs figures;
  if (fstatvfs(root_fd, &figures) < 0) fuse_reply_err(request, errno);
  else fuse_reply_statfs(request, &figures);
}

static void do_fallocate(
    fuse_req_t request, fuse_ino_t ino, int mode, off_t offset, off_t length, struct fuse_file_info *info) {
  (void)ino;
  reply_result(request, fallocate((int)info->fh, mode, offset, length));
}

static void do_lseek(fuse_req_t request, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *info) {
  (void)ino;
  off_t result = lseek((int)info->fh, offset, whence);
  if (result < 0) fuse_reply_err(request, errno);
  else fuse_reply_lseek(request, result);
}

int main(int count, char **arguments) {
  struct fuse_lowlevel_ops operations = {
      .init = do_init, .lookup = do_lookup, .forget = do_forget, .forget_multi = do_forget_multi,
      .getattr = do_getattr, .setattr = do_setattr, .readlink = do_readlink, .mknod = do_mknod, .mkdir = do_mkdir,
      .symlink = do_symlink, .link = do_link, .unlink = do_unlink, .rmdir = do_rmdir, .rename = do_rename,
      .open = do_open, .create = do_create, .read = do_read, .write_buf = do_write_buf, .flush = do_flush,
      .release = do_release, .fsync = do_fsync, .opendir = do_opendir, .readdir = do_readdir,
      .readdirplus = do_readdirplus, .releasedir = do_releasedir, .fsyncdir = do_fsyncdir, .statfs = do_statfs,
      .fallocate = do_fallocate, .lseek = do_lseek};
  if (count != 3) {
    fprintf(stderr, "usage: passthrough SOURCE MOUNTPOINT\n");
    return 2;
  }
  root_fd = open(arguments[1], O_PATH | O_DIRECTORY);
  if (root_fd < 0) {
    perror(arguments[1]);
    return 1;
  }
  umask(0);
  char *options[] = {arguments[0], "-odefault_permissions,allow_other,fsname=passthrough"};
  struct fuse_args args = FUSE_ARGS_INIT(2, options);
  struct fuse_session *session = fuse_session_new(&args, &operations, sizeof operations, NULL);
  if (!session || fuse_set_signal_handlers(session) || fuse_session_mount(session, arguments[2])) return 1;
  struct fuse_loop_config *config = fuse_loop_cfg_create();
  fuse_loop_cfg_set_clone_fd(config, 1);
  fuse_loop_cfg_set_max_threads(config, 4);
  fuse_loop_cfg_set_idle_threads(config, 4);
  int result = fuse_session_loop_mt(session, config);
  fuse_loop_cfg_destroy(config);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
  return result ? 1 : 0;
}
