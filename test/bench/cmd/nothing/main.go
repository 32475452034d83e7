// SPDX-License-Identifier: Apache-2.0

// Command nothing ends at once. It replaces the docker client when only the work before
// the client is measured.
package main

func main() {}
