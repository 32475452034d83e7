// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/tools/go/analysis/multichecker"

func main() { multichecker.Main(changed, emptycase, mixed, positional, switchinit, width) }
