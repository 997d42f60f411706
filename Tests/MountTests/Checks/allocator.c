/* An LD_PRELOAD in the place of the C library's allocator, that knows each piece by what is before it: what it did
   not give out ends the process. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *memory);

struct head {
  void *whole;
  size_t size;
  uint64_t magic, pad;
};

enum { OURS = 0x0ff1ce };

static struct head *head(void *memory) {
  struct head *found = (struct head *)memory - 1;
  if (found->magic != OURS) abort();
  return found;
}

static void *take(size_t alignment, size_t size) {
  if (alignment < sizeof(struct head)) alignment = sizeof(struct head);
  void *whole = __libc_malloc(size + 2 * alignment);
  if (whole == NULL) return NULL;
  struct head *memory = (struct head *)(((uintptr_t)whole + 2 * alignment - 1) & ~(alignment - 1));
  memory[-1] = (struct head){whole, size, OURS, 0};
  return memory;
}

void *malloc(size_t size) { return take(16, size); }

void free(void *memory) {
  if (memory == NULL) return;
  struct head *found = head(memory);
  found->magic = 0;
  __libc_free(found->whole);
}

void *calloc(size_t count, size_t size) {
  void *memory = take(16, count * size);
  return memory == NULL ? NULL : memset(memory, 0, count * size);
}

void *realloc(void *old, size_t size) {
  void *memory = take(16, size);
  if (memory == NULL || old == NULL) return memory;
  size_t before = head(old)->size;
  memcpy(memory, old, before < size ? before : size);
  free(old);
  return memory;
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = take(alignment, size);
  return *memory == NULL ? ENOMEM : 0;
}

void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
void *memalign(size_t alignment, size_t size) { return take(alignment, size); }
size_t malloc_usable_size(void *memory) { return memory == NULL ? 0 : head(memory)->size; }
