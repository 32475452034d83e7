// SPDX-License-Identifier: Apache-2.0

package mxsmi

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/compat"
	"github.com/metax-ctk/container-toolkit/internal/gpu"
)

// Serial returns the board's serial number, from `--show-sn`, or else that of the chip.
// It is empty if the section has neither.
func (s Section) Serial() (string, error) {
	var board, chip string
	for _, e := range s.Entries {
		key := strings.ToLower(e.Key)
		words := strings.Fields(key)
		if (!strings.Contains(key, "serial") && (len(words) == 0 || words[len(words)-1] != "sn")) || isNoValue(e.Value) {
			continue
		}
		into := &board
		if strings.Contains(key, "chip") || strings.Contains(key, "asic") {
			into = &chip
		}
		if *into == "" {
			*into = e.Value
		}
	}
	serial := cmp.Or(board, chip)
	if serial != "" && !gpu.ValidSerial(serial) {
		return "", fmt.Errorf("%q is not a serial number", serial)
	}
	return serial, nil
}

// VBIOS returns the version of the card's firmware, from `--show-version` ("BIOS Version :
// 1.30.0.0"). It is empty if the section has none.
func (s Section) VBIOS() string {
	for _, e := range s.Entries {
		if strings.Contains(strings.ToUpper(e.Key), "BIOS") && !isNoValue(e.Value) && compat.IsWord(e.Value) {
			return e.Value
		}
	}
	return ""
}

// MemoryMiB returns the size of the device memory in MiB, from `--show-memory` ("vram
// total : 67108864 KB") or `--show-hwinfo` ("Memory Capacity : 65536 MiB"). It is 0 if
// the section has none. "vis_vram" is the part of the same memory that the CPU can
// access, "xtt" is memory of the host.
func (s Section) MemoryMiB() (int, error) {
	for _, key := range []string{"vram total", "Memory Capacity", "vis_vram total"} {
		if value, ok := s.Value(key); ok && !isNoValue(value) {
			return parseMiB(value)
		}
	}
	return 0, nil
}

// kibPerUnit is the size of the tool's units in KiB. The tool uses powers of two,
// whatever the name of the unit.
var kibPerUnit = map[string]uint64{
	"kb": 1, "kib": 1, "kbytes": 1,
	"mb": 1 << 10, "mib": 1 << 10, "mbytes": 1 << 10,
	"gb": 1 << 20, "gib": 1 << 20, "gbytes": 1 << 20,
}

// parseMiB parses "67108864 KB" as 65536. A number without a unit is an error.
func parseMiB(value string) (int, error) {
	value = strings.TrimSpace(value)
	at := strings.IndexFunc(value, func(r rune) bool { return r < '0' || r > '9' })
	if at < 0 {
		at = len(value)
	}
	n, err := strconv.ParseUint(value[:at], 10, 40)
	unit, ok := kibPerUnit[strings.ToLower(strings.TrimSpace(value[at:]))]
	if err != nil || !ok {
		return 0, fmt.Errorf("%q is not a size with a unit such as 67108864 KB", value)
	}
	return int(n * unit >> 10), nil
}
