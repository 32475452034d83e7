// SPDX-License-Identifier: Apache-2.0

/* Says which file the dynamic linker took for libmcruntime.so, and whose it is. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

extern const char *mcRuntimeVersion(void);

int main(void) {
  Dl_info library;
  if (!dladdr((void *)mcRuntimeVersion, &library)) return 3;
  printf("%s %s\n", library.dli_fname, mcRuntimeVersion());
  return 0;
}
