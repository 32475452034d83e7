// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/metax-ctk/container-toolkit/internal/alloc/peer"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// ErrAnnotation reports an annotation that is not of its form.
var ErrAnnotation = errors.New("invalid annotation")

// Invalid is ErrAnnotation for a key. The format must quote what a stranger wrote, and cut it.
func Invalid(key, format string, a ...any) error {
	return fmt.Errorf("%w %s: %s", ErrAnnotation, key, fmt.Sprintf(format, a...))
}

// The limits of a table that is read.
const (
	maxTableText = 64 << 10
	maxTableItem = 1 << 30
)

// ParseTable reads the value of ScoresAnnotation or LossesAnnotation, which key names, of any
// program: numbers of GPUs from 1 and, for each, an integer from 0. The error is an
// ErrAnnotation.
func ParseTable(key, text string) (peer.HAMiTable, error) {
	if len(text) > maxTableText {
		return nil, Invalid(key, "%d bytes; at most %d are read", len(text), maxTableText)
	}
	var items map[string]int
	if err := json.Unmarshal([]byte(text), &items); err != nil {
		return nil, Invalid(key, "%.80q is not an object of integers", text)
	}
	t := peer.HAMiTable{}
	for word, v := range items {
		n, err := strconv.Atoi(word)
		if err != nil || word != strconv.Itoa(n) || n < 1 || n > gpu.MaxGPUs || v < 0 || v > maxTableItem {
			return nil,
				Invalid(key, "item %.40q is %d; want numbers of GPUs from 1 to %d and values from 0", word, v, gpu.MaxGPUs)
		}
		t[n] = v
	}
	return t, nil
}
