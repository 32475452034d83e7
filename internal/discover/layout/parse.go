// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/metax-ctk/container-toolkit/internal/gpu"
	"github.com/metax-ctk/container-toolkit/internal/topology"
)

// State is what the driver says about the health of a GPU.
type State int

// The states, from the best to the worst.
const (
	Unknown State = iota
	Available
	Unavailable
)

// The words of the file type that are not those of a GPU.
const (
	cpuType   = "cpu"
	sliceType = "sgpu-sub-dev"
)

// firstLine returns the first line of a file, without blanks around it.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// parseLocation parses the file location, the full address of a function. 0000:00:00.0 is
// always a host bridge.
func parseLocation(text string) (gpu.BDF, error) {
	b, err := gpu.ParseBDF(firstLine(text))
	if err == nil && b == (gpu.BDF{}) {
		err = fmt.Errorf("parse %q: %w", firstLine(text), gpu.ErrBDF)
	}
	return b, err
}

// parseUUID parses the file unique_id, which is a UUID without the "GPU-" before it. The
// vendor's library puts it before whatever is there. An empty file is the unknown UUID.
func parseUUID(text string) (gpu.UUID, error) {
	id := firstLine(text)
	if id == "" {
		return "", nil
	}
	return gpu.ParseUUID(UUIDPrefix + id)
}

// parseActive parses the file active: 1 means available, any other number unavailable.
func parseActive(text string) (State, error) {
	n, err := strconv.ParseInt(firstLine(text), 10, 64)
	switch {
	case err != nil:
		return Unknown, fmt.Errorf("want a number, not %.40q", firstLine(text))
	case n == 1:
		return Available, nil
	}
	return Unavailable, nil
}

// maxReason is how many bytes of a reason the vendor's library keeps.
const maxReason = 63

// parseReason parses the file inactive_reason: the number of the reason, and on a second line
// its words. Without a number, the code is 0.
func parseReason(text string) (code int, reason string) {
	first, second, _ := strings.Cut(text, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		second = first // only words
	}
	reason = firstLine(second)
	return code, strings.TrimSpace(strings.ToValidUTF8(reason[:min(len(reason), maxReason)], ""))
}

// kinds are the kinds of links by the driver's number. 5 is Ethernet, which is no MetaXLink
// and says nothing about PCIe. Other numbers lead to no GPU, as 3, or are unknown.
var kinds = map[uint64]topology.Kind{
	4: topology.MX, 5: topology.Unknown, 101: topology.PIX, 102: topology.PXB, 103: topology.PHB, 104: topology.NODE,
	105: topology.SYS,
}

// row is a link as one of its ends states it.
type row struct {
	kind topology.Kind
	// known is false for a number whose meaning is unknown.
	known bool
}

// weakerRow returns the row that counts of two for the same pair. One that is not understood
// says nothing.
func weakerRow(a, b row) row {
	if !a.known || (b.known && b.kind < a.kind) {
		return b
	}
	return a
}

// parseLink parses the properties of a link: lines of a key and a value, of which type and to
// count. to is the number of a node, in its low 16 bits. ok is false for a link without both.
func parseLink(text string) (to int, link row, ok bool) {
	value := map[string]uint64{}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || (fields[0] != "type" && fields[0] != "to") {
			continue
		}
		n, err := strconv.ParseUint(fields[1], 10, 64)
		if err != nil {
			return 0, row{}, false
		}
		value[fields[0]] = n
	}
	number, hasTo := value["to"]
	kind, hasType := value["type"]
	if !hasTo || !hasType {
		return 0, row{}, false
	}
	link.kind, link.known = kinds[kind]
	return int(number & 0xffff), link, true
}
