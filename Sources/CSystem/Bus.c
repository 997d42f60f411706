#define _GNU_SOURCE
#include "CBus.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>

/* As <systemd/sd-bus.h> declares them; that header is not needed to build. */
#define FUNCTIONS(F)                                                                                        \
  F(int, new, (sd_bus **))                                                                                  \
  F(int, set_address, (sd_bus *, const char *))                                                             \
  F(int, set_bus_client, (sd_bus *, int))                                                                   \
  F(int, start, (sd_bus *))                                                                                 \
  F(void, close, (sd_bus *))                                                                                \
  F(sd_bus *, unref, (sd_bus *))                                                                            \
  F(int, process, (sd_bus *, sd_bus_message **))                                                            \
  F(int, wait, (sd_bus *, uint64_t))                                                                        \
  F(int, call, (sd_bus *, sd_bus_message *, uint64_t, void *, sd_bus_message **))                           \
  F(int, message_new_method_call,                                                                           \
    (sd_bus *, sd_bus_message **, const char *, const char *, const char *, const char *))                  \
  F(sd_bus_message *, message_unref, (sd_bus_message *))                                                    \
  F(int, message_append_basic, (sd_bus_message *, char, const void *))                                      \
  F(int, message_open_container, (sd_bus_message *, char, const char *))                                    \
  F(int, message_close_container, (sd_bus_message *))                                                       \
  F(int, message_is_signal, (sd_bus_message *, const char *, const char *))                                 \
  F(const char *, message_get_sender, (sd_bus_message *))                                                   \
  F(const char *, message_get_path, (sd_bus_message *))                                                     \
  F(const char *, message_get_interface, (sd_bus_message *))                                                \
  F(const char *, message_get_member, (sd_bus_message *))                                                   \
  F(int, message_read_basic, (sd_bus_message *, char, void *))                                              \
  F(int, message_enter_container, (sd_bus_message *, char, const char *))                                   \
  F(int, message_exit_container, (sd_bus_message *))                                                        \
  F(int, message_skip, (sd_bus_message *, const char *))

#define DECLARE(result, name, arguments) result(*name) arguments;
static struct {
  FUNCTIONS(DECLARE)
} bus_calls;

int coffre_bus_load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) return -1;
#define LACKS(result, name, arguments) || dlsym(handle, "sd_bus_" #name) == NULL
  if (0 FUNCTIONS(LACKS)) {
    dlclose(handle);
    return -1;
  }
  /* It stays loaded as long as the process lives. */
#define FIND(result, name, arguments) bus_calls.name = (result(*) arguments)dlsym(handle, "sd_bus_" #name);
  FUNCTIONS(FIND)
  return 0;
}

static int start(sd_bus *made, sd_bus **bus, int result) {
  if (result >= 0) result = bus_calls.set_bus_client(made, 1);
  if (result >= 0) result = bus_calls.start(made);
  if (result < 0 && made != NULL) bus_calls.unref(made);
  if (result >= 0) *bus = made;
  return result;
}

int coffre_bus_open(const char *address, sd_bus **bus) {
  sd_bus *made = NULL;
  int result = bus_calls.new(&made);
  if (result >= 0) result = bus_calls.set_address(made, address);
  return start(made, bus, result);
}

void coffre_bus_close(sd_bus *bus) {
  bus_calls.close(bus);
  bus_calls.unref(bus);
}

int coffre_bus_process(sd_bus *bus, sd_bus_message **message) {
  *message = NULL;
  return bus_calls.process(bus, message);
}

int coffre_bus_wait(sd_bus *bus, uint64_t microseconds) {
  int result = bus_calls.wait(bus, microseconds);
  return result == -EINTR ? 0 : result;
}

int coffre_bus_new_call(sd_bus *bus, const char *destination, const char *path, const char *interface,
                        const char *member, sd_bus_message **message) {
  return bus_calls.message_new_method_call(bus, message, destination, path, interface, member);
}

int coffre_bus_call(sd_bus *bus, sd_bus_message *message, uint64_t microseconds, sd_bus_message **reply) {
  *reply = NULL;
  return bus_calls.call(bus, message, microseconds, NULL, reply);
}

void coffre_bus_release(sd_bus_message *message) { bus_calls.message_unref(message); }

int coffre_bus_append_text(sd_bus_message *message, char type, const char *value) {
  return bus_calls.message_append_basic(message, type, value);
}

int coffre_bus_append_number(sd_bus_message *message, uint32_t value) {
  return bus_calls.message_append_basic(message, 'u', &value);
}

int coffre_bus_append_signed(sd_bus_message *message, int32_t value) {
  return bus_calls.message_append_basic(message, 'i', &value);
}

int coffre_bus_append_empty_array(sd_bus_message *message, const char *contents) {
  int result = bus_calls.message_open_container(message, 'a', contents);
  return result < 0 ? result : bus_calls.message_close_container(message);
}

int coffre_bus_is_signal(sd_bus_message *message) { return bus_calls.message_is_signal(message, NULL, NULL) > 0; }

const char *coffre_bus_sender(sd_bus_message *message) { return bus_calls.message_get_sender(message); }
const char *coffre_bus_path(sd_bus_message *message) { return bus_calls.message_get_path(message); }
const char *coffre_bus_interface(sd_bus_message *message) { return bus_calls.message_get_interface(message); }
const char *coffre_bus_member(sd_bus_message *message) { return bus_calls.message_get_member(message); }

int coffre_bus_read_text(sd_bus_message *message, char type, const char **value) {
  *value = NULL;
  return bus_calls.message_read_basic(message, type, value);
}

int coffre_bus_read_number(sd_bus_message *message, char type, uint64_t *value) {
  int wide = type == 't';
  uint32_t narrow = 0;
  *value = 0;
  int result = bus_calls.message_read_basic(message, type, wide ? (void *)value : (void *)&narrow);
  if (!wide) *value = narrow;
  return result;
}

int coffre_bus_read_descriptor(sd_bus_message *message, int *value) {
  int borrowed = -1;
  int result = bus_calls.message_read_basic(message, 'h', &borrowed);
  if (result <= 0) return result;
  *value = fcntl(borrowed, F_DUPFD_CLOEXEC, 3);
  return *value < 0 ? -errno : 1;
}

int coffre_bus_enter(sd_bus_message *message, char type, const char *contents) {
  return bus_calls.message_enter_container(message, type, contents);
}

int coffre_bus_exit(sd_bus_message *message) { return bus_calls.message_exit_container(message); }
int coffre_bus_skip(sd_bus_message *message, const char *types) { return bus_calls.message_skip(message, types); }
