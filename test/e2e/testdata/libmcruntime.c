// SPDX-License-Identifier: Apache-2.0

/* A stand-in for a library of MXMACA: it needs no C library, and says whose it is. */
const char *mcRuntimeVersion(void) { return VERSION; }
