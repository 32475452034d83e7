// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// gpuPrefix begins the name of a GPU in lists and sections: "GPU#0".
const gpuPrefix = "GPU#"

// numberedLines yields the lines of a text, without white space at their ends, with their
// numbers from 1.
func numberedLines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n := 0
		for line := range strings.SplitSeq(text, "\n") {
			n++
			if !yield(n, strings.TrimRight(line, " \t\r")) {
				return
			}
		}
	}
}

// parseIndex parses the number in "GPU#0".
func parseIndex(name string) (int, error) {
	digits, ok := strings.CutPrefix(name, gpuPrefix)
	if n, err := parseNumber(digits); ok && err == nil {
		return n, nil
	}
	return 0, fmt.Errorf("%q is not a GPU name such as GPU#0", name)
}

// parseNumber parses a decimal number below gpu.MaxGPUs, without a sign.
func parseNumber(digits string) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n >= gpu.MaxGPUs {
		return 0, fmt.Errorf("%q is not a number below %d", digits, gpu.MaxGPUs)
	}
	return int(n), nil
}

// isPrintable reports whether s is printable ASCII of 1 to 64 bytes.
func isPrintable(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// isNoValue reports whether a value is one of the words that stand for a missing value.
func isNoValue(value string) bool {
	switch strings.ToLower(value) {
	case "", "-", "-1", "na", "n/a", "none", "unknown":
		return true
	}
	return false
}
