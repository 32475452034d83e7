// SPDX-License-Identifier: Apache-2.0

package sgpu

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/request"
)

// ParseSize reads "4G" and "4096M" as MiB.
func ParseSize(s string) (mib int, err error) {
	bad := fmt.Errorf("size %q; want a number with G or M, such as 4G", s)
	unit := 1
	digits, ok := strings.CutSuffix(strings.ToUpper(s), "M")
	if !ok {
		unit = 1024
		if digits, ok = strings.CutSuffix(strings.ToUpper(s), "G"); !ok {
			return 0, bad
		}
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || n < 1 || n > math.MaxInt32/1024 {
		return 0, bad
	}
	return int(n) * unit, nil
}

// Resolve returns the slices with these names; the prefix “sgpu:” is optional.
func Resolve(node gpu.Node, names []string) ([]request.SliceRef, error) {
	var list []string
	for _, name := range names {
		if strings.ContainsAny(name, "[],") {
			return nil, fmt.Errorf("%q is not the name of a slice; see metax-ctk sgpu list", name)
		}
		if !strings.HasPrefix(strings.ToLower(name), "sgpu:") && !strings.HasPrefix(name, request.SliceKind+"=") {
			name = "sgpu:" + name
		}
		list = append(list, name)
	}
	req, err := request.Parse("[" + strings.Join(list, ",") + "]")
	if err != nil {
		return nil, err
	}
	selection, err := req.Resolve(node.GPUs)
	if err != nil {
		return nil, err
	}
	return selection.Slices, nil
}
