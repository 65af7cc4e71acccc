/* Loaded before libc, it makes every fdatasync and fsync take SLOW_SYNC_MS longer, so that a test can see who waits. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void wait_before_sync(void) {
  const char *text = getenv("SLOW_SYNC_MS");
  if (text != NULL) usleep((useconds_t)atoi(text) * 1000);
}

int fdatasync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait_before_sync();
  return real(file);
}

int fsync(int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait_before_sync();
  return real(file);
}
