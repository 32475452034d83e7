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

// lines yields the lines of a text with their numbers, from 1, without their
// ends.
func lines(text string) iter.Seq2[int, string] {
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

// parseIndex reads the number of "GPU#0".
func parseIndex(name string) (int, error) {
	digits, ok := strings.CutPrefix(name, gpuPrefix)
	if n, err := parseNumber(digits); ok && err == nil {
		return n, nil
	}
	return 0, fmt.Errorf("%q is not the name of a GPU such as GPU#0", name)
}

// parseNumber reads a decimal number below gpu.MaxGPUs, without a sign.
func parseNumber(digits string) (int, error) {
	n, err := strconv.ParseUint(digits, 10, 31)
	if err != nil || n >= gpu.MaxGPUs {
		return 0, fmt.Errorf("%q is not a number below %d", digits, gpu.MaxGPUs)
	}
	return int(n), nil
}

// isPlain reports whether s is printable ASCII of a sane length, and not empty.
func isPlain(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// isUnstated reports whether a value is one of the ways of saying nothing.
func isUnstated(value string) bool {
	switch strings.ToLower(value) {
	case "", "-", "-1", "na", "n/a", "none", "unknown":
		return true
	}
	return false
}
