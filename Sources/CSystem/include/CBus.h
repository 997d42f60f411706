/* sd-bus(3), found in libsystemd at run time: nothing here is linked, and without the library all else works.

   Functions return what sd-bus does: at least 0 if it went well, else minus an errno. A bus and its messages are
   for one thread at a time. */
#pragma once
#include <stdint.h>

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;

/* Finds the functions in a library; 0, or -1 if it or one of them is not there. Nothing else may be called before
   this has found them once. */
int coffre_bus_load(const char *library);
/* A connection to a message bus; what it says is not waited for. */
int coffre_bus_open(const char *address, sd_bus **bus);
void coffre_bus_close(sd_bus *bus);
/* 1 if something was done, with a message if one came; 0 if there is nothing to do. */
int coffre_bus_process(sd_bus *bus, sd_bus_message **message);
int coffre_bus_wait(sd_bus *bus, uint64_t microseconds);

int coffre_bus_new_call(sd_bus *bus, const char *destination, const char *path, const char *interface,
                        const char *member, sd_bus_message **message);
int coffre_bus_call(sd_bus *bus, sd_bus_message *message, uint64_t microseconds, sd_bus_message **reply);
void coffre_bus_release(sd_bus_message *message);

/* Of a string, a path or a signature. */
int coffre_bus_append_text(sd_bus_message *message, char type, const char *value);
int coffre_bus_append_number(sd_bus_message *message, uint32_t value);
int coffre_bus_append_signed(sd_bus_message *message, int32_t value);
int coffre_bus_append_empty_array(sd_bus_message *message, const char *contents);

int coffre_bus_is_signal(sd_bus_message *message);
/* NULL if there is none; valid as long as the message. */
const char *coffre_bus_sender(sd_bus_message *message);
const char *coffre_bus_path(sd_bus_message *message);
const char *coffre_bus_interface(sd_bus_message *message);
const char *coffre_bus_member(sd_bus_message *message);

/* 1, or 0 at the end of the container. */
int coffre_bus_read_text(sd_bus_message *message, char type, const char **value);
int coffre_bus_read_number(sd_bus_message *message, char type, uint64_t *value);
/* A descriptor of the caller's own. */
int coffre_bus_read_descriptor(sd_bus_message *message, int *value);
int coffre_bus_enter(sd_bus_message *message, char type, const char *contents);
int coffre_bus_exit(sd_bus_message *message);
int coffre_bus_skip(sd_bus_message *message, const char *types);
